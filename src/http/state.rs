//! What every handler can reach.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::HeaderValue;
use chrono::{DateTime, Utc};

use super::admission::Admission;
use super::pages::Pages;
use super::telemetry::Telemetry;
use crate::auth::KeyRing;
use crate::store::Store;

/// What every handler can reach; cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// The runs.
    pub store: Store,
    /// The keys that tokens are checked with.
    pub keys: Keys,
    /// Whose requests these are.
    pub caller: Caller,
    /// Whether reads need no token.
    pub public_read: bool,
    /// Pages of these origins may read from a browser.
    pub cors_origins: Vec<HeaderValue>,
    /// What one request may take.
    pub limits: RequestLimits,
    /// What requests may take together.
    pub admission: Admission,
    /// Whether the schema is up to date.
    pub readiness: Readiness,
    /// The service's own metrics.
    pub telemetry: Telemetry,
    /// What the dashboard keeps, and the operator's choices for it.
    pub pages: Pages,
    /// The time of day; an argument, so that a test can set it.
    pub clock: fn() -> DateTime<Utc>,
}

/// Whose requests reach the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Anybody who can connect: a token proves what a request may do.
    Network,
    /// The process that opened the store itself, and may do all that can be done.
    Owner,
}

/// What one request may take.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Time for a body to arrive, and again for the answer to be ready.
    pub time: Duration,
}

/// The keys in force, which a reload replaces as a whole.
#[derive(Clone)]
pub struct Keys(Arc<RwLock<Arc<KeyRing>>>);

impl Keys {
    /// Starts with `keys`.
    pub fn new(keys: KeyRing) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(keys))))
    }

    /// The keys in force now.
    pub fn current(&self) -> Arc<KeyRing> {
        // A whole ring is swapped at once, so that even a poisoned lock holds a good one.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts `keys` in force.
    pub fn replace(&self, keys: KeyRing) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }
}

/// Whether the service has brought its database up to date.
#[derive(Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// The schema is up to date.
    pub fn set_ready(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it is.
    pub fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
