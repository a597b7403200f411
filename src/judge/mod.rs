//! From numbers to a verdict. Pure and total: no I/O, no printing, no panic, no clock.
//!
//! What decides is computed in integers, from the decimals as they are stored: no rounding can turn
//! a value on the limit into one above it, and a number that is none (`NaN`) cannot come up. Floats
//! are made of the outcome alone, for people to read.
//!
//! - [`moments`]: mean and sample standard deviation, exact
//! - [`window`]: one candidate against its newest values

pub mod moments;
pub mod window;

pub use window::{Comparison, Fraction, Level, Multiple, Rule, Term, Worse};
