//! The connections to a database server.
//!
//! `sqlx` has a pool, which waits without a limit of its own for whatever it says to a connection:
//! the ping before it takes one back, the farewell before it closes one. Where a network drops
//! packets, the system gives up after a quarter of an hour, and the pool is full of dead connections
//! until then. This one says nothing to a connection that it gives up, takes back only those whose
//! use case ended well, so that there is nothing to ask, and pings within a limit.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{PoolUse, StoreOptions};

/// Drizzle drops a connection that is idle for 330 s.
const IDLE_LIMIT: Duration = Duration::from_secs(240);
/// A connection that was idle for longer is asked whether it still lives before it is used: an
/// upload's transaction is five statements, and a ping before each would be a sixth round trip.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);
/// A connection that does not answer a ping for so long is dead.
const PING_LIMIT: Duration = Duration::from_secs(1);

/// Connections to one server, opened as they are needed. Cheap to clone.
#[derive(Clone)]
pub(super) struct ServerPool(Arc<Shared>);

struct Shared {
    connect: MySqlConnectOptions,
    prepare: Prepare,
    limit: u32,
    acquire_limit: Duration,
    ping_limit: Duration,
    places: Arc<Semaphore>,
    /// The one given back last at the end.
    idle: Mutex<Vec<Idle>>,
}

/// What is done with a new connection before it is used.
type Prepare = Box<
    dyn for<'c> Fn(&'c mut MySqlConnection) -> BoxFuture<'c, Result<(), sqlx::Error>> + Send + Sync,
>;

struct Idle {
    connection: MySqlConnection,
    since: Instant,
}

/// A connection in use. It is closed with the value, which the server takes for a rollback, unless
/// it is given back.
pub(super) struct ServerConnection {
    connection: MySqlConnection,
    pool: ServerPool,
    place: OwnedSemaphorePermit,
}

impl ServerPool {
    /// A pool of connections, each of which `prepare` has made ready.
    pub(super) fn new(
        connect: MySqlConnectOptions,
        options: &StoreOptions,
        prepare: impl for<'c> Fn(&'c mut MySqlConnection) -> BoxFuture<'c, Result<(), sqlx::Error>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let places = usize::try_from(options.connections).unwrap_or(Semaphore::MAX_PERMITS);
        Self(Arc::new(Shared {
            connect,
            prepare: Box::new(prepare),
            limit: options.connections,
            acquire_limit: options.timeout,
            // Leaves time to connect anew.
            ping_limit: PING_LIMIT.min(options.timeout / 4),
            places: Arc::new(Semaphore::new(places)),
            idle: Mutex::default(),
        }))
    }

    /// A connection that lives, as far as one can know.
    pub(super) async fn acquire(&self) -> Result<ServerConnection, sqlx::Error> {
        timeout(self.0.acquire_limit, self.acquire_in_time())
            .await
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn acquire_in_time(&self) -> Result<ServerConnection, sqlx::Error> {
        let place = Arc::clone(&self.0.places).acquire_owned().await;
        let place = place.map_err(|_| sqlx::Error::PoolClosed)?;
        let connection = match self.living().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(ServerConnection {
            connection,
            pool: self.clone(),
            place,
        })
    }

    /// An idle connection that still lives.
    async fn living(&self) -> Option<MySqlConnection> {
        let Idle {
            mut connection,
            since,
        } = {
            let mut idle = self.idle();
            idle.retain(|idle| idle.since.elapsed() < IDLE_LIMIT);
            idle.pop()?
        };
        if since.elapsed() < TRUSTED_IDLE {
            return Some(connection);
        }
        if let Ok(Ok(())) = timeout(self.0.ping_limit, connection.ping()).await {
            return Some(connection);
        }
        tracing::info!("an idle connection died, and so did those that are idle for longer");
        self.idle().retain(|idle| idle.since > since);
        None
    }

    async fn connect(&self) -> Result<MySqlConnection, sqlx::Error> {
        let mut connection = self.0.connect.connect().await?;
        (self.0.prepare)(&mut connection).await?;
        Ok(connection)
    }

    /// The connections at this moment.
    pub(super) fn usage(&self) -> PoolUse {
        let idle = u32::try_from(self.idle().len()).unwrap_or(u32::MAX);
        let free = u32::try_from(self.0.places.available_permits()).unwrap_or(u32::MAX);
        PoolUse {
            open: idle + self.0.limit.saturating_sub(free),
            idle,
            limit: self.0.limit,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        // A list of connections is never left half changed by a panic.
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerConnection {
    /// Keeps the connection for the next use case; outside a transaction, between two statements.
    pub(super) fn give_back(self) {
        let Self {
            connection,
            pool,
            place,
        } = self;
        pool.idle().push(Idle {
            connection,
            since: Instant::now(),
        });
        // Whoever waits for the place finds the connection.
        drop(place);
    }
}

impl Deref for ServerConnection {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.connection
    }
}

impl DerefMut for ServerConnection {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.connection
    }
}
