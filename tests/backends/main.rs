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
mod decimals;
mod history;
mod model;
mod problems;
mod runs;
mod series;
#[path = "../support/mod.rs"]
mod support;
mod uploads;

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
        Case::new(history::answers_what_a_plain_reading_of_the_uploads_says),
        Case::new(history::is_ordered_by_run_date_and_then_by_id),
        Case::new(history::has_its_defaults),
        Case::new(history::has_limit_points_for_each_metric),
        Case::new(history::is_bounded_by_dates_to_the_second),
        Case::new(history::tells_the_newest_points_kind_of_clock),
        Case::new(problems::name_every_fault_of_a_run_at_once),
        Case::new(problems::tell_a_body_that_cannot_be_read),
        Case::new(problems::tell_what_is_not_there),
        Case::new(problems::tell_which_methods_a_route_has),
        Case::new(problems::name_every_fault_of_a_query_at_once),
        Case::new(runs::are_read_whole),
        Case::new(runs::are_listed_by_every_filter),
        Case::new(runs::are_found_by_their_commit_in_either_case),
        Case::new(series::are_told_whole_and_in_order),
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
    ])
}
