//! `perf-tracking serve`: brings the service up and keeps it up until it is told to stop.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use axum::http::HeaderValue;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{Outcome, print, welcome};

use super::flags::{DatabaseSettings, ServeArgs, ServeSettings};
use crate::auth::TokenSettings;
use crate::auth::{KeyRing, LoadedKeys, make_data_dir};
use crate::http::{
    self, Admission, AdmissionLimits, AppState, Caller, Connections, Keys, Pages, Readiness,
    RequestLimits, Telemetry, TrustedProxies,
};
use crate::store::{Store, StoreOptions};

/// The pause before a database that was not there at the start is tried again.
const START_PAUSE: Duration = Duration::from_secs(1);

/// Time to close the database once every request has ended.
const CLOSE_TIME: Duration = Duration::from_secs(10);

/// Open files beside the connections: standard streams, SQLite's files, the runtime's own.
const OTHER_FILES: u64 = 64;

/// Serves until SIGTERM or SIGINT.
pub(super) fn run(args: ServeArgs) -> anyhow::Result<Outcome> {
    let settings = ServeSettings::try_from(args)?;
    #[cfg(feature = "instrument")]
    perf_instrument::counting::start_from_environment()?;
    super::runtime()?.block_on(serve(settings))
}

async fn serve(settings: ServeSettings) -> anyhow::Result<Outcome> {
    make_data_dir(&settings.data_dir).with_context(|| {
        format!(
            "cannot make the data folder `{}`",
            settings.data_dir.display()
        )
    })?;
    raise_open_files(&settings);
    let keys = load_keys(&settings.tokens, KeyRing::load_or_create)?;
    let listener = bind(settings.listen).await?;
    let address = listener.local_addr()?;
    let state = state(&settings, keys)?;
    let welcome = welcome::text(&settings, address);
    let connections = Connections {
        limit: count(settings.limits.max_connections),
        head_time: settings.limits.request_timeout,
        stall_time: settings.limits.request_timeout,
        answer_time: settings.limits.answer_timeout,
        grace: settings.limits.shutdown_grace,
        trusted_proxies: TrustedProxies::new(settings.trusted_proxies.clone()),
    };
    reload_on_hangup(state.keys.clone(), settings.tokens)?;
    let stopped = stopped()?;
    let mut result = Ok(());
    let stop = async {
        result = tokio::select! {
            () = stopped => Ok(()),
            result = prepare(&state, &welcome) => result,
        };
    };
    tracing::info!(%address, database = %settings.database.url, "listening");
    http::serve(listener, http::router(state.clone()), connections, stop).await;
    // Requests that were cut may hold their connection a moment longer.
    let closed = tokio::time::timeout(CLOSE_TIME, state.store.close()).await;
    if closed.is_err() {
        tracing::warn!("the database was not closed in time; its log file stays beside it");
    }
    result?;
    tracing::info!("stopped");
    Ok(Outcome::Passed)
}

/// Raises the soft limit of open files to what the settings need, as far as the hard limit allows.
fn raise_open_files(settings: &ServeSettings) {
    let needed = u64::from(settings.limits.max_connections)
        + u64::from(settings.database.connections)
        + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let reachable = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = Rlimit {
        current: Some(reachable),
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, needed, "the limit of open files could not be raised");
    } else if reachable < needed {
        tracing::warn!(
            limit = reachable,
            needed,
            "the limit of open files is too low for --max-connections; raise it (`ulimit -Hn`, `LimitNOFILE=`)"
        );
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("--listen (PERF_TRACKING_LISTEN): cannot listen on {address}; give an address with a free port, or with port 0 for any")
    })
}

fn load_keys<E>(
    settings: &TokenSettings,
    load: impl FnOnce(&TokenSettings) -> Result<LoadedKeys, E>,
) -> Result<KeyRing, E> {
    let loaded = load(settings)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    if let Some(path) = &loaded.created {
        tracing::info!(path = %path.display(), "made a secret for tokens");
    }
    Ok(loaded.ring)
}

fn state(settings: &ServeSettings, keys: KeyRing) -> anyhow::Result<AppState> {
    let origins = settings
        .cors_origins
        .iter()
        .map(|origin| HeaderValue::try_from(origin.as_str()));
    let store = open(&settings.database)?;
    Ok(AppState {
        admission: Admission::new(AdmissionLimits {
            requests: count(settings.limits.max_concurrent_requests),
            reads: count(store.readers()),
            memory: settings.limits.max_memory.get(),
        }),
        store,
        keys: Keys::new(keys),
        caller: Caller::Network,
        public_read: settings.public_read,
        cors_origins: origins.collect::<Result<_, _>>()?,
        limits: RequestLimits {
            body_bytes: settings.limits.max_body.get(),
            time: settings.limits.request_timeout,
        },
        readiness: Readiness::default(),
        telemetry: Telemetry::install()?,
        pages: Pages::new(settings.url_patterns.clone()),
        clock: crate::clock::now,
    })
}

/// The store that `settings` name.
pub(super) fn open(settings: &DatabaseSettings) -> anyhow::Result<Store> {
    let options = StoreOptions {
        connections: settings.connections,
        timeout: settings.timeout,
    };
    let url = settings.whole_url(|path| std::fs::read_to_string(path))?;
    Ok(Store::open(&url, &options)?)
}

/// Brings the database up to date, says so, and then waits for ever.
///
/// A database that is not there yet is waited for: a service and its database are often started
/// together. One that can never serve ends the service.
async fn prepare(state: &AppState, welcome: &str) -> anyhow::Result<()> {
    loop {
        match state.store.migrate().await {
            Ok(()) => break,
            Err(error) if error.may_pass() => {
                tracing::warn!(%error, "waiting for the database");
                tokio::time::sleep(START_PAUSE).await;
            }
            Err(error) => return Err(error).context("--database-url (PERF_TRACKING_DATABASE_URL)"),
        }
    }
    state.readiness.set_ready();
    tracing::info!("ready");
    if let Err(error) = print(welcome) {
        tracing::warn!(%error, "the welcome could not be printed");
    }
    std::future::pending().await
}

/// Ends with the first SIGTERM or SIGINT.
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(
            signal,
            "stopping: no new connections, requests under way are answered"
        );
    })
}

/// Reads the token files anew at every SIGHUP; files that cannot be read leave the keys as they are.
fn reload_on_hangup(keys: Keys, settings: TokenSettings) -> anyhow::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match load_keys(&settings, KeyRing::load) {
                Ok(ring) => {
                    keys.replace(ring);
                    tracing::info!("token files read anew");
                }
                Err(error) => {
                    tracing::error!(%error, "the token files cannot be used; the old keys stay")
                }
            }
        }
    });
    Ok(())
}
