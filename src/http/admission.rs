//! Places for requests that work at the same time.
//!
//! A place is taken once the request has arrived whole, so that a client that sends slowly holds
//! none, and is given back when the answer is ready, so that one that reads slowly holds none.

use tokio::sync::OwnedSemaphorePermit;

use super::AppState;
use super::problem::{Problem, Slug};

/// A place among the requests that work; held while its handler runs.
pub(super) struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// A place, if the service can serve and has one free.
pub(super) fn enter(state: &AppState) -> Result<Place, Problem> {
    if !state.readiness.is_ready() {
        return Err(Problem::new(
            Slug::Starting,
            "the service waits for its database, or is bringing it up to date; try again",
        ));
    }
    let place = state.places.clone().try_acquire_owned();
    place.map(Place).map_err(|_| Problem::overloaded())
}
