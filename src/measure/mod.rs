//! Runs what is measured, and reads what it leaves. Prints nothing: whoever measures is told how it
//! goes, and gets numbers or a reason.
//!
//! - [`valgrind`]: its two tools, with which flags they count, and what is read of their files
//! - [`program`]: a program of this machine, run once or more under each tool
//! - [`contract`]: a server under a load, in containers, as a committed contract says
//! - [`comparison`]: two builds in turn, on a real clock

pub mod comparison;
pub mod contract;
pub mod program;
pub mod valgrind;
