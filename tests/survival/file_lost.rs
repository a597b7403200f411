//! What becomes of the SQLite file while the service has it open.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::StatusCode;
use serde_json::Value as Json;
use sqlx::{Connection as _, SqliteConnection};

use crate::bench::{Bench, Ground, Place, impatient};
use crate::plan::Planned;
use crate::support::service::{Service, http_client};

/// A service, its file and a token.
struct Subject<'b> {
    service: Service,
    file: PathBuf,
    token: String,
    _ground: Ground<'b>,
}

impl<'b> Subject<'b> {
    async fn start(bench: &'b Bench) -> Self {
        let ground = bench.ground(Place::Sqlite).await;
        let service = Service::start(impatient(&ground.url)).await;
        let file = ground.url.strip_prefix("sqlite://").expect("a file").into();
        let token = service.token("runs:write").await;
        Self {
            service,
            file,
            token,
            _ground: ground,
        }
    }

    /// Uploads one run, and returns the status and the type of the problem if there is one.
    async fn upload(&self, number: u32) -> (StatusCode, String) {
        let planned = Planned {
            uploader: 0,
            number,
        };
        let request = http_client()
            .post(format!("{}/v1/runs", self.service.url()))
            .bearer_auth(&self.token)
            .json(&planned.body());
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let body: Json = answer.json().await.expect("JSON");
        (status, body["type"].as_str().unwrap_or_default().to_owned())
    }

    async fn stores(&self, number: u32) {
        assert_eq!(self.upload(number).await.0, StatusCode::CREATED);
    }

    /// Nothing is acknowledged, and the service says that it cannot serve.
    async fn has_lost_its_file(&self, number: u32) {
        let (status, problem) = self.upload(number).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(problem, "database-lost");
        assert_eq!(self.service.status("/readyz").await, Some(503));
        assert_eq!(self.service.status("/healthz").await, Some(200));
    }
}

pub(crate) async fn deleted(bench: &Bench) {
    let subject = Subject::start(bench).await;
    subject.stores(1).await;
    let away = subject.file.with_extension("away");
    fs::rename(&subject.file, &away).expect("the file can be moved");
    subject.has_lost_its_file(2).await;
    fs::rename(&away, &subject.file).expect("the file can be moved");
    subject.service.await_status("/readyz", 200).await;
    subject.stores(3).await;
}

pub(crate) async fn replaced(bench: &Bench) {
    let mut subject = Subject::start(bench).await;
    subject.stores(1).await;
    let copy = subject.file.with_extension("copy");
    fs::copy(&subject.file, &copy).expect("the file can be copied");
    fs::rename(&copy, &subject.file).expect("the file can be replaced");
    subject.has_lost_its_file(2).await;
    for log in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(subject.file.with_extension(log));
    }
    subject.service.restart().await;
    subject.stores(3).await;
}

pub(crate) async fn malformed(bench: &Bench) {
    let subject = Subject::start(bench).await;
    subject.stores(1).await;
    let mut file = File::options()
        .write(true)
        .open(&subject.file)
        .expect("the file opens");
    file.write_all(&[0; 100]).expect("the file can be written");
    subject.has_lost_its_file(2).await;
}

/// A file that the service may not write into, until it may.
pub(crate) async fn read_only(bench: &Bench) {
    let mut subject = Subject::start(bench).await;
    subject.stores(1).await;
    subject.service.terminate().await;
    let guard = ReadOnly::mount(&subject.file);
    subject.service.launch_again();
    subject.service.await_status("/healthz", 200).await;
    subject.service.log_with("the database is read-only").await;
    assert_eq!(subject.service.status("/readyz").await, Some(503));
    drop(guard);
    subject.service.await_status("/readyz", 200).await;
    subject.stores(2).await;
}

/// A file that is mounted on itself for reading alone, which stops even the superuser.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn mount(file: &Path) -> Self {
        let guard = Self(file.to_owned());
        guard.run(&["mount", "--bind"], &[file, file]);
        guard.run(&["mount", "-o", "remount,bind,ro"], &[file]);
        guard
    }

    fn run(&self, command: &[&str], files: &[&Path]) {
        let status = Command::new(command[0])
            .args(&command[1..])
            .args(files)
            .status();
        let status = status.expect("the command is there");
        assert!(
            status.success(),
            "{command:?} {status}: this test mounts, and needs root"
        );
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let file = self.0.clone();
        self.run(&["umount", "-l"], &[&file]);
    }
}

/// Once the service has stopped, its file alone holds every run.
pub(crate) async fn is_whole_after_a_stop(bench: &Bench) {
    let mut subject = Subject::start(bench).await;
    for round in 0..5 {
        for number in 0..20 {
            subject.stores(1 + round * 20 + number).await;
        }
        let status = subject.service.terminate().await;
        assert!(status.success(), "the service ended with {status}");
        let backup = subject.file.with_extension("backup");
        fs::copy(&subject.file, &backup).expect("the file can be copied");
        let url = format!("sqlite://{}", backup.display());
        let mut backup = SqliteConnection::connect(&url).await.expect("it opens");
        let stored: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM runs")
            .fetch_one(&mut backup)
            .await
            .expect("it can be read");
        assert_eq!(stored, 20 * (i64::from(round) + 1));
        backup.close().await.expect("it can be closed");
        subject.service.restart().await;
    }
}
