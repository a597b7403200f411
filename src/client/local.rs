//! A store in a file, asked through the service's own routes inside this process.
//!
//! The same code answers as in a service, so the answers are the same. There is no port and no
//! token: whoever may write the file may write runs.

use std::convert::Infallible;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http;
use axum::http::header::{CONTENT_TYPE, HOST};
use chrono::{DateTime, Utc};
use http_body_util::BodyExt as _;
use reqwest::Method;
use tokio::runtime::RuntimeFlavor;
use tokio::sync::OnceCell;
use tower::ServiceExt as _;
use url::Position;

use super::error::Failure;
use super::{Reply, Request, StoreFile};
use crate::files::whole_file::folder;
use crate::http::local_router;
use crate::store::{DatabaseUrl, Store, StoreError, StoreOptions};

/// Connections to the file. One command asks one question at a time, except `backfill`, whose
/// uploads share one writer anyway.
const CONNECTIONS: u32 = 4;

/// How long a command waits for another process that writes the file.
const WAIT: Duration = Duration::from_secs(30);

/// The file, opened at the first request.
pub(super) struct LocalStore {
    file: StoreFile,
    clock: fn() -> DateTime<Utc>,
    opened: OnceCell<Opened>,
}

struct Opened {
    store: Store,
    router: Router,
    read_only: bool,
}

impl LocalStore {
    pub(super) fn new(file: StoreFile, clock: fn() -> DateTime<Utc>) -> Self {
        Self {
            file,
            clock,
            opened: OnceCell::new(),
        }
    }

    /// The answer of the service's own code.
    pub(super) async fn send(
        &self,
        request: &Request<'_>,
        timeout: Duration,
    ) -> Result<Reply, Failure> {
        let opened = self.opened.get_or_try_init(|| self.open()).await?;
        if opened.read_only && request.method != Method::GET {
            return Err(Failure::Store(format!(
                "`{}` can only be read, and nothing was stored; make the file and its folder \
                 writable, or leave out `?mode=ro`",
                self.file.path().display()
            )));
        }
        let asked = ask(opened.router.clone(), request);
        tokio::time::timeout(timeout, asked)
            .await
            .unwrap_or(Err(Failure::TimedOut(timeout)))
    }

    async fn open(&self) -> Result<Opened, Failure> {
        let path = self.file.path();
        check_folder(path).map_err(Failure::Store)?;
        let is_new = !path.exists();
        let read_only = self.file.is_read_only() || (!is_new && !is_writable(path));
        if read_only {
            check_frozen(path, is_new).map_err(Failure::Store)?;
        }
        let store = self.open_store(read_only).await.map_err(|error| {
            let shown = path.display();
            Failure::Store(match error {
                StoreError::Refused(_) => {
                    format!("`{shown}` is no file of runs: {error}")
                }
                error => format!("`{shown}` cannot be used: {error}"),
            })
        })?;
        if is_new {
            tracing::info!(file = %self.file, "made a new file for runs");
        }
        let router = local_router(store.clone(), self.clock)
            .map_err(|error| Failure::Setup(error.to_string()))?;
        Ok(Opened {
            store,
            router,
            read_only,
        })
    }

    async fn open_store(&self, read_only: bool) -> Result<Store, StoreError> {
        let options = StoreOptions {
            connections: CONNECTIONS,
            timeout: WAIT,
        };
        let path = self.file.path();
        if read_only {
            let store = Store::open(&DatabaseUrl::frozen_sqlite_file(path)?, &options)?;
            store.check_schema().await?;
            return Ok(store);
        }
        let store = Store::open(&DatabaseUrl::sqlite_file(path)?, &options)?;
        store.migrate().await?;
        Ok(store)
    }
}

/// Closing the last connection moves what SQLite's log holds into the file, so that the file alone
/// is the whole history and can be copied into a cache or an artifact.
impl Drop for LocalStore {
    fn drop(&mut self) {
        let Some(Opened { store, router, .. }) = self.opened.take() else {
            return;
        };
        drop(router);
        // The runtime of the command may be the one that drops this, and it must not be blocked.
        let closing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(store.close());
            std::io::Result::Ok(())
        });
        // The runs are on disk already; only the log's contents would stay beside the file.
        give_way(|| closing.join().is_ok());
    }
}

/// Waits in `wait` without holding up the runtime that this is a part of, if any: a worker that only blocked
/// would keep the task beside it from giving its connection back, which is what the wait is for.
fn give_way(wait: impl FnOnce() -> bool) -> bool {
    let runtime = tokio::runtime::Handle::try_current();
    match runtime.map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        _ => wait(),
    }
}

async fn ask(router: Router, request: &Request<'_>) -> Result<Reply, Failure> {
    let setup = |error: http::Error| Failure::Setup(error.to_string());
    let target = &request.url[Position::BeforePath..Position::AfterQuery];
    let mut message = http::Request::builder()
        .method(request.method.clone())
        .uri(target)
        .header(HOST, "localhost");
    if request.body.is_some() {
        message = message.header(CONTENT_TYPE, "application/json");
    }
    let body = request.body.unwrap_or_default().to_owned();
    let message = message.body(Body::from(body)).map_err(setup)?;
    let answered: Result<_, Infallible> = router.oneshot(message).await;
    let Ok(response) = answered;
    let (head, body) = response.into_parts();
    let body = body
        .collect()
        .await
        .map_err(|error| Failure::Broken(error.to_string()))?;
    Ok(Reply {
        status: head.status,
        content_type: head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned),
        location: None,
        retry_after: None,
        text: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    })
}

/// Refuses a path in a folder that is missing, which is more often a typing error than a wish.
fn check_folder(path: &Path) -> Result<(), String> {
    let folder = folder(path);
    if path.is_dir() {
        return Err(format!(
            "`{}` is a folder; name a file in it",
            path.display()
        ));
    }
    if !folder.is_dir() {
        return Err(format!(
            "there is no folder `{}`; make it, or name a file in another one",
            folder.display()
        ));
    }
    Ok(())
}

/// Whether this process may write the file, and beside it: SQLite keeps a log there.
fn is_writable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let folder = folder(path);
    access(path, Access::WRITE_OK).is_ok() && access(folder, Access::WRITE_OK).is_ok()
}

/// Checks that a file that must not change can be read without a change.
fn check_frozen(path: &Path, is_new: bool) -> Result<(), String> {
    let shown = path.display();
    if is_new {
        return Err(format!(
            "there is no file `{shown}`, and a file that is only read is not made; leave out \
             `?mode=ro`, or name the file that holds the runs"
        ));
    }
    File::open(path).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = PathBuf::from(log);
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(format!(
            "`{}` holds runs that are not in `{shown}` yet, and the file cannot be written; make \
             the file and its folder writable once, or copy both files to where they can be",
            log.display()
        ));
    }
    Ok(())
}
