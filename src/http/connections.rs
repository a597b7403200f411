//! Which connections are open, and which one gives way when all places are taken.
//!
//! A client that opens connections and leaves them idle, or keeps them busy for ever, must not keep
//! everyone else out. So a new connection takes the place of an idle one, of the client that has the
//! most. Where none is idle, it takes the place of the oldest connection of a client that has more
//! than the newcomer's would then have. Otherwise it waits until a place is given back.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, oneshot};

/// Every open connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct Table(Arc<Mutex<State>>);

struct State {
    limit: usize,
    next_id: u64,
    open: HashMap<u64, Open>,
    waiting: VecDeque<Waiting>,
}

/// The other end of a connection. All connections of a trusted proxy are its clients' and count for
/// nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    Client(IpAddr),
    Proxy,
}

struct Open {
    peer: Peer,
    /// Since when no request is under way; `None` while one is.
    idle_since: Option<Instant>,
    end: Arc<Notify>,
}

struct Waiting {
    peer: Peer,
    place: oneshot::Sender<Slot>,
}

/// The place of an open connection, which is given back with the value.
pub(super) struct Slot {
    table: Table,
    id: u64,
    end: Arc<Notify>,
}

/// What becomes of a new connection.
pub(super) enum Entry {
    /// It may be served.
    Open(Slot),
    /// It may be served once a place is given back.
    Wait(oneshot::Receiver<Slot>),
    /// As many wait as may be open.
    Refused,
}

