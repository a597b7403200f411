//! Runs what is measured, and reads what it leaves. Prints nothing: whoever measures is told how it
//! goes, and gets numbers or a reason.
//!
//! - [`contract`]: a server under a load, in containers, as a committed contract says

pub mod contract;
