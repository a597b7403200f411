//! Says where a program waits and what its regions cost, at no cost when it is off.
//!
//! The crate has two layers. Code is instrumented with the **wrappers**: [`TrackedMutex`], [`TrackedRwLock`],
//! [`TrackedCondvar`], [`TrackedFile`], [`region!`] and, for futures, [`awaited!`]. They have the methods of the types of the standard library that they
//! wrap, and a name. Each tells the **`abi`**, a table of functions, of an operation before it begins and after it has
//! ended. What is done with that is the business of the implementation that the program registers. `counting` is one:
//! it counts, and writes a metrics document of perf-tracking when the program ends.
//!
//! ```no_run
//! use std::io::Write as _;
//! use perf_instrument::{TrackedFile, TrackedMutex, region};
//!
//! static WAITING: TrackedMutex<Vec<String>> = TrackedMutex::new("waiting", Vec::new());
//!
//! fn commit(log: &mut TrackedFile) -> std::io::Result<()> {
//!     region!("commit");
//!     let waiting = std::mem::take(&mut *WAITING.lock().unwrap());
//!     for line in waiting {
//!         writeln!(log, "{line}")?;
//!     }
//!     log.sync_data()
//! }
//!
//! fn main() -> std::io::Result<()> {
//!     #[cfg(feature = "counting")]
//!     perf_instrument::counting::start_from_environment().expect("starts counting");
//!     let mut log = TrackedFile::new("log", std::fs::File::create("log")?);
//!     commit(&mut log)
//! }
//! ```
//!
//! # Features
//!
//! - none: every wrapper is the plain call. The compiler leaves nothing of it: callgrind counts the same instructions as
//!   without the wrapper, and a test holds that.
//! - `enabled`: the points are compiled in. While no implementation is registered, each is a load and a branch beside the
//!   operation, under 2 ns.
//! - `counting`: adds the implementation `counting`, which costs under 20 ns an operation without contention.
//!
//! A library uses the wrappers and turns on no feature; the program that links it decides. No name here is one of the
//! standard library, so that an import decides point by point what is instrumented.
//!
//! # Regions
//!
//! A region is counted by whoever can count: `counting` counts how often it ran and, if asked, for how long.
//! `perf-tracking measure -- PROGRAM` counts the instructions, misses and branches inside it, as `callgrind.ir` and
//! the others with the dimension `region=NAME` beside those of the whole program. A region counts all that ran inside it,
//! with the regions that it called; one that calls itself counts once. The marks themselves cost the same number of
//! instructions each time; `perf-tracking` measures that number in the program itself, and subtracts it.
//!
//! Each entry writes two files under valgrind, of some kilobytes: a region is a phase of a program, entered a hundred
//! times and not a million. Where several threads run, a region counts what all threads did while it was open.
//!
//! # What it does not do
//!
//! Unlocking tells nobody, and neither does the time that a lock is held. An operation inside a signal handler may be
//! missed by one that it interrupts. No wrapper allocates, takes a lock of its own or fails.

#[cfg(feature = "enabled")]
pub mod abi;
#[cfg(feature = "counting")]
pub mod counting;
mod file;
mod lock;
mod region;
#[cfg(feature = "enabled")]
mod valgrind;

pub use file::TrackedFile;
pub use lock::{TrackedCondvar, TrackedMutex, TrackedRwLock};
#[cfg(feature = "enabled")]
#[doc(hidden)]
pub use region::Awaited;
pub use region::MAX_NAME;
#[doc(hidden)]
pub use region::is_region_name;
#[cfg(feature = "enabled")]
pub use region::{Region, Site};
