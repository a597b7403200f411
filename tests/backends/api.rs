//! The service in front of a case's database, and how a case talks to it.

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value as Json, json};

use crate::support::harness::Context;
use crate::support::service::{Service, ServiceOptions, http_client};

/// A started service and a client with a token for everything.
pub(crate) struct Api {
    pub(crate) service: Service,
    pub(crate) client: Client,
    pub(crate) token: String,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Api {
    pub(crate) async fn start(context: &Context) -> Self {
        Self::start_with(context, &[]).await
    }

    /// With more arguments of `perf-tracking serve`.
    pub(crate) async fn start_with(context: &Context, args: &[&str]) -> Self {
        let mut options = ServiceOptions::with_database(&context.database_url);
        options.args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self::of(Service::start(options).await).await
    }

    /// In front of a service that was started elsewhere.
    pub(crate) async fn of(service: Service) -> Self {
        let token = service.token("runs:read runs:write").await;
        Self {
            service,
            client: http_client(),
            token,
        }
    }

    /// A request with the token; `path` may hold a query.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(&self.token)
    }

    /// A request without a token.
    pub(crate) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.service.url());
        self.client.request(method, url)
    }

    pub(crate) async fn post(&self, run: &Json) -> Answer {
        let request = self.request(Method::POST, "/v1/runs");
        send(request.json(run)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path)).await
    }

    /// The answer to a query whose parameters are encoded here.
    pub(crate) async fn query(&self, path: &str, params: &[(&str, &str)]) -> Answer {
        send(self.request(Method::GET, path).query(params)).await
    }

    /// As [`Api::query`], of a query that must fit.
    pub(crate) async fn read(&self, path: &str, params: &[(&str, &str)]) -> Json {
        self.query(path, params).await.ok()
    }

    /// Uploads a run that must be new, and answers its id.
    pub(crate) async fn create(&self, run: &Json) -> i64 {
        let answer = self.post(run).await;
        assert_eq!(answer.status, 201, "{run}\n{}", answer.text);
        answer.json()["run_id"].as_i64().unwrap()
    }
}

/// Sends a request that must be answered.
pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text: response.text().await.unwrap(),
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, self.text))
    }

    /// The body of a success.
    pub(crate) fn ok(&self) -> Json {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// The body of a problem, which has every member that a problem must have.
    pub(crate) fn problem(&self, status: u16, slug: &str) -> Json {
        let json = self.json();
        assert_eq!(
            (self.status, &json["type"]),
            (status, &json!(slug)),
            "{json}"
        );
        assert_eq!(
            self.header(CONTENT_TYPE.as_str()),
            "application/problem+json"
        );
        assert_eq!(json["status"], json!(status), "{json}");
        for member in ["title", "detail"] {
            assert!(
                json[member].as_str().is_some_and(|text| !text.is_empty()),
                "{json}"
            );
        }
        assert_eq!(
            status == 503,
            !self.header("retry-after").is_empty(),
            "{json}"
        );
        json
    }

    /// The places of all faults of a problem.
    pub(crate) fn fault_places(&self) -> Vec<String> {
        let json = self.json();
        let errors = json["errors"].as_array().map(Vec::as_slice);
        errors
            .unwrap_or_default()
            .iter()
            .map(|error| error["pointer"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A run of an answer without what the service tells of it beside its content: its id, and who
/// uploaded it when.
pub(crate) fn content(mut run: Json) -> Json {
    let fields = run.as_object_mut().unwrap();
    for name in ["run_id", "uploaded_by", "token_id", "uploaded_at"] {
        assert!(fields.remove(name).is_some(), "{name}");
    }
    run
}

/// The name of the commit number `number`.
pub(crate) fn sha(number: u64) -> String {
    format!("{number:040x}")
}

/// A succeeded, promoted, live run of the commit number `number` with one metric, dated by the number.
pub(crate) fn run(number: u64) -> Json {
    json!({
        "workload": "perf", "repo": "drizzle", "branch": "main", "commit_sha": sha(number),
        "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
        "run_date": date(number), "succeeded": true,
        "metrics": [{"metric_key": "callgrind.ir", "value": 1000 + number}],
    })
}

/// The date number `number`: a minute after the one before.
pub(crate) fn date(number: u64) -> String {
    let (day, hour, minute) = (number / 1440, number / 60 % 24, number % 60);
    format!("2026-01-{:02}T{hour:02}:{minute:02}:00Z", day + 1)
}

/// `run` with other fields.
pub(crate) fn with(mut run: Json, fields: Json) -> Json {
    let Json::Object(fields) = fields else {
        panic!("fields stand in an object");
    };
    run.as_object_mut().unwrap().extend(fields);
    run
}

/// The series of [`run`], as parameters.
pub(crate) const SERIES: [(&str, &str); 4] = [
    ("workload", "perf"),
    ("branch", "main"),
    ("arch", "amd64"),
    ("distro", "trixie"),
];

/// The series of [`run`] and more parameters.
pub(crate) fn series_and<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&SERIES, more].concat()
}
