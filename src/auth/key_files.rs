//! A key ring out of files, at the start and again whenever the operator asks.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::secret::{check_writable_by_owner_alone, folder_of, is_replaceable_by_others};
use super::{
    KeyRing, PublicKeyError, PublicKeyFile, Secret, SecretError, SecretFile, SecretPath,
    TokenSettings, load_or_create_secret, load_secret,
};
use crate::domain::is_invisible;

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
    /// Whoever writes in the folder can put another secret in the place of the one there.
    FolderWritableByOthers(PathBuf),
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
            Self::FolderWritableByOthers(path) => write!(
                f,
                "others than its owner can write in the folder `{path}` and replace the token secret \
                 there; `chmod go-w {path}` ends that",
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
         without characters that are not seen, and comments after `#`",
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
        let folder = folder_of(path);
        if is_replaceable_by_others(folder).unwrap_or_default() {
            warnings.push(KeyWarning::FolderWritableByOthers(folder.to_owned()));
        }
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
    let pem = read("--token-public-key", path, MAX_PUBLIC_KEY_BYTES)?;
    ring.with_public_key(id, &pem)
        .map_err(|error| KeyError::PublicKey {
            id: id.clone(),
            path: path.clone(),
            error,
        })
}

/// More than any public key has.
const MAX_PUBLIC_KEY_BYTES: u64 = 64 * 1024;
/// The ids of some hundred thousand tokens.
const MAX_REVOKED_BYTES: u64 = 16 << 20;

/// A file that only its owner can write, up to a size.
fn read(flag: &'static str, path: &Path, most: u64) -> Result<Vec<u8>, KeyError> {
    let read = || {
        let file = File::open(path)?;
        check_writable_by_owner_alone(path, &file)?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let why = format!("it holds more than {} KiB", most >> 10);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(bytes)
    };
    read().map_err(|cause| KeyError::Read {
        flag,
        path: path.to_owned(),
        cause,
    })
}

fn revoked_tokens(path: &Path) -> Result<HashSet<String>, KeyError> {
    let flag = "--revoked-tokens-file";
    let bytes = read(flag, path, MAX_REVOKED_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|error| KeyError::Read {
        flag,
        path: path.to_owned(),
        cause: io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()),
    })?;
    // Some editors begin a file with a byte order mark, which is no part of the first id.
    let text = text.trim_start_matches('\u{feff}');
    let mut ids = HashSet::new();
    for (index, line) in text.lines().enumerate() {
        let bad_line = || KeyError::RevokedLine {
            path: path.to_owned(),
            line: index + 1,
        };
        let mut words = line
            .split_whitespace()
            .take_while(|word| !word.starts_with('#'));
        match (words.next(), words.next()) {
            (None, _) => {}
            (Some(id), None) if !id.contains(is_invisible) => {
                ids.insert(id.to_owned());
            }
            _ => return Err(bad_line()),
        }
    }
    Ok(ids)
}
