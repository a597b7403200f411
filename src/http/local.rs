//! The routes for a command that opens the store itself: no network, no token, no log of requests.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use chrono::{DateTime, Utc};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

use super::admission::{Admission, AdmissionLimits};
use super::answer;
use super::layers::panicked;
use super::pages::Pages;
use super::state::{AppState, Caller, Keys, Readiness, RequestLimits};
use super::{Telemetry, routes};
use crate::auth::{KeyRing, Secret};
use crate::store::Store;

/// The largest body: that of the largest run, and more than a service takes by default.
const BODY_BYTES: usize = 64 << 20;

/// Memory of the requests, which is the command's own: it has no other clients.
const MEMORY: usize = 1 << 30;

/// Questions that one command asks at the same time, at the most.
const PLACES: usize = 64;

/// The time of one request. The command has a limit of its own, which ends first.
const TIME: Duration = Duration::from_secs(3600);

/// Every route of the service over `store`, for the process that owns it.
///
/// # Errors
/// If the system gives no random bytes.
pub fn local_router(store: Store, clock: fn() -> DateTime<Utc>) -> io::Result<Router> {
    let readiness = Readiness::default();
    readiness.set_ready();
    let admission = Admission::new(AdmissionLimits {
        requests: PLACES,
        reads: store.readers().try_into().unwrap_or(PLACES),
        memory: MEMORY,
    });
    let state = AppState {
        store,
        caller: Caller::Owner,
        // No token is looked at, so that the keys are never used.
        keys: Keys::new(KeyRing::new(&Secret::random()?)),
        public_read: true,
        cors_origins: Vec::new(),
        limits: RequestLimits {
            body_bytes: BODY_BYTES,
            time: TIME,
        },
        admission,
        readiness,
        telemetry: Telemetry::detached(),
        pages: Pages::default(),
        clock,
    };
    let layers = ServiceBuilder::new()
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(state.clone(), answer::deliver));
    Ok(routes(state).layer(layers))
}
