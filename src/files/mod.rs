//! Files that several commands read and write: bounded input, output that is whole or absent, and
//! the metrics gathered from files of tools.

pub(crate) mod gathered;
pub(crate) mod input;
pub(crate) mod sizes;
pub(crate) mod whole_file;
