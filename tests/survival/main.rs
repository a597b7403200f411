//! What the service outlives, done for real: it is killed, its database is killed, the network between them is cut,
//! the disk is full, another service writes to the same file. All the while sixteen uploaders send runs and try again.
//!
//! A case breaks something and mends it, in a module of its own; [`fleet`] sends the runs and keeps what was
//! acknowledged; [`audit`] holds that against the database, through the API and by SQL. Each case prints how many runs
//! were acknowledged, how often uploaders had to try again and how long it took until the service was ready again.
//!
//! Cases run one at a time, as they are about time. `cargo test --test survival sqlite` runs those of one name.

mod attacked;
mod audit;
mod bench;
mod database_killed;
mod descriptors;
mod disk_full;
mod file_lost;
mod fleet;
mod log_not_read;
mod network_cut;
mod panicking_handler;
mod plan;
mod service_killed;
mod stopped;
#[path = "../support/mod.rs"]
mod support;
mod two_services;

use std::process::ExitCode;

use bench::{Bench, Place};
use libtest_mimic::{Arguments, Trial};

macro_rules! cases {
    ($bench:expr, $($name:literal => $case:expr,)*) => {
        vec![$(Trial::test($name, move || {
            $bench.block_on($case);
            Ok(())
        })),*]
    };
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    // Lives as long as the process; what it started is stopped below.
    let bench: &'static Bench = Box::leak(Box::new(Bench::new()));
    let trials = cases!(bench,
        "sqlite::service_killed" => service_killed::service_killed(bench, Place::Sqlite, 4),
        "sqlite::two_services" => two_services::both_write(bench),
        "sqlite::one_of_two_services_killed" => two_services::one_is_killed(bench),
        "sqlite::disk_full" => disk_full::disk_full(bench),
        "sqlite::service_killed_on_a_full_disk" => disk_full::killed_while_full(bench),
        "sqlite::stopped_with_uploads_under_way" => stopped::answers_what_is_under_way(bench),
        "sqlite::stopped_under_load" => stopped::under_load(bench, Place::Sqlite),
        "sqlite::stopped_with_silent_connections" => stopped::silent_connections_do_not_hold_it(bench),
        "sqlite::file_deleted" => file_lost::deleted(bench),
        "sqlite::file_replaced" => file_lost::replaced(bench),
        "sqlite::file_malformed" => file_lost::malformed(bench),
        "sqlite::file_read_only" => file_lost::read_only(bench),
        "sqlite::stopped_for_a_backup" => file_lost::is_whole_after_a_stop(bench),
        "sqlite::few_descriptors" => descriptors::run_out(),
        "sqlite::log_not_read" => log_not_read::holds_nobody_up(),
        "sqlite::attacked" => attacked::keeps_within_its_memory(bench),
        "sqlite::panicking_handler" => panicking_handler::costs_nobody_else_anything(),
        "mariadb::service_killed" => service_killed::service_killed(bench, Place::MariaDb, 4),
        "mariadb::stopped_under_load" => stopped::under_load(bench, Place::MariaDb),
        "mariadb::database_killed" => database_killed::database_killed(bench, Place::MariaDb, 3),
        "mariadb::network_cut" => network_cut::network_cut(bench),
        "mariadb::idle_connections_die" => network_cut::idle_connections_die(bench),
        "mariadb::started_before_its_database" => network_cut::started_before_its_database(bench),
        "text::service_killed" => service_killed::service_killed(bench, Place::Text, 1),
        "text::database_killed" => database_killed::database_killed(bench, Place::Text, 1),
        "mysql::database_killed" => database_killed::database_killed(bench, Place::MySql, 2),
    );
    let conclusion = libtest_mimic::run(&arguments, trials);
    bench.stop();
    conclusion.exit_code()
}
