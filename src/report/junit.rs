//! A judgement as JUnit XML, which every CI shows: a metric is a test case.
//!
//! A regression is a failure, what could not be judged is an error, what is not judged is skipped.
//! A warning is a success that says something.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::verdict::{Row, Verdict};
use super::{NothingMeasured, words};
use crate::judge::Status;

/// The report.
///
/// # Errors
/// None that can come up: text is written, and all of it can be.
pub fn junit(verdict: &Verdict<'_>) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(verdict.about.series.to_string());
    let class = verdict.about.series.workload.as_str();
    for obstacle in &verdict.obstacles {
        let status = status(NonSuccessKind::Error, "undecided", obstacle);
        suite.add_test_case(case(class, "the document", status));
    }
    if verdict.judgement.is_blind() {
        let status = status(NonSuccessKind::Error, "undecided", verdict.summary());
        suite.add_test_case(case(class, "the document", status));
    }
    for row in &verdict.rows {
        let mut case = case(class, &row.name, outcome(verdict, row));
        if row.status == Status::Warning {
            case.set_system_out(format!(
                "warning: {}",
                row.why.as_deref().unwrap_or_default()
            ));
        }
        suite.add_test_case(case);
    }
    written(suite)
}

/// The report of a job that was told that nothing was measured.
///
/// # Errors
/// None that can come up.
pub fn junit_of_nothing(nothing: &NothingMeasured) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("perf-tracking gate");
    suite.add_test_case(case("gate", "the document", skipped(&nothing.summary())));
    written(suite)
}

fn written(suite: TestSuite) -> Result<String, SerializeError> {
    let mut report = Report::new("perf-tracking gate");
    report.add_test_suite(suite);
    report.to_string()
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}

fn outcome(verdict: &Verdict<'_>, row: &Row<'_>) -> TestCaseStatus {
    let why = row.why.as_deref().unwrap_or_default();
    let word = words::status(row.status);
    match row.status {
        Status::Regression => status(NonSuccessKind::Failure, word, why),
        Status::Insufficient if verdict.judgement.tolerates_insufficient() => skipped(why),
        Status::Missing | Status::Unsteady | Status::Insufficient => {
            status(NonSuccessKind::Error, word, why)
        }
        Status::New | Status::Skipped => skipped(why),
        Status::Warning | Status::Accepted | Status::Improved | Status::Pass => {
            TestCaseStatus::success()
        }
    }
}

fn status(kind: NonSuccessKind, word: &str, why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(word).set_message(why);
    status
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}
