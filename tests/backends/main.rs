//! What every database must do alike: each case runs against SQLite, MariaDB, MySQL and a server that takes text only.
//!
//! A case is an `async fn(&Context)` in a module of this folder; a line in [`main`] adds it to the suite.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

mod api;
mod connection;
mod cursors;
mod database;
mod decimals;
mod details;
mod growth;
mod history;
mod limits;
mod migrations;
mod model;
mod operation;
mod pages;
mod problems;
mod runs;
mod series;
mod session;
#[path = "../support/mod.rs"]
mod support;
mod text;
mod tokens;
mod uploads;
mod voids;

use std::process::ExitCode;

use support::harness::{Case, run};

fn main() -> ExitCode {
    run([
        Case::new(connection::answers_a_query),
        Case::new(cursors::lead_through_a_history_without_gap_or_repeat),
        Case::new(cursors::of_random_questions_lead_through_all_their_points),
        Case::new(cursors::lose_and_repeat_nothing_while_runs_are_added),
        Case::new(cursors::lead_through_the_list_of_runs),
        Case::new(cursors::are_absent_at_the_end),
        Case::new(cursors::of_another_question_or_nobodys_are_refused),
        Case::new(cursors::of_many_metrics_are_short_enough_to_be_sent_back),
        Case::new(decimals::come_back_digit_for_digit),
        Case::new(decimals::are_refused_where_they_would_change),
        Case::new(decimals::that_differ_in_the_last_digit_are_a_conflict),
        Case::new(details::parameters_are_part_of_a_run),
        Case::new(details::a_window_tells_subjects_and_each_set_of_parameters_once),
        Case::new(details::a_subject_is_no_part_of_what_conflicts),
        Case::new(details::who_uploaded_a_run_is_kept),
        Case::new(details::a_promotion_goes_before_a_run_of_another_pipeline),
        Case::new(details::a_conflict_shows_what_is_stored_to_readers_alone),
        Case::new(details::a_run_of_the_day_after_tomorrow_is_refused),
        Case::new(history::answers_what_a_plain_reading_of_the_uploads_says),
        Case::new(history::is_ordered_by_run_date_and_then_by_id),
        Case::new(history::has_its_defaults),
        Case::new(history::has_limit_points_for_each_metric),
        Case::new(history::is_bounded_by_dates_to_the_second),
        Case::new(history::tells_the_newest_points_kind_of_clock),
        Case::new(growth::makes_no_statement_of_a_read_dearer),
        Case::new(limits::end_a_body_that_does_not_arrive),
        Case::new(limits::end_a_body_that_is_too_large),
        Case::new(limits::turn_away_what_is_too_much_at_once),
        Case::new(limits::leave_what_is_under_way_to_end_before_the_service_does),
        Case::new(limits::make_stuck_clients_cost_the_others_nothing),
        Case::new(limits::end_stuck_connections_so_that_others_get_in),
        Case::new(limits::refuse_a_request_for_no_host_or_for_two),
        Case::new(limits::make_idle_connections_give_way),
        Case::new(limits::make_one_client_give_way_to_others),
        Case::new(limits::give_each_client_of_a_proxy_a_share),
        Case::new(limits::end_an_answer_that_is_taken_too_slowly),
        Case::new(limits::let_pages_of_named_origins_read),
        Case::new(limits::compress_for_those_who_ask),
        Case::new(migrations::of_five_services_at_once_make_one_schema),
        Case::new(migrations::of_an_old_database_keep_and_list_its_runs),
        Case::new(migrations::alone_bring_the_schema_up_to_date_as_often_as_asked),
        Case::new(migrations::that_were_cut_off_are_finished_by_the_next_start),
        Case::new(migrations::of_a_newer_version_are_refused_and_left_alone),
        Case::new(migrations::of_another_binary_are_refused),
        Case::new(operation::tells_that_it_lives_and_can_serve),
        Case::new(operation::waits_for_a_database_that_is_away_and_recovers),
        Case::new(operation::counts_what_it_does),
        Case::new(operation::counts_methods_of_its_own_alone),
        Case::new(operation::shows_its_description_with_no_network),
        Case::new(operation::gives_every_request_an_id_and_one_line_of_log),
        Case::new(operation::logs_no_probe_that_finds_all_well),
        Case::new(operation::makes_an_id_of_its_own_for_a_request_with_an_odd_one),
        Case::new(operation::keeps_secrets_out_of_its_log),
        Case::new(operation::cuts_what_a_client_makes_up_in_its_log),
        Case::new(operation::names_the_client_in_its_log),
        Case::new(pages::show_hostile_names_as_text),
        Case::new(pages::are_made_again_only_when_something_changed),
        Case::new(pages::tell_what_does_not_fit_an_address),
        Case::new(pages::take_a_token_from_a_cookie_that_is_good_for_nothing_else),
        Case::new(problems::name_every_fault_of_a_run_at_once),
        Case::new(problems::tell_what_a_body_says_twice),
        Case::new(problems::are_no_larger_than_what_they_answer),
        Case::new(problems::tell_a_body_that_cannot_be_read),
        Case::new(problems::tell_what_is_not_there),
        Case::new(problems::tell_which_methods_a_route_has),
        Case::new(problems::name_every_fault_of_a_query_at_once),
        Case::new(runs::are_read_whole),
        Case::new(runs::are_listed_by_every_filter),
        Case::new(runs::are_found_by_their_commit_in_either_case),
        Case::new(runs::come_whole_and_in_the_order_they_were_stored),
        Case::new(runs::of_many_metrics_end_a_page_of_whole_runs_early),
        Case::new(series::are_told_whole_and_in_order),
        Case::new(session::is_the_same_on_every_database),
        Case::new(text::is_kept_byte_for_byte_and_found_by_itself_alone),
        Case::new(text::with_control_characters_or_white_space_around_is_refused),
        Case::new(text::with_characters_that_are_not_seen_is_refused),
        Case::new(text::of_any_kind_is_kept_or_refused_by_name),
        Case::new(tokens::are_needed_and_must_be_valid),
        Case::new(tokens::do_not_reach_beyond_their_scope),
        Case::new(tokens::that_are_narrowed_write_within_their_claims_alone),
        Case::new(tokens::are_not_needed_to_read_where_all_may),
        Case::new(uploads::are_created_once_and_then_unchanged),
        Case::new(uploads::of_other_content_are_a_conflict_that_says_what_differs),
        Case::new(uploads::of_a_failed_run_give_way_to_one_that_succeeded),
        Case::new(uploads::have_the_identity_of_commit_series_and_tag),
        Case::new(uploads::are_in_the_catalogue_at_once),
        Case::new(uploads::of_one_identity_at_the_same_moment_make_one_run),
        Case::new(uploads::of_other_content_at_the_same_moment_conflict),
        Case::new(uploads::of_one_series_at_the_same_moment_are_all_created),
        Case::new(uploads::that_replace_one_failed_run_at_the_same_moment_never_mix),
        Case::new(uploads::have_at_most_ten_thousand_metrics),
        Case::new(uploads::that_are_refused_leave_nothing),
        Case::new(voids::leave_every_read_as_if_the_run_had_never_been),
        Case::new(voids::take_a_metric_that_no_other_run_has_out_of_the_catalogue),
        Case::new(voids::are_told_to_those_who_ask),
        Case::new(voids::may_be_repeated_and_name_who_came_first),
        Case::new(voids::need_their_own_scope_and_stay_within_the_claims),
        Case::new(voids::make_room_for_a_new_upload),
        Case::new(voids::find_all_that_one_token_wrote),
    ])
}
