//! Runs the two sides of a comparison and writes down what they did. It decides nothing.
//!
//! [`run`] works through a contract, [`assemble()`] makes a record of the files that it left. Every
//! program is started below a [`hold`]er, a process of this binary that ends all that the program
//! started, also when this process is killed.
//!
//! | file | holds |
//! | --- | --- |
//! | `contract.sha256`, `contract.toml` | the contract and its digest, written before anything else |
//! | `provenance.json` | both sides, the host, every setting |
//! | `subjects/ROUND-SIDE.log` | what a subject printed |
//! | `trials/round-ROUND/SIDE/CELL/` | `trial.json`, and what the cell's program printed |

mod assemble;
mod containers;
pub mod hold;
mod host;
mod job;
mod layout;
mod processes;
mod reading;
mod run;
mod side;
mod subject;
mod worktree;

pub use assemble::{AssembleError, assemble};
pub use host::host;
pub use layout::{Layout, LayoutError, Origin};
pub use run::{Event, Failure, Observer, Plan, run};
pub use side::{Side, Source};
