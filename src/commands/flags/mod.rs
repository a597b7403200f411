//! Flags and environment variables that several commands share, checked into settings.

mod client;
mod serve;
mod value;

use std::fmt;

pub(super) use client::{ClientArgs, ServerArgs, TOKEN_VARIABLE};
pub(super) use serve::{
    DataDirArgs, DatabaseSettings, MigrateArgs, SecretArgs, ServeArgs, ServeSettings, TokenArgs,
};
pub(super) use value::parse_duration;

/// A setting whose value does not fit. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {detail}")]
pub(in crate::commands) struct SettingError {
    /// The flag and its environment variable.
    pub(in crate::commands) name: &'static str,
    /// The value, what is wrong with it, and what to write instead.
    pub(in crate::commands) detail: String,
}

impl SettingError {
    /// Tells of a fault of the setting `name`.
    fn of<E: fmt::Display>(name: &'static str) -> impl Fn(E) -> Self {
        move |error| Self {
            name,
            detail: error.to_string(),
        }
    }
}
