//! How many requests of one client behind a trusted proxy are under way.
//!
//! A proxy's connections carry the requests of all its clients, so a connection says nothing about
//! who takes the places. Requests are counted instead: one client has at most a quarter of the
//! places that connections have, and what it sends beyond that is refused until an answer of its
//! own has been sent.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A client's part of the places is one of this many.
const PARTS: usize = 4;

/// The requests under way of every client behind a proxy. Cheap to clone.
#[derive(Clone)]
pub(super) struct Shares(Arc<State>);

struct State {
    share: usize,
    under_way: Mutex<HashMap<IpAddr, usize>>,
}

/// One request of a client, counted until the last clone is gone.
#[derive(Clone)]
pub(super) struct Turn(#[expect(dead_code, reason = "held for its drop")] Arc<Counted>);

struct Counted {
    shares: Shares,
    client: IpAddr,
}

/// The mark of a request whose client has its whole share under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShareTaken;

impl Shares {
    /// Shares of `places` places.
    pub(super) fn new(places: usize) -> Self {
        Self(Arc::new(State {
            share: (places / PARTS).max(1),
            under_way: Mutex::new(HashMap::new()),
        }))
    }

    /// Counts a request of `client`.
    ///
    /// # Errors
    ///
    /// If the client's share is taken. The request is then not counted.
    pub(super) fn enter(&self, client: IpAddr) -> Result<Turn, ShareTaken> {
        let mut under_way = self.lock();
        let count = under_way.entry(client).or_default();
        if *count >= self.0.share {
            return Err(ShareTaken);
        }
        *count += 1;
        Ok(Turn(Arc::new(Counted {
            shares: self.clone(),
            client,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // Every change of the counts is whole before anything can panic.
        let under_way = self.0.under_way.lock();
        under_way.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut under_way = self.shares.lock();
        match under_way.get_mut(&self.client) {
            Some(count) if *count > 1 => *count -= 1,
            // A client without a request takes no memory.
            _ => drop(under_way.remove(&self.client)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_quarter_of_the_places_and_leaves_no_trace() {
        let shares = Shares::new(8);
        let [one, other] = ["203.0.113.1", "203.0.113.2"].map(|text| text.parse().unwrap());
        let first = shares.enter(one).unwrap();
        let second = shares.enter(one).unwrap();
        assert!(shares.enter(one).is_err());
        let of_other = shares.enter(other).unwrap();
        let copy = first.clone();
        drop(first);
        assert!(shares.enter(one).is_err(), "the answer is still being sent");
        drop(copy);
        drop(shares.enter(one).unwrap());
        drop((second, of_other));
        assert!(shares.lock().is_empty());
    }

    #[test]
    fn every_client_has_at_least_one_place() {
        let shares = Shares::new(1);
        let client = "203.0.113.1".parse().unwrap();
        let _turn = shares.enter(client).unwrap();
        assert!(shares.enter(client).is_err());
    }
}
