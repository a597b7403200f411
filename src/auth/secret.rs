//! The signing secret and the file that it lives in.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::{Digest, Sha256};

/// The fewest bytes of a secret: as many as SHA-256 puts out (RFC 7518, section 3.2).
pub const MIN_SECRET_BYTES: usize = 32;

/// More than any secret needs, and little enough to read whole.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// How many random bytes a new secret is made of; the file holds them in hexadecimal digits.
const NEW_SECRET_BYTES: usize = 32;

/// An HS256 secret of at least [`MIN_SECRET_BYTES`]. `Debug` does not show it, and its memory is
/// wiped when it is dropped.
#[derive(Clone, Debug)]
pub struct Secret(SecretSlice<u8>);

impl Secret {
    /// A secret of these bytes, or `None` if they are fewer than [`MIN_SECRET_BYTES`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes: Vec<u8> = bytes.into();
        (bytes.len() >= MIN_SECRET_BYTES).then(|| Self(bytes.into()))
    }

    /// A new secret that nobody knows.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut bytes = vec![0; NEW_SECRET_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.into()))
    }

    /// The name of this secret as a key: the first 16 hexadecimal digits of its SHA-256.
    pub fn key_id(&self) -> String {
        hex::encode(&Sha256::digest(self.expose())[..8])
    }

    pub(super) fn expose(&self) -> &[u8] {
        self.0.expose_secret()
    }
}

/// A secret and what was noticed about its file.
#[derive(Debug)]
pub struct SecretFile {
    /// The secret.
    pub secret: Secret,
    /// Whether the file was made just now.
    pub created: bool,
    /// Whether others than the file's owner can read it; worth a warning, since they can mint tokens.
    pub readable_by_others: bool,
}

/// Why there is no secret. Each message is whole; none holds a part of a file.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is no such file.
    #[error("there is no token secret at `{}`", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("cannot read the token secret `{}`: {cause}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The file cannot be made.
    #[error("cannot make the token secret `{}`: {cause}", .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Too few bytes for HS256.
    #[error(
        "the token secret `{}` is too short: it must hold at least {MIN_SECRET_BYTES} bytes, \
         not counting a line end, and holds {length}; \
         make one with `openssl rand -hex 32`",
        .path.display()
    )]
    TooShort {
        /// The file.
        path: PathBuf,
        /// The bytes that it holds, without a line end.
        length: usize,
    },
    /// Surely another file.
    #[error(
        "the token secret `{}` is too long: it must hold at most {MAX_FILE_BYTES} bytes; is it the right file?",
        .0.display()
    )]
    TooLong(PathBuf),
}

/// What the name of a secret file begins with until it is whole.
const UNFINISHED: &str = ".token-secret-";

/// A secret is written within moments; a start that has left one unfinished for so long was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Makes the data folder, for its owner alone; one that is there is left as it is.
///
/// # Errors
/// If the folder cannot be made.
pub fn make_data_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    builder.mode(0o700);
    builder.create(path)
}

/// Reads the secret in the file at `path`: its bytes without one trailing line end.
///
/// # Errors
/// If the file is not there, cannot be read, or holds too few bytes.
pub fn load_secret(path: &Path) -> Result<SecretFile, SecretError> {
    let failed = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => SecretError::Missing(path.to_owned()),
        _ => SecretError::Read {
            path: path.to_owned(),
            cause,
        },
    };
    let file = File::open(path).map_err(failed)?;
    check_writable_by_owner_alone(path, &file).map_err(failed)?;
    let readable_by_others = file.metadata().map_err(failed)?.permissions().mode() & 0o044 != 0;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SecretError::TooLong(path.to_owned()));
    }
    take_line_end_off(&mut bytes);
    let length = bytes.len();
    let secret = Secret::new(bytes).ok_or_else(|| SecretError::TooShort {
        path: path.to_owned(),
        length,
    })?;
    Ok(SecretFile {
        secret,
        created: false,
        readable_by_others,
    })
}

/// Reads the secret in the file at `path`, and makes one there first if there is none.
///
/// The file is readable by its owner alone and appears whole or not at all: of two starts at once
/// one makes it and both read the same. The folder above it is made for its owner alone.
///
/// # Errors
/// As [`load_secret`], and if the file or its folder cannot be made.
pub fn load_or_create_secret(path: &Path) -> Result<SecretFile, SecretError> {
    remove_abandoned(path);
    match load_secret(path) {
        Err(SecretError::Missing(_)) => {}
        found => return found,
    }
    let created = create(path).map_err(|cause| SecretError::Create {
        path: path.to_owned(),
        cause,
    })?;
    Ok(SecretFile {
        created,
        ..load_secret(path)?
    })
}

/// Makes a secret file; `false` if another was faster.
fn create(path: &Path) -> io::Result<bool> {
    let folder = folder_of(path);
    make_data_dir(folder)?;
    let mut random = [0; NEW_SECRET_BYTES];
    getrandom::fill(&mut random)?;
    // A temporary file has mode 0600 from its first moment on.
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(folder)?;
    writeln!(file, "{}", hex::encode(random))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(failed) => return Err(failed.error),
    }
    // Tokens may be out before the folder's entry is on disk; a secret lost then would void them.
    File::open(folder)?.sync_all()?;
    Ok(true)
}

