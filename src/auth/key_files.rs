//! A key ring out of files, at the start and again whenever the operator asks.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{
    KeyRing, PublicKeyError, PublicKeyFile, Secret, SecretError, SecretFile, SecretPath,
    TokenSettings, load_or_create_secret, load_secret,
};

/// A key ring and what was noticed while its files were read.
#[derive(Debug)]
pub struct LoadedKeys {
    /// The keys.
    pub ring: KeyRing,
    /// The secret file that was made just now.
    pub created: Option<PathBuf>,
    /// What the operator should hear of.
    pub warnings: Vec<KeyWarning>,
}

/// Something about a key file that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyWarning {
    /// Whoever reads the file can mint tokens.
    ReadableByOthers(PathBuf),
}

impl fmt::Display for KeyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadableByOthers(path) => write!(
                f,
                "the token secret `{path}` can be read by others than its owner, who can then mint \
                 tokens; `chmod 600 {path}` ends that",
                path = path.display()
            ),
        }
    }
}

/// Why the keys cannot be read. Each message is whole and names the file; none holds a part of
/// its content.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The secret in the data folder has not been made.
    #[error(
        "there is no token secret at `{}`: start `perf-tracking serve` once, which makes it, or \
         name another file with --token-secret-file",
        .0.display()
    )]
    NoSecretYet(PathBuf),
    /// A secret that a setting names.
    #[error("{flag}: {error}")]
    Secret {
        /// The setting.
        flag: &'static str,
        /// Why it cannot be used.
        error: SecretError,
    },
    /// A file that a setting names.
    #[error("{flag}: cannot read `{}`: {cause}", .path.display())]
    Read {
        /// The setting.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A public key that cannot be used.
    #[error("--token-public-key: `{}` for key `{id}` {error}", .path.display())]
    PublicKey {
        /// The key's id.
        id: String,
        /// The file.
        path: PathBuf,
        /// Why.
        error: PublicKeyError,
    },
    /// A line that would silently revoke nothing.
    #[error(
        "--revoked-tokens-file: line {line} of `{}` is not one token id (`jti`); write one a line, \
         and comments after `#`",
        .path.display()
    )]
    RevokedLine {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
}

impl KeyRing {
    /// Reads every key file.
    ///
    /// # Errors
    /// If a file is not there or cannot be used; see [`KeyError`].
    pub fn load(settings: &TokenSettings) -> Result<LoadedKeys, KeyError> {
        Self::load_with(settings, load_secret)
    }

    /// Reads every key file, and makes the secret in the data folder first if there is none.
    ///
    /// A secret file that a setting names is never made: a wrong name would void every token.
    ///
    /// # Errors
    /// As [`KeyRing::load`], and if the secret cannot be made.
    pub fn load_or_create(settings: &TokenSettings) -> Result<LoadedKeys, KeyError> {
        match settings.secret {
            SecretPath::InDataDir(_) => Self::load_with(settings, load_or_create_secret),
            SecretPath::Named(_) => Self::load(settings),
        }
    }

    fn load_with(
        settings: &TokenSettings,
        load_first: impl FnOnce(&Path) -> Result<SecretFile, SecretError>,
    ) -> Result<LoadedKeys, KeyError> {
        let mut warnings = Vec::new();
        let path = settings.secret.path();
        let first = load_first(path).map_err(|error| match (&settings.secret, error) {
            (SecretPath::InDataDir(_), SecretError::Missing(path)) => KeyError::NoSecretYet(path),
            (_, error) => KeyError::Secret {
                flag: "--token-secret-file",
                error,
            },
        })?;
        note(&first, path, &mut warnings);
        let mut ring = Self::new(&first.secret);
        for path in &settings.former_secrets {
            ring = ring.with_former(&former_secret(path, &mut warnings)?);
        }
        for file in &settings.public_keys {
            ring = add_public_key(ring, file)?;
        }
        if let Some(path) = &settings.revoked_tokens {
            ring = ring.with_revoked(revoked_tokens(path)?);
        }
        Ok(LoadedKeys {
            ring,
            created: first.created.then(|| path.to_owned()),
            warnings,
        })
    }
}

fn note(file: &SecretFile, path: &Path, warnings: &mut Vec<KeyWarning>) {
    if file.readable_by_others {
        warnings.push(KeyWarning::ReadableByOthers(path.to_owned()));
    }
}

fn former_secret(path: &Path, warnings: &mut Vec<KeyWarning>) -> Result<Secret, KeyError> {
    let file = load_secret(path).map_err(|error| KeyError::Secret {
        flag: "--former-token-secret-file",
        error,
    })?;
    note(&file, path, warnings);
    Ok(file.secret)
}

fn add_public_key(ring: KeyRing, file: &PublicKeyFile) -> Result<KeyRing, KeyError> {
    let PublicKeyFile { id, path } = file;
    let pem = fs::read(path).map_err(|cause| KeyError::Read {
        flag: "--token-public-key",
        path: path.clone(),
        cause,
    })?;
    ring.with_public_key(id, &pem)
        .map_err(|error| KeyError::PublicKey {
            id: id.clone(),
            path: path.clone(),
            error,
        })
}

fn revoked_tokens(path: &Path) -> Result<HashSet<String>, KeyError> {
    let text = fs::read_to_string(path).map_err(|cause| KeyError::Read {
        flag: "--revoked-tokens-file",
        path: path.to_owned(),
        cause,
    })?;
    let mut ids = HashSet::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line
            .split_whitespace()
            .take_while(|word| !word.starts_with('#'));
        match (words.next(), words.next()) {
            (None, _) => {}
            (Some(id), None) => {
                ids.insert(id.to_owned());
            }
            (Some(_), Some(_)) => {
                return Err(KeyError::RevokedLine {
                    path: path.to_owned(),
                    line: index + 1,
                });
            }
        }
    }
    Ok(ids)
}
