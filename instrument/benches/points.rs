//! What a point costs: the bare call, the wrapper without an implementation, and with the counting one.
//!
//! `cargo bench -p perf-instrument`. Prints the best of several rounds, in nanoseconds an operation: on a busy machine the
//! best is nearest to what the code itself needs. Never fails because of a time.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on ends")]

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::sync::{Condvar, Mutex, RwLock};
use std::time::Instant;

use perf_instrument::{TrackedCondvar, TrackedFile, TrackedMutex, TrackedRwLock, counting, region};

const ROUNDS: u32 = 30;
const TURNS: u32 = 200_000;

static BARE_MUTEX: Mutex<u64> = Mutex::new(0);
static BARE_RWLOCK: RwLock<u64> = RwLock::new(0);
static BARE_CONDVAR: Condvar = Condvar::new();
static MUTEX: TrackedMutex<u64> = TrackedMutex::new("mutex", 0);
static RWLOCK: TrackedRwLock<u64> = TrackedRwLock::new("rwlock", 0);
static CONDVAR: TrackedCondvar = TrackedCondvar::new("condvar");

/// Nanoseconds an operation, the best of the rounds.
fn best(mut operation: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..TURNS {
            operation();
        }
        best = best.min(began.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS));
    }
    best
}

fn bare() -> [f64; 6] {
    let mut file = File::options().write(true).open("/dev/null").unwrap();
    [
        best(|| *black_box(&BARE_MUTEX).lock().unwrap() += 1),
        best(|| drop(black_box(&BARE_RWLOCK).read().unwrap())),
        best(|| *black_box(&BARE_RWLOCK).write().unwrap() += 1),
        best(|| black_box(&BARE_CONDVAR).notify_one()),
        best(|| assert_eq!(file.write(&[0; 16]).unwrap(), 16)),
        best(|| {
            black_box(0);
        }),
    ]
}

fn points() -> [f64; 6] {
    let file = File::options().write(true).open("/dev/null").unwrap();
    let mut file = TrackedFile::new("file", file);
    [
        best(|| *black_box(&MUTEX).lock().unwrap() += 1),
        best(|| drop(black_box(&RWLOCK).read().unwrap())),
        best(|| *black_box(&RWLOCK).write().unwrap() += 1),
        best(|| black_box(&CONDVAR).notify_one()),
        best(|| assert_eq!(file.write(&[0; 16]).unwrap(), 16)),
        best(|| {
            region!("region");
            black_box(0);
        }),
    ]
}

fn main() {
    let output = std::env::temp_dir().join(format!("points-{}.json", std::process::id()));
    let bare = bare();
    let unregistered = points();
    let options = counting::Options {
        output: output.clone(),
        ..counting::Options::default()
    };
    counting::start(&options).unwrap();
    let counted = points();
    println!(
        "{:<22}{:>8}{:>18}{:>14}",
        "ns an operation", "bare", "no implementation", "counting"
    );
    let names = [
        "mutex lock",
        "rwlock read",
        "rwlock write",
        "condvar notify",
        "file write",
        "region",
    ];
    for (index, name) in names.into_iter().enumerate() {
        println!(
            "{name:<22}{:>8.1}{:>18}{:>14}",
            bare[index],
            format!("{:+.1}", unregistered[index] - bare[index]),
            format!("{:+.1}", counted[index] - bare[index]),
        );
    }
    println!("(the two columns on the right say what the point adds to the bare call)");
    assert!(counting::write_now());
    std::fs::remove_file(output).unwrap();
    // Nothing more is to be written at the end.
    // SAFETY: ends the process.
    unsafe { _exit(0) };
}

unsafe extern "C" {
    fn _exit(code: std::ffi::c_int) -> !;
}
