//! Sixteen clients that upload runs and try again until each is acknowledged.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use tokio::task::JoinSet;

use crate::bench::PATIENCE;
use crate::plan::{Manner, Planned};
use crate::support::service::{Service, http_client};
use crate::support::wait;

pub(crate) const UPLOADERS: u32 = 16;
/// Keeps a case at some thousand runs, all of which are read back.
const PACE: Duration = Duration::from_millis(20);
/// The pause after an answer that names none, or after no answer.
const PAUSE: Duration = Duration::from_millis(100);
/// Longer than any answer of a service that gives its database two seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// What the service said of a stored run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Acknowledged {
    pub(crate) run_id: i64,
    pub(crate) outcome: String,
}

/// Everything that was acknowledged, by run: one entry for each time it was sent.
pub(crate) type Ledger = BTreeMap<Planned, Vec<Acknowledged>>;

/// Uploaders at work.
pub(crate) struct Fleet {
    shared: Arc<Shared>,
    uploaders: JoinSet<()>,
}

struct Shared {
    client: reqwest::Client,
    services: Vec<String>,
    token: String,
    stop: AtomicBool,
    ledger: Mutex<Ledger>,
    faults: Mutex<Vec<String>>,
    acknowledged: AtomicUsize,
    unanswered: AtomicU64,
    refused: AtomicU64,
    storage_full: AtomicU64,
}

/// What became of a fleet's uploads.
pub(crate) struct Report {
    pub(crate) ledger: Ledger,
    pub(crate) token: String,
    retries: u64,
}

impl Fleet {
    /// Sets out to upload to `services`, in turns where there are several.
    pub(crate) async fn start(services: &[&Service]) -> Self {
        let shared = Arc::new(Shared {
            client: http_client(),
            services: services.iter().map(|service| service.url()).collect(),
            token: services[0].token("runs:read runs:write").await,
            stop: AtomicBool::new(false),
            ledger: Mutex::default(),
            faults: Mutex::default(),
            acknowledged: AtomicUsize::new(0),
            unanswered: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            storage_full: AtomicU64::new(0),
        });
        let mut uploaders = JoinSet::new();
        for uploader in 0..UPLOADERS {
            uploaders.spawn(Arc::clone(&shared).work(uploader));
        }
        Self { shared, uploaders }
    }