/// Removes the unfinished secrets of starts that were killed. One that is younger may belong to a
/// start that is under way. A file that cannot be removed harms nobody.
fn remove_abandoned(path: &Path) {
    let Ok(entries) = fs::read_dir(folder_of(path)) else {
        return;
    };
    for entry in entries.flatten() {
        let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        if unfinished && is_abandoned(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_abandoned(entry: &fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|found| found.modified());
    let age = modified.map(|modified| modified.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > ABANDONED_AFTER)
}

fn take_line_end_off(bytes: &mut Vec<u8>) {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
}

/// Refuses a file that others than its owner can write, since they could put their own keys there.
pub(super) fn check_writable_by_owner_alone(path: &Path, file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    // A device or a pipe, such as a shell's `<(…)`, has a mode of its own.
    if !found.is_file() || found.permissions().mode() & WRITE_OF_OTHERS == 0 {
        return Ok(());
    }
    let why = format!(
        "others than its owner can write it; `chmod go-w {}` ends that",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Write permission of the group and of all others.
const WRITE_OF_OTHERS: u32 = 0o022;
/// In a folder with this bit only the owner of a file can replace it.
const STICKY: u32 = 0o1000;

/// Whether others than its owner can replace the files in a folder.
pub(super) fn is_replaceable_by_others(folder: &Path) -> io::Result<bool> {
    let mode = fs::metadata(folder)?.permissions().mode();
    Ok(mode & WRITE_OF_OTHERS != 0 && mode & STICKY == 0)
}

/// The folder that holds the file at `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_with(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, content).unwrap();
        (folder, path)
    }

    fn secret_of(content: &[u8]) -> Result<Vec<u8>, SecretError> {
        let (_folder, path) = file_with(content);
        load_secret(&path).map(|file| file.secret.expose().to_vec())
    }

    #[test]
    fn one_line_end_is_taken_off_and_no_more() {
        let plain = [b'k'; 32];
        for (end, kept) in [
            ("", ""),
            ("\n", ""),
            ("\r\n", ""),
            ("\n\n", "\n"),
            ("\r", "\r"),
            (" ", " "),
        ] {
            let content = [&plain, end.as_bytes()].concat();
            let expected = [&plain, kept.as_bytes()].concat();
            assert_eq!(secret_of(&content).unwrap(), expected, "{end:?}");
        }
    }

    #[test]
    fn a_short_secret_is_refused_with_the_file_and_the_minimum() {
        let (_folder, path) = file_with(b"hunter2hunter2hunter2hunter2hun\n");
        let error = load_secret(&path).unwrap_err();
        assert!(matches!(error, SecretError::TooShort { length: 31, .. }));
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(&path.display().to_string()), "{shown}");
        assert!(shown.contains("32 bytes"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_unfinished_file_of_a_killed_start_goes_with_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token-secret");
        let [old, young] = ["old", "young"].map(|name| {
            let file = folder.path().join(format!("{UNFINISHED}{name}"));
            fs::write(&file, "half").unwrap();
            file
        });
        let long_ago = fs::metadata(&young).unwrap().modified().unwrap() - 2 * ABANDONED_AFTER;
        File::options()
            .write(true)
            .open(&old)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        load_or_create_secret(&path).unwrap();
        assert!(!old.exists() && young.exists() && path.exists());
    }

    #[test]
    fn a_file_without_end_is_not_read_to_its_end() {
        let error = load_secret(Path::new("/dev/zero")).unwrap_err();
        assert!(matches!(error, SecretError::TooLong(_)), "{error}");
    }

    #[test]
    fn a_new_secret_is_long_and_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        let path = data_dir.join("secret");

        let made = load_or_create_secret(&path).unwrap();
        assert!(made.created);
        assert!(!made.readable_by_others);
        assert_eq!(made.secret.expose().len(), 64);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&data_dir), 0o700);

        let found = load_or_create_secret(&path).unwrap();
        assert!(!found.created);
        assert_eq!(found.secret.expose(), made.secret.expose());
    }

    #[test]
    fn starts_at_once_agree_on_one_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("secret");
        let files: Vec<SecretFile> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| load_or_create_secret(&path).unwrap()))
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap())
                .collect()
        });
        assert_eq!(files.iter().filter(|file| file.created).count(), 1);
        assert!(
            files
                .iter()
                .all(|file| file.secret.expose() == files[0].secret.expose())
        );
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_others_can_read_is_noticed() {
        let (_folder, path) = file_with(&[b'k'; 32]);
        for (mode, noticed) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                load_secret(&path).unwrap().readable_by_others,
                noticed,
                "{mode:o}"
            );
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_refused() {
        let (_folder, path) = file_with(&[b'k'; 32]);
        for (mode, refused) in [(0o600, false), (0o640, false), (0o620, true), (0o602, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let said = load_secret(&path)
                .map(drop)
                .map_err(|error| error.to_string());
            assert_eq!(said.is_err(), refused, "{mode:o}");
            assert!(said.err().is_none_or(|said| said.contains("`chmod go-w ")));
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, noticed) in [
            (0o700, false),
            (0o755, false),
            (0o770, true),
            (0o1777, false),
        ] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                is_replaceable_by_others(folder.path()).unwrap(),
                noticed,
                "{mode:o}"
            );
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("correct horse battery staple correct").unwrap();
        let shown = format!("{secret:?}");
        assert!(!shown.contains("horse"), "{shown}");
        assert_eq!(secret.key_id().len(), 16);
    }
}
