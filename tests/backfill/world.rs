//! A service, a shell that calls it, and runs to load.

use serde_json::{Value as Json, json};

use crate::shell::{Left, Shell};
use crate::support::service::{Service, ServiceOptions, http_client};

/// A started service and a shell with a token for everything.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) shell: Shell,
    token: String,
}

impl World {
    /// In front of an empty SQLite file.
    pub(crate) async fn new() -> Self {
        Self::with(ServiceOptions::default()).await
    }

    pub(crate) async fn with(options: ServiceOptions) -> Self {
        let service = Service::start(options).await;
        let token = service.token("runs:read runs:write").await;
        let shell = Shell::at(&service.url()).token(&token);
        Self {
            service,
            shell,
            token,
        }
    }

    /// The answer at `path`, as it came.
    pub(crate) async fn text(&self, path: &str, params: &[(&str, &str)]) -> String {
        let url = format!("{}{path}", self.service.url());
        let request = http_client()
            .get(url)
            .query(params)
            .bearer_auth(&self.token);
        let answer = request.send().await.unwrap().error_for_status().unwrap();
        answer.text().await.unwrap()
    }

    pub(crate) async fn json(&self, path: &str, params: &[(&str, &str)]) -> Json {
        serde_json::from_str(&self.text(path, params).await).unwrap()
    }

    /// Everything that is stored, as `export` prints it.
    pub(crate) async fn export(&self) -> String {
        let left = self.shell.run(&["export"], "").await;
        assert_eq!((left.code, left.stderr.as_str()), (0, ""), "{left:?}");
        left.stdout
    }

    /// Loads standard input with `args` more.
    pub(crate) async fn load(&self, args: &[&str], lines: &str) -> Left {
        let args = [&["backfill", "-"], args].concat();
        self.shell.run(&args, lines).await
    }
}

/// The `number`th run of the sample's series, one a minute.
pub(crate) fn run(number: u64) -> Json {
    let (hour, minute) = (number / 60, number % 60);
    let (day, hour) = (1 + hour / 24, hour % 24);
    json!({
        "workload": "perf", "repo": "drizzle", "branch": "main", "commit_sha": format!("{number:040x}"),
        "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
        "run_date": format!("2026-01-{day:02}T{hour:02}:{minute:02}:00Z"), "succeeded": true,
        "metrics": [{"metric_key": "callgrind.ir", "value": 1_000_000 + number}],
    })
}

/// `run` with other fields.
pub(crate) fn with(mut run: Json, fields: Json) -> Json {
    let fields = fields.as_object().unwrap().clone();
    run.as_object_mut().unwrap().extend(fields);
    run
}

/// One run a line.
pub(crate) fn lines(runs: impl IntoIterator<Item = Json>) -> String {
    let lines = runs.into_iter().map(|run| format!("{run}\n"));
    // A JSON value keeps no more digits than a float, so that exact ones are texts until here.
    let lines = lines.collect::<String>();
    lines
        .replace(&format!("\"{DIGITS}"), "")
        .replace(&format!("{DIGITS}\""), "")
}

/// Stands around the digits of an exact number, and in no name.
const DIGITS: &str = "(digits)";

/// A number of a run for [`lines`], with all its digits.
pub(crate) fn digits(number: &str) -> Json {
    format!("{DIGITS}{number}{DIGITS}").into()
}

/// The table of a backfill without skipped files.
pub(crate) fn table(created: u64, unchanged: u64, replaced: u64, refused: u64) -> String {
    let counts = [created, unchanged, replaced, refused];
    let width = counts.iter().max().unwrap().to_string().len();
    ["created", "unchanged", "replaced", "refused"]
        .iter()
        .zip(counts)
        .map(|(name, count)| format!("{name:<9}  {count:>width$}\n"))
        .collect()
}
