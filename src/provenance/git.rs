//! What the machine says: its environment, its files, and the checkout in the current folder.

use std::cell::OnceCell;
use std::env;
use std::path::Path;

use super::Outside;
use super::checkout;
use crate::domain::CommitSha;
use crate::files::gathered::unopened;
use crate::files::input::Input;

/// The largest event that is read; GitHub cuts what it sends at 25 MB.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// The machine that the command runs on.
#[derive(Default)]
pub(super) struct Machine {
    /// Whether there is a checkout, asked once.
    checkout: OnceCell<Result<(), String>>,
}

impl Outside for Machine {
    fn variable(&self, name: &str) -> Option<String> {
        env::var(name).ok()
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Input::file(Path::new(path))
            .text(MAX_EVENT_BYTES)
            .map_err(|error| unopened(&error))
    }

    fn head(&self) -> Result<String, String> {
        self.ask(&["rev-parse", "--verify", "--quiet", "HEAD"])?
            .map_err(|_| "the checkout has no commit yet".to_owned())
    }

    fn branch(&self) -> Result<String, String> {
        self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?
            .map_err(|_| "the checkout is at no branch (its HEAD is detached)".to_owned())
    }

    fn remote(&self) -> Result<String, String> {
        self.ask(&["remote", "get-url", "origin"])?
            .map_err(|_| "the checkout has no remote `origin`".to_owned())
    }

    fn date(&self, commit: &CommitSha) -> Result<String, String> {
        self.checkout()?;
        let found = checkout::commit(here(), commit.as_str());
        found.map(|commit| commit.date).map_err(|_| {
            format!(
                "the checkout does not have the commit {commit}; fetch it (a shallow clone has \
                 only the newest ones)"
            )
        })
    }
}

impl Machine {
    /// What git prints. Outside is why there is no checkout to ask, inside is what git says of this
    /// question.
    fn ask(&self, args: &[&str]) -> Result<Result<String, String>, String> {
        self.checkout()?;
        Ok(checkout::ask(here(), args))
    }

    fn checkout(&self) -> Result<(), String> {
        let checkout = self.checkout.get_or_init(|| checkout::checkout(here()));
        checkout.clone()
    }
}

fn here() -> &'static Path {
    Path::new(".")
}

/// The path of a repository out of the address of a remote: `owner/name`. Of a folder, its name.
/// Whatever else the address holds, which may be a password, is left out.
pub(super) fn path_of_remote(address: &str) -> Option<String> {
    let path = match address.split_once("://") {
        Some(("file", path)) => last(path),
        Some((_, rest)) => {
            let (_, after_user) = rest.rsplit_once('@').unwrap_or(("", rest));
            after_user.split_once('/')?.1
        }
        // As scp has it: host:path. A folder has a slash before any colon.
        None => match address.split_once(':') {
            Some((host, path)) if !host.contains('/') => path,
            _ => last(address),
        },
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let path = path.trim_end_matches('/');
    (!path.is_empty()).then(|| path.to_owned())
}

/// The name of a folder; of a bare one `.git` inside it, that of the folder around.
fn last(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/.git").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_its_path_and_never_its_password() {
        for (address, path) in [
            ("https://github.com/owner/name.git", Some("owner/name")),
            ("https://github.com/owner/name", Some("owner/name")),
            ("https://u:hunter2@h/a/b/c.git/", Some("a/b/c")),
            ("https://h/a.git?token=hunter2#x", Some("a")),
            ("https://u:hun/ter2@h/a.git", Some("a")),
            ("ssh://git@h:29418/drizzle", Some("drizzle")),
            ("git@h:owner/name.git", Some("owner/name")),
            ("h:/srv/name.git", Some("srv/name")),
            ("file:///srv/git/name.git", Some("name")),
            ("/srv/git/name.git", Some("name")),
            ("/home/me/name/.git", Some("name")),
            ("../a:b/name", Some("name")),
            ("https://hunter2", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(path_of_remote(address).as_deref(), path, "{address}");
        }
    }
}
