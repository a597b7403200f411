//! How the server's waits are read: the client in the load generator asks its `performance_schema`.

use super::load::{ACCOUNT, SERVER};

/// Where the numbers of before the load are, in the folder that the containers share.
pub(super) const BEFORE: &str = "/measured/waits.before";
/// Where those of after it are.
pub(super) const AFTER: &str = "/measured/waits.after";

/// The tables that `perf-tracking document --performance-schema` reads.
const TABLES: [&str; 4] = [
    "events_waits_summary_global_by_event_name",
    "events_statements_summary_global_by_event_name",
    "file_summary_by_event_name",
    "table_io_waits_summary_by_table",
];

/// Prints a statement for each table, which opens it. A server forgets what it counted of a table
/// when it opens the table with other indexes than before, as happens after sysbench's preparation;
/// if that happened under the load, the difference would be wrong.
const OPENING: &str = "SELECT CONCAT(\"SELECT 1 FROM \", TABLE_NAME, \" LIMIT 1;\") \
     FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";

/// The words of a command that opens all tables.
pub(super) fn opening() -> [String; 3] {
    let client = client();
    shell(format!(
        "statements=$({client} --skip-column-names --execute='{OPENING}') && {client} --execute=\"$statements\""
    ))
}

/// The words of a command that writes what the server counted to `file`.
pub(super) fn reading(file: &str) -> [String; 3] {
    let selects = TABLES.map(|table| format!("SELECT * FROM performance_schema.{table}"));
    shell(format!(
        "{} --execute='{}' >{file}",
        client(),
        selects.join("; ")
    ))
}

fn client() -> String {
    format!("mariadb --no-defaults --batch --skip-ssl --host={SERVER} --user={ACCOUNT} {ACCOUNT}")
}

fn shell(script: String) -> [String; 3] {
    ["sh".to_owned(), "-c".to_owned(), script]
}
