//! The images of these tests: those of `deploy/measure`, and stand-ins for a server and for sysbench.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{BINARY, build};
use crate::docker::{ROOT, unique};
use crate::support::databases::Engine;
use crate::support::engine;
use crate::support::images::{ensure_debian, ensure_image};

pub(super) const DEBIAN: &str = "perf-tracking-test/debian:trixie";
const RUNNER: &str = "perf-tracking-test/runner:latest";

/// A runner's image with the program that is tested; it is named in the end as `deploy/measure` has it.
pub(super) async fn runner() -> &'static str {
    static BUILT: OnceLock<()> = OnceLock::new();
    engine::connect().await.expect("a container engine runs");
    let built = tokio::task::spawn_blocking(|| {
        BUILT.get_or_init(|| {
            ensure_debian("trixie", &[], DEBIAN).unwrap_or_else(|error| panic!("{error:#}"));
            let folder = tempfile::tempdir().expect("a folder can be made");
            fs::copy(BINARY, folder.path().join("perf-tracking")).expect("the program is there");
            let text = format!("FROM {DEBIAN}\nCOPY perf-tracking /usr/local/bin/perf-tracking\n");
            fs::write(folder.path().join("Containerfile"), text).expect("a file can be written");
            build(folder.path(), "Containerfile", RUNNER, &[]);
        });
    });
    built.await.expect("the image is built");
    RUNNER
}

/// The images of `deploy/measure` with a real MariaDB: its server's, the two measured ones and the load generator's.
pub(super) struct Real {
    pub(super) server: &'static str,
    pub(super) callgrind: String,
    pub(super) massif: String,
    pub(super) load: String,
}

impl Real {
    pub(super) async fn build() -> Self {
        let runner = runner().await;
        let server = Engine::MariaDb11_8.image();
        let built = tokio::task::spawn_blocking(move || {
            ensure_image(server).unwrap_or_else(|error| panic!("{error:#}"));
            let real = Self {
                server: server.tag,
                callgrind: "perf-tracking-test/measured-callgrind".to_owned(),
                massif: "perf-tracking-test/measured-massif".to_owned(),
                load: "perf-tracking-test/load".to_owned(),
            };
            let folder = Path::new(ROOT).join("deploy/measure");
            for pass in ["callgrind", "massif"] {
                build(
                    &folder,
                    &format!("Containerfile.{pass}"),
                    &format!("perf-tracking-test/measured-{pass}"),
                    &[format!("SERVER_IMAGE={}", server.tag)],
                );
            }
            build(
                &folder,
                "Containerfile.load",
                &real.load,
                &[
                    format!("RUNNER_IMAGE={runner}"),
                    format!("RUNTIME_IMAGE={DEBIAN}"),
                ],
            );
            real
        });
        built.await.expect("the images are built")
    }
}

/// What a stand-in for a measured server does. It greets as MySQL does, and `vgdb` in it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conduct {
    /// Greets, and when it is stopped leaves the files of both tools.
    Good,
    /// Ends at once, with a reason.
    EndsAtOnce,
    /// Never listens.
    NeverGreets,
    /// Greets, and ends a moment after it is asked for more.
    EndsUnderLoad,
    /// Does not hear a signal.
    NeverStops,
    /// Ends with an error when it is stopped.
    FailsToStop,
    /// Leaves half a file.
    LeavesHalf,
}

/// Stand-ins for one test: a server's image, a measured server on it, a load generator. They go away with the value.
pub(super) struct StandIns {
    pub(super) server: String,
    pub(super) measured: String,
    pub(super) load: String,
}

const SERVER: &str = r#"#!/usr/bin/perl
use strict; use IO::Socket::INET;
my $conduct = $ENV{CONDUCT};
$| = 1;
print "the stand-in starts\n";
if ($conduct eq "EndsAtOnce") { print "boom: cannot open ibdata1\n"; exit 3; }
sub leave {
    my ($name) = @_;
    open(my $in, "<", "/fixtures/$name") or die; local $/; my $text = <$in>;
    $text = substr($text, 0, length($text) / 2) if $conduct eq "LeavesHalf";
    open(my $out, ">", "/measured/$name") or die; print $out $text; close $out;
}
$SIG{TERM} = $conduct eq "NeverStops" ? "IGNORE" : sub {
    leave("callgrind.out.1"); leave("massif.out");
    print "the stand-in stops\n";
    exit($conduct eq "FailsToStop" ? 6 : 0);
};
if ($conduct eq "NeverGreets") { print "still recovering\n"; sleep 1 while 1; }
my $listener = IO::Socket::INET->new(LocalPort => 3306, Listen => 5, ReuseAddr => 1) or die "no port: $!";
while (1) {
    my $client = $listener->accept or next;
    print $client "\x4a\0\0\0\x0a11.8\0";
    close $client;
    if ($conduct eq "EndsUnderLoad" && -e "/measured/load") { print "Assertion failure in btr0cur.cc\n"; exit 134; }
}
"#;

