//! The image by itself, on SQLite.

use crate::docker::{Container, Volume, docker, image, wait_healthy};
use crate::support::ports;
use crate::upload::{TOKEN, post, read_back};

#[tokio::test]
async fn the_image_serves_as_nobody_from_a_read_only_root_and_keeps_its_runs() {
    let image = image().await;
    let address = ports::loopback(ports::free());
    let url = format!("http://{address}");
    let volume = Volume::new("image");
    let container = Container::run(
        "image",
        &[
            "--read-only",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            &format!("--publish={address}:8080"),
            &format!("--volume={}:/var/lib/perf-tracking", volume.0),
            image,
        ],
    );
    wait_healthy(&container.0).await;

    assert_eq!(container.exec(&["id", "-u"]).expect("runs"), "10001");
    let status = container.exec(&["cat", "/proc/1/status"]).expect("runs");
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    container
        .exec(&["touch", "/var/lib/a"])
        .expect_err("the root cannot be written");
    let secret = ["stat", "--format=%a", "/var/lib/perf-tracking/token-secret"];
    assert_eq!(container.exec(&secret).expect("is there"), "600");

    let token = container.exec(&TOKEN).expect("a token is minted");
    let run_id = post(&url, &token, 1).await;
    read_back(&url, &token, run_id, 1).await;

    docker(&["stop", "--time=60", &container.0]).expect("stops");
    assert_eq!(container.inspect("{{.State.ExitCode}}"), "0");
    docker(&["start", &container.0]).expect("starts");
    wait_healthy(&container.0).await;
    read_back(&url, &token, run_id, 1).await;
}
