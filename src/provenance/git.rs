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

    /// That of `origin`, or of the only remote.
    fn remote(&self) -> Result<String, String> {
        let url = |name: &str| self.ask(&["remote", "get-url", name]);
        if let Ok(url) = url("origin")? {
            return Ok(url);
        }
        match &self.remotes()?[..] {
            [only] => url(only)?,
            [] => Err("the checkout has no remote".to_owned()),
            _ => Err("the checkout has several remotes, and none is `origin`".to_owned()),
        }
    }

    fn subject(&self, commit: &CommitSha) -> Option<String> {
        self.checkout().ok()?;
        let found = checkout::commit(here(), commit.as_str()).ok()?;
        Some(found.subject)
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

    fn remotes(&self) -> Result<Vec<String>, String> {
        let names = self.ask(&["remote"])??;
        Ok(names.lines().map(str::to_owned).collect())
    }

    fn tag(&self, name: &str) -> Result<String, String> {
        let tag = format!("refs/tags/{name}^{{commit}}");
        self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &tag])?
            .map_err(|_| format!("the checkout has no tag `{name}`"))
    }

    fn whole(&self, digits: &str) -> Result<String, String> {
        let commit = format!("{digits}^{{commit}}");
        self.ask(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])?
        .map_err(|_| format!("the checkout does not have the commit {digits}"))
    }

    fn parents(&self, commit: &str) -> Result<Vec<String>, String> {
        let args = [
            "log",
            "-1",
            "--no-show-signature",
            "--format=%P",
            "--end-of-options",
        ];
        let parents = self.ask(&[&args[..], &[commit, "--"]].concat())??;
        Ok(parents.split_whitespace().map(str::to_owned).collect())
    }

    fn is_on_remote(&self, commit: &str, branch: Option<&str>) -> Result<bool, String> {
        let args = [
            "for-each-ref",
            "--count=1",
            "--format=%(refname)",
            "--contains",
            commit,
        ];
        let patterns = match branch {
            // A remote's name may have slashes, and so may a branch's.
            Some(branch) => self
                .remotes()?
                .iter()
                .map(|remote| format!("refs/remotes/{remote}/{branch}"))
                .collect(),
            None => vec!["refs/remotes/".to_owned()],
        };
        if patterns.is_empty() {
            return Ok(false);
        }
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let found = self.ask(&[&args[..], &patterns].concat())??;
        Ok(!found.is_empty())
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

/// Whether no tracked file differs from the commit.
pub(super) fn is_clean() -> Result<bool, String> {
    let args = ["status", "--porcelain", "--untracked-files=no"];
    checkout::ask(here(), &args).map(|changed| changed.is_empty())
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