    /// Returns once `more` runs are acknowledged than now.
    pub(crate) async fn await_acknowledged(&self, more: usize) {
        let enough = self.shared.acknowledged.load(Ordering::SeqCst) + more;
        self.await_that("runs are acknowledged", || {
            self.shared.acknowledged.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    /// Returns once `more` uploads are turned away than now.
    pub(crate) async fn await_refused(&self, more: u64) {
        let enough = self.shared.refused.load(Ordering::SeqCst) + more;
        self.await_that("uploads are turned away", || {
            self.shared.refused.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    /// Returns once `more` uploads are turned away for want of disk than now.
    pub(crate) async fn await_storage_full(&self, more: u64) {
        let enough = self.shared.storage_full.load(Ordering::SeqCst) + more;
        self.await_that("uploads find the disk full", || {
            self.shared.storage_full.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    async fn await_that(&self, what: &str, holds: impl Fn() -> bool) {
        wait::until(what, PATIENCE, async || match holds() {
            _ if !self.shared.lock_faults().is_empty() => Ok(()),
            true => Ok(()),
            false => Err(self.shared.counts()),
        })
        .await
        .unwrap_or_else(|error| panic!("{error:#}"));
        self.shared.assert_no_faults();
    }

    /// A run that was acknowledged.
    pub(crate) fn any_acknowledged(&self) -> (Planned, i64) {
        let ledger = self.shared.ledger.lock().expect("no uploader panics");
        let (planned, answers) = ledger.first_key_value().expect("some are acknowledged");
        (*planned, answers[0].run_id)
    }

    pub(crate) fn token(&self) -> &str {
        &self.shared.token
    }

    /// Waits until every uploader has ended with the run at hand; each has all of its runs acknowledged then.
    ///
    /// # Panics
    /// Where one does not, or where an answer was one that no fault excuses.
    pub(crate) async fn finish(mut self) -> Report {
        self.shared.stop.store(true, Ordering::SeqCst);
        let ended = tokio::time::timeout(PATIENCE, async {
            while let Some(ended) = self.uploaders.join_next().await {
                ended.expect("no uploader panics");
            }
        });
        let ended = ended.await;
        self.shared.assert_no_faults();
        assert!(
            ended.is_ok(),
            "some runs are never acknowledged: {}",
            self.shared.counts()
        );
        let shared = &self.shared;
        Report {
            ledger: std::mem::take(&mut *shared.ledger.lock().expect("no uploader panics")),
            token: shared.token.clone(),
            retries: shared.unanswered.load(Ordering::SeqCst)
                + shared.refused.load(Ordering::SeqCst),
        }
    }
}

impl Report {
    /// One line for whoever reads the test's output.
    pub(crate) fn print(&self, case: &str, ready_again: &[Duration]) {
        let seconds: Vec<String> = ready_again
            .iter()
            .map(|took| format!("{:.2} s", took.as_secs_f64()))
            .collect();
        let seconds = match seconds.as_slice() {
            [] => "never away".to_owned(),
            seconds => format!("ready again after {}", seconds.join(", ")),
        };
        println!(
            "{case}: {} runs acknowledged, {} retries, {seconds}",
            self.ledger.len(),
            self.retries
        );
    }
}

impl Shared {
    async fn work(self: Arc<Self>, uploader: u32) {
        for number in 0.. {
            let began = Instant::now();
            let planned = Planned { uploader, number };
            if self.upload_whole(planned).await.is_none() {
                return;
            }
            self.acknowledged.fetch_add(1, Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(PACE.saturating_sub(began.elapsed())).await;
        }
    }

    /// Sends the run in its manner, until all that is sent is acknowledged.
    async fn upload_whole(&self, planned: Planned) -> Option<()> {
        let body = planned.body();
        let answers = match planned.manner() {
            Manner::Alone => vec![self.upload(planned, 0, &body).await?],
            Manner::Twice => {
                let (one, other) = tokio::join!(
                    self.upload(planned, 0, &body),
                    self.upload(planned, 1, &body)
                );
                vec![one?, other?]
            }
            Manner::AfterFailure => vec![
                self.upload(planned, 0, &planned.failed_body()).await?,
                self.upload(planned, 0, &body).await?,
            ],
        };
        let mut ledger = self.ledger.lock().expect("no uploader panics");
        ledger.insert(planned, answers);
        Some(())
    }

    async fn upload(
        &self,
        planned: Planned,
        client: usize,
        body: &Map<String, Json>,
    ) -> Option<Acknowledged> {
        let first = planned.uploader as usize + client;
        for attempt in 0.. {
            let service = &self.services[(first + attempt) % self.services.len()];
            let pause = match self.send(service, body).await {
                Ok(acknowledged) => return Some(acknowledged),
                Err(Answer::None) => {
                    self.unanswered.fetch_add(1, Ordering::SeqCst);
                    PAUSE
                }
                Err(Answer::Later(pause)) => pause,
                Err(Answer::Wrong(fault)) => {
                    self.lock_faults().push(format!("{planned:?}: {fault}"));
                    return None;
                }
            };
            tokio::time::sleep(pause).await;
        }
        None
    }

    async fn send(&self, service: &str, body: &Map<String, Json>) -> Result<Acknowledged, Answer> {
        let request = self
            .client
            .post(format!("{service}/v1/runs"))
            .bearer_auth(&self.token)
            .timeout(ANSWER_LIMIT)
            .json(body);
        let answer = request.send().await.map_err(|error| no_answer(&error))?;
        let status = answer.status();
        let retry_after = answer.headers().get(RETRY_AFTER).cloned();
        let text = answer.text().await.map_err(|error| no_answer(&error))?;
        match (status, retry_after) {
            (StatusCode::OK | StatusCode::CREATED, _) => serde_json::from_str(&text)
                .map_err(|error| Answer::Wrong(format!("{error}: {text}"))),
            (StatusCode::SERVICE_UNAVAILABLE, Some(seconds)) => {
                self.refused.fetch_add(1, Ordering::SeqCst);
                if text.contains("storage-full") {
                    self.storage_full.fetch_add(1, Ordering::SeqCst);
                }
                let seconds = seconds.to_str().ok().and_then(|text| text.parse().ok());
                let seconds =
                    seconds.ok_or_else(|| Answer::Wrong("an odd Retry-After".to_owned()))?;
                Err(Answer::Later(Duration::from_secs(seconds)))
            }
            _ => Err(Answer::Wrong(format!("{status}: {text}"))),
        }
    }

    fn assert_no_faults(&self) {
        let faults = self.lock_faults();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    fn lock_faults(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.faults.lock().expect("no uploader panics")
    }

    fn counts(&self) -> String {
        format!(
            "{} acknowledged, {} turned away ({} for want of disk), {} not answered",
            self.acknowledged.load(Ordering::SeqCst),
            self.refused.load(Ordering::SeqCst),
            self.storage_full.load(Ordering::SeqCst),
            self.unanswered.load(Ordering::SeqCst),
        )
    }
}

/// Why an upload is not acknowledged.
enum Answer {
    /// The connection broke.
    None,
    /// The service wants the client to come back.
    Later(Duration),
    /// What no fault excuses: another status, or no answer for long.
    Wrong(String),
}

fn no_answer(error: &reqwest::Error) -> Answer {
    if error.is_timeout() {
        return Answer::Wrong(format!("no answer within {ANSWER_LIMIT:?}"));
    }
    Answer::None
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} of uploader {}", self.number, self.uploader)
    }
}
