//! The arguments of sysbench, the check of its report, and the check that a server is ready.

use std::io::{self, Read as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use super::config::Load;
use crate::collect;
use crate::domain::Metric;

/// The schema that the measured images create.
pub(super) const ACCOUNT: &str = "sbtest";
/// The script in the load generator's image that makes sysbench's `prepare` heed the seed.
const SEEDED: &str = "/usr/local/share/perf-tracking/seeded.lua";
/// The server's host name in the compose files.
pub(super) const SERVER: &str = "server";
/// A server under valgrind takes long to send its greeting.
const GREETING: Duration = Duration::from_secs(15);

impl Load {
    /// The command line of sysbench that makes the tables. sysbench 1.0 heeds its seed in `run` alone,
    /// so a script around the script sets it; one thread makes all tables, in one order.
    pub(super) fn prepare(&self) -> Vec<String> {
        let mut words = vec![
            "env".to_owned(),
            format!("PERF_TRACKING_SCRIPT={}", self.script),
            format!("PERF_TRACKING_SEED={}", self.seed),
        ];
        words.extend(self.command(SEEDED, 1, "prepare"));
        words
    }

    /// The command line of sysbench that is the load.
    pub(super) fn run(&self) -> Vec<String> {
        self.command(&self.script, self.threads, "run")
    }

    fn command(&self, script: &str, threads: u32, what: &str) -> Vec<String> {
        let prepared = if self.prepared_statements {
            "auto"
        } else {
            "disable"
        };
        let mut words = vec!["sysbench".to_owned(), script.to_owned()];
        words.extend([
            "--db-driver=mysql".to_owned(),
            format!("--mysql-host={SERVER}"),
            format!("--mysql-user={ACCOUNT}"),
            format!("--mysql-db={ACCOUNT}"),
            format!("--db-ps-mode={prepared}"),
            format!("--threads={threads}"),
            format!("--events={}", self.events),
            // The number of events ends the run. A time limit would end it too early under valgrind.
            "--time=0".to_owned(),
            format!("--tables={}", self.tables),
            format!("--table-size={}", self.table_size),
            format!("--rand-seed={}", self.seed),
            what.to_owned(),
        ]);
        words
    }

    /// Checks that a report of sysbench shows the work that the contract asks for.
    ///
    /// # Errors
    /// What the report says instead.
    pub(super) fn check(&self, report: &str) -> Result<(), String> {
        let read = collect::read_sysbench(report).map_err(|error| format!("its report {error}"))?;
        let expected = [
            ("events", self.events),
            ("ignored_errors", 0),
            ("reconnects", 0),
        ];
        for (name, expected) in expected {
            let key = format!("sysbench.{name}");
            let found = find(&read.metrics, &key)
                .ok_or_else(|| format!("its report has no `{}`", name.replace('_', " ")))?;
            if found.value.to_string() != expected.to_string() {
                let what = name.replace('_', " ");
                return Err(format!(
                    "it reports {} {what}, and {expected} were asked for",
                    found.value
                ));
            }
        }
        Ok(())
    }

    /// The times and rates in a report of sysbench.
    ///
    /// # Errors
    /// That the report cannot be read.
    pub(super) fn times(&self, report: &str) -> Result<Vec<Metric>, String> {
        let read = collect::read_sysbench(report).map_err(|error| format!("its report {error}"))?;
        let times = read.metrics.into_iter().filter(|metric| metric.wallclock);
        Ok(times.collect())
    }
}

fn find<'m>(metrics: &'m [Metric], key: &str) -> Option<&'m Metric> {
    metrics
        .iter()
        .find(|metric| metric.name.metric_key.as_str() == key)
}

/// Connects once and checks that the server sends a greeting of MySQL's protocol.
///
/// # Errors
/// What the server did instead.
pub fn greets(address: &str) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match greeting(&address) {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn greeting(address: &std::net::SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(address, GREETING)?;
    stream.set_read_timeout(Some(GREETING))?;
    // Three bytes of length, the number of the packet, and the version of the protocol.
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    match head {
        [_, _, _, 0, 10] => Ok(()),
        [_, _, _, 0, 0xff] => Err(io::Error::other("it answers with an error")),
        _ => Err(io::Error::other("it does not speak MySQL's protocol")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    const REPORT: &str = include_str!("../../../tests/fixtures/sysbench/oltp_read_write.txt");

    fn load(events: u32) -> Load {
        Load {
            script: "oltp_read_write".to_owned(),
            threads: 1,
            events,
            tables: 1,
            table_size: 1000,
            seed: 1,
            prepared_statements: false,
        }
    }

    #[test]
    fn a_report_must_say_what_the_contract_says() {
        load(50).check(REPORT).unwrap();
        let other = load(200).check(REPORT).unwrap_err();
        assert_eq!(other, "it reports 50 events, and 200 were asked for");
        let lost = REPORT.replace("reconnects:                          0", "reconnects: 2");
        assert_ne!(lost, REPORT);
        let lost = load(50).check(&lost).unwrap_err();
        assert_eq!(lost, "it reports 2 reconnects, and 0 were asked for");
        assert!(
            load(100)
                .check("FATAL: no")
                .unwrap_err()
                .starts_with("its report has no line")
        );
    }

    #[test]
    fn sysbench_hears_all_of_the_contract() {
        assert_eq!(
            load(7).run().join(" "),
            "sysbench oltp_read_write --db-driver=mysql --mysql-host=server --mysql-user=sbtest \
             --mysql-db=sbtest --db-ps-mode=disable --threads=1 --events=7 --time=0 --tables=1 \
             --table-size=1000 --rand-seed=1 run"
        );
        let several = Load {
            threads: 4,
            seed: 9,
            ..load(7)
        };
        let prepare = several.prepare().join(" ");
        let start = "env PERF_TRACKING_SCRIPT=oltp_read_write PERF_TRACKING_SEED=9 sysbench \
                     /usr/local/share/perf-tracking/seeded.lua --db-driver=mysql ";
        assert!(prepare.starts_with(start), "{prepare}");
        assert!(prepare.contains(" --threads=1 "), "{prepare}");
        assert!(prepare.ends_with(" prepare"), "{prepare}");
    }

    #[test]
    fn a_server_is_ready_once_it_greets() {
        let told = |bytes: &'static [u8]| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(bytes));
            let answer = greets(&address).map_err(|error| error.to_string());
            server.join().unwrap().unwrap();
            answer
        };
        assert_eq!(told(&[74, 0, 0, 0, 10, b'1', b'1']), Ok(()));
        assert!(
            told(&[20, 0, 0, 0, 0xff, 1])
                .unwrap_err()
                .contains("an error")
        );
        assert!(told(b"HTTP/1.1 200 OK").unwrap_err().contains("MySQL"));
        assert!(told(b"").is_err());
        assert!(greets("127.0.0.1:1").is_err());
    }
}