impl Table {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            limit,
            next_id: 0,
            open: HashMap::new(),
            waiting: VecDeque::new(),
        })))
    }

    /// Takes a place for a new connection from `peer`.
    pub(super) fn enter(&self, peer: Peer) -> Entry {
        let mut state = self.lock();
        if state.open.len() < state.limit || state.make_room(peer) {
            return Entry::Open(self.open(&mut state, peer));
        }
        state.waiting.retain(|waiting| !waiting.place.is_closed());
        if state.waiting.len() >= state.limit {
            return Entry::Refused;
        }
        let (place, entry) = oneshot::channel();
        state.waiting.push_back(Waiting { peer, place });
        Entry::Wait(entry)
    }

    fn open(&self, state: &mut State, peer: Peer) -> Slot {
        let id = state.next_id;
        state.next_id += 1;
        let end = Arc::new(Notify::new());
        let open = Open {
            peer,
            idle_since: Some(Instant::now()),
            end: Arc::clone(&end),
        };
        state.open.insert(id, open);
        Slot {
            table: self.clone(),
            id,
            end,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_idle(&self, id: u64, idle_since: Option<Instant>) {
        if let Some(open) = self.lock().open.get_mut(&id) {
            open.idle_since = idle_since;
        }
    }

    /// Gives the place `id` back, unless it was taken by another connection already.
    fn leave(&self, id: u64) {
        let mut state = self.lock();
        if state.open.remove(&id).is_none() {
            return;
        }
        while let Some(next) = state.next_waiting() {
            let place = self.open(&mut state, next.peer);
            let Err(place) = next.place.send(place) else {
                return;
            };
            // It no longer waits. Its place goes to the next, and must not be given back here, under
            // the lock.
            state.open.remove(&place.id);
            drop(state);
            drop(place);
            state = self.lock();
        }
    }
}

impl State {
    /// Ends a connection, so that its place is free for `newcomer`.
    fn make_room(&mut self, newcomer: Peer) -> bool {
        let Some(id) = self.idle_victim().or_else(|| self.busy_victim(newcomer)) else {
            return false;
        };
        if let Some(open) = self.open.remove(&id) {
            open.end.notify_one();
        }
        true
    }

    /// The connection that is idle for the longest, of the client that has the most connections.
    fn idle_victim(&self) -> Option<u64> {
        let counts = self.counts();
        self.open
            .iter()
            .filter_map(|(id, open)| Some((id, open, open.idle_since?)))
            .max_by_key(|(_, open, since)| (counts[&open.peer], std::cmp::Reverse(*since)))
            .map(|(id, ..)| *id)
    }

    /// The oldest connection of the client that has the most, if the newcomer's has fewer even with
    /// the new one.
    fn busy_victim(&self, newcomer: Peer) -> Option<u64> {
        let counts = self.counts();
        let of_newcomer = counts.get(&newcomer).copied().unwrap_or(0);
        let (largest, most) = counts
            .into_iter()
            .filter(|(peer, _)| *peer != Peer::Proxy)
            .max_by_key(|(_, count)| *count)?;
        if of_newcomer + 1 >= most {
            return None;
        }
        let of_largest = self.open.iter().filter(|(_, open)| open.peer == largest);
        of_largest.map(|(id, _)| *id).min()
    }

    /// Who waits the longest, of the clients that have the fewest connections.
    fn next_waiting(&mut self) -> Option<Waiting> {
        let counts = self.counts();
        let count = |waiting: &Waiting| counts.get(&waiting.peer).copied().unwrap_or(0);
        let (index, _) = self
            .waiting
            .iter()
            .enumerate()
            .min_by_key(|(_, waiting)| count(waiting))?;
        self.waiting.remove(index)
    }

    fn counts(&self) -> HashMap<Peer, usize> {
        let mut counts = HashMap::new();
        for open in self.open.values() {
            *counts.entry(open.peer).or_default() += 1;
        }
        counts
    }
}

impl Slot {
    /// Ends once the connection has to give way.
    pub(super) async fn taken(&self) {
        self.end.notified().await;
    }

    /// What tells the table whether a request is under way.
    pub(super) fn activity(&self) -> Activity {
        Activity {
            table: self.table.clone(),
            id: self.id,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.table.leave(self.id);
    }
}

/// Tells the table whether a request is under way on a connection.
#[derive(Clone)]
pub(super) struct Activity {
    table: Table,
    id: u64,
}

impl Activity {
    pub(super) fn begin(&self) {
        self.table.set_idle(self.id, None);
    }

    pub(super) fn end(&self) {
        self.table.set_idle(self.id, Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn client(number: u8) -> Peer {
        Peer::Client(Ipv4Addr::new(192, 0, 2, number).into())
    }

    fn opened(entry: Entry) -> Slot {
        match entry {
            Entry::Open(place) => place,
            _ => panic!("no place"),
        }
    }

    fn waiting(entry: Entry) -> oneshot::Receiver<Slot> {
        match entry {
            Entry::Wait(entry) => entry,
            _ => panic!("did not have to wait"),
        }
    }

    fn is_taken(place: &Slot) -> bool {
        !place.table.lock().open.contains_key(&place.id)
    }

    fn busy(table: &Table, peer: Peer) -> Slot {
        let place = opened(table.enter(peer));
        place.activity().begin();
        place
    }

    #[test]
    fn the_connection_that_is_idle_for_the_longest_gives_way() {
        let table = Table::new(3);
        let busy = busy(&table, client(1));
        let first = opened(table.enter(client(1)));
        let second = opened(table.enter(client(1)));
        first.activity().begin();
        first.activity().end();
        let _newcomer = opened(table.enter(client(1)));
        assert!(is_taken(&second) && !is_taken(&first) && !is_taken(&busy));
    }

    #[test]
    fn a_client_with_most_places_gives_one_to_a_client_with_none() {
        let table = Table::new(4);
        let of_hog: Vec<Slot> = (0..4).map(|_| busy(&table, client(1))).collect();
        let first = busy(&table, client(2));
        let second = busy(&table, client(2));
        assert_eq!(of_hog.iter().filter(|place| is_taken(place)).count(), 2);
        // Both have as many now, so a third one waits.
        let mut third = waiting(table.enter(client(2)));
        assert!(third.try_recv().is_err());
        drop(first);
        assert!(third.try_recv().is_ok());
        assert!(!is_taken(&second));
    }

    #[test]
    fn a_place_that_is_given_back_goes_to_the_client_with_the_fewest() {
        let table = Table::new(2);
        let _first = busy(&table, client(1));
        let second = busy(&table, client(2));
        let mut same = waiting(table.enter(client(1)));
        drop(waiting(table.enter(client(3))));
        let mut proxied = waiting(table.enter(Peer::Proxy));
        drop(second);
        let _proxied = proxied.try_recv().unwrap();
        assert!(same.try_recv().is_err());
    }

    #[test]
    fn connections_of_a_proxy_are_not_cut_and_no_more_wait_than_may_be_open() {
        let table = Table::new(2);
        let _places = [busy(&table, Peer::Proxy), busy(&table, Peer::Proxy)];
        let _waiting: Vec<_> = (0..2)
            .map(|number| waiting(table.enter(client(number))))
            .collect();
        assert!(matches!(table.enter(client(9)), Entry::Refused));
    }
}