/// Prints the report of `run` with the events that it was told of.
const SYSBENCH: &str = r#"#!/bin/sh
for word; do last=$word; case $word in --events=*) events=${word#--events=};; esac; done
[ "$last" = run ] || exit 0
touch /measured/load
if [ "$LOAD" = hangs ]; then
    # A connection that is asked for more, and a client that does not notice its end.
    perf-tracking load ready server:3306
    sleep 600
fi
[ "$LOAD" = fails ] && { echo "FATAL: error 1205: Lock wait timeout exceeded" >&2; exit 1; }
[ "$LOAD" = other ] && events=$((events - 1))
sed "s/total number of events: .*/total number of events: $events/" /fixtures/report.txt
"#;

impl StandIns {
    pub(super) async fn build(conduct: Conduct, load: &str) -> Self {
        let runner = runner().await;
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = unique(&format!("measure-{number}"));
        let load = load.to_owned();
        let built = tokio::task::spawn_blocking(move || {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let write = |name: &str, text: &str| {
                fs::write(folder.path().join(name), text).expect("a file can be written");
            };
            write("server", SERVER);
            write("sysbench", SYSBENCH);
            let fixture = |from: &str, to: &str| {
                let from = format!("{ROOT}/tests/fixtures/{from}");
                fs::copy(from, folder.path().join(to)).expect("the fixture is there");
            };
            fixture("callgrind/all_events.out", "callgrind.out.1");
            fixture("massif/default.out", "massif.out");
            fixture("sysbench/oltp_read_write.txt", "report.txt");
            write(
                "Containerfile.server",
                &format!("FROM {DEBIAN}\nRUN install -d -m 1777 /measured\n"),
            );
            write(
                "Containerfile.measured",
                &format!(
                    "FROM {name}-server\nCOPY server /usr/local/bin/server\nCOPY callgrind.out.1 massif.out /fixtures/\n\
                     RUN chmod +x /usr/local/bin/server && ln -s /bin/true /usr/local/bin/vgdb\n\
                     LABEL perf-tracking.server=mariadbd\nENV CONDUCT={conduct:?}\n\
                     ENTRYPOINT [\"perl\", \"/usr/local/bin/server\"]\n"
                ),
            );
            write(
                "Containerfile.load",
                &format!(
                    "FROM {runner}\nCOPY sysbench /usr/local/bin/sysbench\nCOPY report.txt /fixtures/\n\
                     RUN chmod +x /usr/local/bin/sysbench && install -d -m 1777 /measured\nENV LOAD={load}\n\
                     ENTRYPOINT [\"perf-tracking\"]\nCMD [\"load\", \"wait\"]\n"
                ),
            );
            let made = Self {
                server: format!("{name}-server"),
                measured: format!("{name}-measured"),
                load: format!("{name}-load"),
            };
            build(folder.path(), "Containerfile.server", &made.server, &[]);
            build(folder.path(), "Containerfile.measured", &made.measured, &[]);
            build(folder.path(), "Containerfile.load", &made.load, &[]);
            made
        });
        built.await.expect("the images are built")
    }

    /// A contract of these.
    pub(super) fn contract(&self) -> String {
        contract(&self.server, &self.measured, &self.measured, &self.load)
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for image in [&self.measured, &self.server, &self.load] {
            if let Err(error) = crate::docker::docker(&["image", "rm", "--force", image]) {
                eprintln!("{error:#}");
            }
        }
    }
}

/// A contract of the compose files of `deploy/measure` and these images.
pub(super) fn contract(server: &str, callgrind: &str, massif: &str, load: &str) -> String {
    format!(
        "workload = \"perf\"\ndistro = \"trixie\"\ncompose = \"{ROOT}/deploy/measure\"\n\
         [server]\nimage = \"{server}\"\nprogram = \"mariadbd\"\n\
         [load]\nscript = \"oltp_read_write\"\nthreads = 1\nevents = 20\ntables = 1\ntable_size = 1000\n\
         [images]\ncallgrind = \"{callgrind}\"\nmassif = \"{massif}\"\nload = \"{load}\"\n"
    )
}
