//! A judgement as JUnit XML, which every CI shows: a metric is a test case.
//!
//! A regression is a failure, what could not be judged is an error, what is not judged is skipped.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{Subject, label, words};
use crate::judge::{MetricJudgement, OnInsufficient, Status};

/// The report.
///
/// # Errors
/// None that can come up: text is written, and all of it can be.
pub fn junit(subject: &Subject<'_>) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(subject.series.to_string());
    for obstacle in &subject.judgement.obstacles {
        let text = words::obstacle(obstacle, subject.config);
        suite.add_test_case(case(
            subject,
            "the document",
            status(NonSuccessKind::Error, "undecided", &text),
        ));
    }
    for metric in subject.worst_first() {
        suite.add_test_case(case(
            subject,
            &label(&metric.name),
            outcome(subject, metric),
        ));
    }
    let mut report = Report::new("perf-tracking gate");
    report.add_test_suite(suite);
    report.to_string()
}

fn case(subject: &Subject<'_>, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(subject.series.workload.as_str());
    case
}

fn outcome(subject: &Subject<'_>, metric: &MetricJudgement) -> TestCaseStatus {
    let found = metric.finding.status();
    let why = words::why(subject, metric).unwrap_or_default();
    let tolerant = subject.judgement.windows.on_insufficient == OnInsufficient::Pass;
    match found {
        Status::Regression => status(NonSuccessKind::Failure, words::status(found), &why),
        Status::Insufficient if tolerant => skipped(&why),
        Status::Missing | Status::Insufficient => {
            status(NonSuccessKind::Error, words::status(found), &why)
        }
        Status::Skipped => skipped(&why),
        Status::Accepted | Status::Improved | Status::Pass => TestCaseStatus::success(),
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
