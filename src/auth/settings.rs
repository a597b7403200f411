//! The files that keys are read from.

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where the secret is that signs tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPath {
    /// In the data folder, where the service makes it.
    InDataDir(PathBuf),
    /// Where a setting says, which must be there.
    Named(PathBuf),
}

impl SecretPath {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::InDataDir(path) | Self::Named(path) => path,
        }
    }
}

/// The files that a key ring is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// The secret that signs.
    pub secret: SecretPath,
    /// Secrets that signed before.
    pub former_secrets: Vec<PathBuf>,
    /// Public keys of others.
    pub public_keys: Vec<PublicKeyFile>,
    /// The ids of tokens that are refused.
    pub revoked_tokens: Option<PathBuf>,
}

impl From<SecretPath> for TokenSettings {
    /// One secret and no other key.
    fn from(secret: SecretPath) -> Self {
        Self {
            secret,
            former_secrets: Vec::new(),
            public_keys: Vec::new(),
            revoked_tokens: None,
        }
    }
}

/// A public key's id and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKeyFile {
    /// The id, which a token has in its header as `kid`.
    pub id: String,
    /// The file, in PEM form.
    pub path: PathBuf,
}

impl FromStr for PublicKeyFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((id, path)) if !id.is_empty() && !path.is_empty() => Ok(Self {
                id: id.to_owned(),
                path: path.into(),
            }),
            _ => Err("write the key's id and its file, such as ci-2026=/etc/perf-tracking/ci.pem"),
        }
    }
}
