//! The disk under a SQLite file fills up under load and is freed again.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value as Json;

use crate::audit::{audit, sent_part, stored};
use crate::bench::{Bench, Ground, Place, impatient, recovery};
use crate::fleet::Fleet;
use crate::support::service::{Service, http_client};

/// Uploads come back after the second that they are told to wait.
const SECONDS: Duration = Duration::from_secs(5);

pub(crate) async fn disk_full(bench: &Bench) {
    let disk = SmallDisk::mount();
    let ground = disk.ground(bench).await;
    let mut service = Service::start(impatient(&ground.url)).await;
    let fleet = Fleet::start(&[&service]).await;
    let mut ready_again = Vec::new();
    for _ in 0..3 {
        fleet.await_acknowledged(50).await;
        disk.fill();
        fleet.await_storage_full(40).await;
        check_reads(&service, &fleet).await;
        service.await_status("/readyz", 200).await;
        disk.free();
        ready_again.push(recovery(&service, &fleet, SECONDS).await);
    }
    fleet.await_acknowledged(50).await;
    let report = fleet.finish().await;
    audit(&mut service, &ground, &report).await;
    report.print("sqlite::disk_full", &ready_again);
}

/// What is stored is read as ever while nothing can be written.
async fn check_reads(service: &Service, fleet: &Fleet) {
    let (planned, run_id) = fleet.any_acknowledged();
    let run = read(service, fleet, &format!("/v1/runs/{run_id}")).await;
    assert_eq!(sent_part(run), stored(planned, run_id));
    let history =
        "/v1/history?workload=oltp_0&branch=main&arch=amd64&distro=trixie&metric_key=callgrind.ir";
    let history = read(service, fleet, history).await;
    assert_eq!(history["metrics"][0]["metric_key"], "callgrind.ir");
    let series = read(service, fleet, "/v1/series").await;
    assert!(!series["series"].as_array().expect("a list").is_empty());
}

async fn read(service: &Service, fleet: &Fleet, path: &str) -> Json {
    let request = http_client()
        .get(format!("{}{path}", service.url()))
        .bearer_auth(fleet.token());
    let answer = request.send().await.expect("the service answers");
    let status = answer.status();
    let text = answer.text().await.expect("the answer arrives");
    assert_eq!(status, StatusCode::OK, "{path}: {text}");
    serde_json::from_str(&text).expect("an answer is JSON")
}

/// A service that dies while the disk is full is up again by itself once there is room.
pub(crate) async fn killed_while_full(bench: &Bench) {
    let disk = SmallDisk::mount();
    let ground = disk.ground(bench).await;
    let mut service = Service::start(impatient(&ground.url)).await;
    let fleet = Fleet::start(&[&service]).await;
    fleet.await_acknowledged(100).await;
    disk.fill();
    fleet.await_storage_full(20).await;
    service.kill().await;
    // Takes what the dead service gave back.
    disk.fill();
    service.launch_again();
    fleet.await_refused(20).await;
    disk.free();
    let ready_again = recovery(&service, &fleet, SECONDS).await;
    fleet.await_acknowledged(100).await;
    let report = fleet.finish().await;
    audit(&mut service, &ground, &report).await;
    report.print("sqlite::service_killed_on_a_full_disk", &[ready_again]);
}

/// A file system of a few megabytes, in memory. One that is full there kills whoever writes through a mapping.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// # Panics
    /// Where it cannot be mounted, as only root can.
    fn mount() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"])
            .arg(folder.path())
            .output()
            .expect("`mount` is there (util-linux)");
        assert!(
            mounted.status.success(),
            "cannot mount a small disk; run this test as root: {}",
            String::from_utf8_lossy(&mounted.stderr)
        );
        Self { folder }
    }

    async fn ground<'b>(&self, bench: &'b Bench) -> Ground<'b> {
        let url = format!("sqlite://{}/runs.db", self.folder.path().display());
        let mut ground = bench.ground(Place::Sqlite).await;
        ground.url.clone_from(&url);
        ground.direct_url = url;
        ground
    }

    fn filler(&self) -> PathBuf {
        self.folder.path().join("filler")
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        fill(&self.filler());
    }

    fn free(&self) {
        std::fs::remove_file(self.filler()).expect("the filler is there");
    }
}

fn fill(path: &Path) {
    let mut filler = File::options()
        .create(true)
        .append(true)
        .open(path)
        .expect("a file can be made");
    for size in [1 << 20, 4096, 1] {
        let block = vec![b'x'; size];
        loop {
            match filler.write(&block) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("cannot fill the disk: {error}"),
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The service may still have files open there; they go away with it.
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.folder.path())
            .status();
    }
}
