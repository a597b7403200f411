//! What becomes of the commands and of the service when nobody takes what they print.

use crate::shell::Shell;
use crate::support::ports;

const BINARY: &str = env!("CARGO_BIN_EXE_perf-tracking");

#[tokio::test]
async fn a_message_that_nobody_takes_changes_no_exit_code() {
    for command in [
        "nonsense",
        "migrate --database-url nonsense",
        "health --server http://127.0.0.1:1",
        "upload --server http://127.0.0.1:1 /nonexistent",
    ] {
        let script = format!("{BINARY} {command} 2>/dev/full || echo $?");
        Shell::default().script(&script).await.is(0, "2\n", "");
    }
}

#[tokio::test]
async fn a_service_whose_log_cannot_be_written_serves_on() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display();
    // A disk that is full, and a reader that ended.
    for errors in ["/dev/full", ">(true)"] {
        let address = format!("127.0.0.1:{}", ports::free());
        let script = format!(
            "{BINARY} serve --listen {address} --data-dir {data} >/dev/full 2> {errors} &
             for _ in {{1..200}}; do
               sleep 0.05
               {BINARY} health --server http://{address} 2>/dev/null && break
             done
             {BINARY} health --server http://{address}
             kill $!
             wait $!"
        );
        let ready = format!("http://{address} is ready\n").repeat(2);
        Shell::default().script(&script).await.is(0, &ready, "");
    }
}
