//! Parses the command line and turns an outcome into an exit code.
fn main() {}
