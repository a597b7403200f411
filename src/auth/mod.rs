//! Tokens: from a text that a client sends to a [`Grant`] that says what it may do, and back.
//! Knows no HTTP.
//!
//! A [`KeyRing`] holds every key that is accepted and the ids of revoked tokens. The algorithm is
//! always the key's and never the token's word. Time is an argument. No error and no `Debug` text
//! of this module holds a secret or a part of a token.

mod claims;
mod error;
mod grant;
mod key_files;
mod key_ring;
mod secret;
mod settings;

#[cfg(test)]
mod attacks;

pub use claims::{LATEST_EXPIRY, LEEWAY};
pub use error::TokenError;
pub use grant::{Bearer, Grant, Narrow, OutsideGrant, Subject, SubjectError};
pub use key_files::{KeyError, KeyWarning, LoadedKeys};
pub use key_ring::{
    IssueError, KeyRing, MAX_TOKEN_BYTES, Peek, PublicKeyError, TokenRequest, peek,
};
pub use secret::{
    MIN_SECRET_BYTES, Secret, SecretError, SecretFile, load_or_create_secret, load_secret,
    make_data_dir,
};
pub use settings::{PublicKeyFile, SecretPath, TokenSettings};
