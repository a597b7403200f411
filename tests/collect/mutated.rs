//! Files whose lines got lost, doubled, joined or moved: a reader may refuse one, but gives no number
//! that the file does not hold under that name.

use perf_tracking::collect::{Reading, read_values};
use perf_tracking::domain::Metric;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::properties::{READERS, Reader, VALUES, fixture};

/// One change of a file's lines.
#[derive(Clone, Debug)]
enum Change {
    Drop(Index),
    Double(Index),
    /// A line end is lost, or became a space.
    Join(Index, &'static str),
    Swap(Index, Index),
    Move(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<Index>().prop_map(Change::Drop),
        any::<Index>().prop_map(Change::Double),
        (any::<Index>(), prop_oneof![Just(""), Just(" ")])
            .prop_map(|(at, by)| Change::Join(at, by)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Swap(a, b)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Move(a, b)),
    ]
}

impl Change {
    fn apply(&self, lines: &mut Vec<String>) {
        if lines.is_empty() {
            return;
        }
        match self {
            Self::Drop(at) => _ = lines.remove(at.index(lines.len())),
            Self::Double(at) => {
                let at = at.index(lines.len());
                lines.insert(at, lines[at].clone());
            }
            Self::Join(at, by) => {
                let at = at.index(lines.len());
                if at + 1 < lines.len() {
                    let next = lines.remove(at + 1);
                    lines[at] = format!("{}{by}{next}", lines[at]);
                }
            }
            Self::Swap(a, b) => {
                let length = lines.len();
                lines.swap(a.index(length), b.index(length));
            }
            Self::Move(from, to) => {
                let line = lines.remove(from.index(lines.len()));
                lines.insert(to.index(lines.len() + 1), line);
            }
        }
    }

    fn moves(&self) -> bool {
        matches!(self, Self::Swap(..) | Self::Move(..))
    }

    fn joins(&self) -> bool {
        matches!(self, Self::Join(..))
    }
}

/// Whether a changed file still says what it says, so that its numbers are of no other place.
fn tells(name: &str, changes: &[Change]) -> bool {
    let moves = changes.iter().any(Change::moves);
    match name {
        // A snapshot with another's bytes, and a score with another's unit, are as good as any.
        // So is a counter of another benchmark, and a time with another's unit.
        "massif/default.out"
        | "jmh/modes_by_hand.json"
        | "google_benchmark/repetitions.json"
        | "google_benchmark/counters_and_units.json" => !moves,
        // A name may have spaces, and so may two lines that became one.
        "values/lines.txt" => !changes.iter().any(Change::joins),
        // Bytes, not lines.
        "size/plug_a.so" => false,
        _ => true,
    }
}

/// What the number is of, whatever the benchmark.
fn label(metric: &Metric) -> &str {
    let key = metric.name.metric_key.as_str();
    key.rsplit('.').next().unwrap_or(key)
}

/// Whether all parameters of `one` are parameters of `other`: a line that named one may be lost.
fn is_within(one: &Metric, other: &Metric) -> bool {
    let all: Vec<&str> = other.name.dim_key.as_str().split(',').collect();
    let dim = one.name.dim_key.as_str();
    // Without its parameters a test of pytest has its id.
    let is_id = dim.starts_with("param=") && one.name.metric_key.as_str().starts_with("pytest.");
    is_id || dim.is_empty() || dim.split(',').all(|pair| all.contains(&pair))
}

/// Whether the file from which `whole` was read holds a metric that was read after lines changed.
fn is_held(metric: &Metric, whole: &[Metric], moved: bool) -> bool {
    let same_key = |other: &&Metric| other.name.metric_key == metric.name.metric_key;
    let is_there = whole
        .iter()
        .filter(same_key)
        .any(|other| other.value == metric.value && is_within(metric, other));
    // A line that moved to another benchmark is that one's now.
    let came_from_elsewhere = || {
        whole
            .iter()
            .any(|other| label(other) == label(metric) && other.value == metric.value)
            && whole.iter().filter(same_key).count() > 0
    };
    is_there || (moved && came_from_elsewhere())
}

fn files() -> Vec<(&'static str, Reader, Vec<String>, Reading)> {
    let more = [
        ("sysbench/1.1_oltp_by_hand.txt", 4),
        ("sysbench/1.1_fileio_by_hand.txt", 4),
        ("go_bench/prints.txt", 11),
        ("callgrind/parts_combined.out", 0),
        ("google_benchmark/counters_and_units.json", 8),
    ];
    let more = more.map(|(name, reader)| (name, READERS[reader].1));
    let all = READERS.into_iter().chain([VALUES]).chain(more);
    let files = all.filter(|(name, _)| *name != "size/plug_a.so");
    files
        .map(|(name, read)| {
            let text = String::from_utf8(fixture(name)).unwrap();
            let whole = read(text.as_bytes()).unwrap();
            let lines = text.lines().map(str::to_owned).collect();
            (name, read, lines, whole)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_number_appears_that_the_file_does_not_hold_under_that_name(
        changes in proptest::collection::vec(change(), 1..4),
    ) {
        for (name, read, lines, whole) in FILES.with(Clone::clone).iter() {
            if !tells(name, &changes) {
                continue;
            }
            let mut lines = lines.clone();
            for change in &changes {
                change.apply(&mut lines);
            }
            let text = lines.join("\n") + "\n";
            let Some(reading) = read(text.as_bytes()) else {
                continue;
            };
            let moved = changes.iter().any(Change::moves);
            for metric in &reading.metrics {
                prop_assert!(
                    is_held(metric, &whole.metrics, moved),
                    "{name} {changes:?}: {} {{{}}} {}",
                    metric.name.metric_key, metric.name.dim_key, metric.value
                );
            }
        }
    }
}

/// A fixture: its name, the reader of its tool, its lines, and what it holds as it is.
type Fixture = (&'static str, Reader, Vec<String>, Reading);

thread_local! {
    static FILES: std::rc::Rc<Vec<Fixture>> = std::rc::Rc::new(files());
}

/// The check itself finds what it is for.
#[test]
fn a_number_under_another_name_is_found() {
    let read = |text: &str| {
        let reading = read_values(text, perf_tracking::collect::Kind::Counted).unwrap();
        reading.metrics
    };
    let whole = read("x.a_ns{n=1} 1\ny.a_ns 2\ny.b_ns 3\n");
    for (text, moved, held) in [
        ("x.a_ns{n=1} 1\n", false, true),
        ("x.a_ns 1\n", false, true),
        ("x.a_ns{n=2} 1\n", false, false),
        ("x.a_ns{n=1} 2\n", false, false),
        ("x.a_ns{n=1} 2\n", true, true),
        ("x.a_ns{n=1} 3\n", true, false),
        ("z.a_ns 1\n", true, false),
        ("x.a_ns{n=1} 1.5\n", true, false),
    ] {
        assert_eq!(is_held(&read(text)[0], &whole, moved), held, "{text}");
    }
}
