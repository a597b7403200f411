//! What was found, for people and for programs. Decides nothing.

pub(crate) mod history;
