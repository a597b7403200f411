//! The first minute of the README, as its script plays it: no service, and a file for the history.

use std::path::Path;

use super::shell::{self, Variables};

#[test]
fn a_slower_change_is_a_regression_in_the_first_minute() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/demo/first-minute");
    let folder = tempfile::tempdir().unwrap();
    let variables = Variables::from([("TMPDIR".to_owned(), folder.path().display().to_string())]);
    let left = shell::run(script, &[], Path::new("/"), &variables);
    left.assert(
        0,
        &[
            "created run 6: sample on main",
            "regression",
            "callgrind.ir",
            "(exit code 1)",
        ],
    );
}
