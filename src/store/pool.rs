//! The connections to a database server, in a pool that never waits for a dead one.
//!
//! The driver's own pool talks to a connection when it takes it back and when it closes it, and
//! waits for the answer without a limit. Where a network drops packets the system gives up after a
//! quarter of an hour, and that pool is full of dead connections until then. `deadpool` says
//! nothing to a connection but what stands here, and that within limits.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use deadpool::Runtime;
use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, QueueMode, RecycleError, RecycleResult,
};
use futures_util::future::BoxFuture;
use perf_instrument::{TrackedMutex, awaited};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::{PoolUse, StoreError, StoreOptions};

/// Drizzle drops a connection that is idle for 330 s.
const IDLE_LIMIT: Duration = Duration::from_secs(240);
/// A connection that was idle for longer is asked whether it still lives before it is used: an
/// upload's transaction is five statements, and a ping before each would be a sixth round trip.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);
/// A connection that does not answer a ping for so long is dead.
const PING_LIMIT: Duration = Duration::from_secs(1);

/// Connections to one server, opened as they are needed. Cheap to clone.
#[derive(Clone)]
pub(super) struct ServerPool(Pool<Server>);

/// A connection in use. It goes back to the pool with the value, so whoever cannot say what state
/// it is in closes it instead.
pub(super) type ServerConnection = Object<Server>;

/// What is done with a new connection before it is used.
type Prepare = Box<
    dyn for<'c> Fn(&'c mut MySqlConnection) -> BoxFuture<'c, Result<(), sqlx::Error>> + Send + Sync,
>;

/// Opens connections and tells living ones from dead ones.
pub(super) struct Server {
    connect: MySqlConnectOptions,
    prepare: Prepare,
    ping_limit: Duration,
    /// When the connection was last used that was last found dead.
    dead_since: TrackedMutex<Option<Instant>>,
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
    ) -> Result<Self, StoreError> {
        let server = Server {
            connect,
            prepare: Box::new(prepare),
            // Leaves time to connect anew.
            ping_limit: PING_LIMIT.min(options.timeout / 4),
            dead_since: TrackedMutex::new("pool, dead since", None),
        };
        let pool = Pool::builder(server)
            .max_size(usize::try_from(options.connections).unwrap_or(usize::MAX))
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(options.timeout))
            .create_timeout(Some(options.timeout))
            .build();
        pool.map(Self)
            .map_err(|error| StoreError::Other(sqlx::Error::Configuration(error.into())))
    }

    /// A connection that lives, as far as one can know.
    pub(super) async fn acquire(&self) -> Result<ServerConnection, sqlx::Error> {
        awaited!("pool", Box::pin(self.0.get()))
            .await
            .map_err(|error| match error {
                PoolError::Backend(error) => error,
                PoolError::Timeout(_) => sqlx::Error::PoolTimedOut,
                PoolError::Closed
                | PoolError::NoRuntimeSpecified
                | PoolError::PostCreateHook(_) => sqlx::Error::PoolClosed,
            })
    }

    /// Closes idle connections at once, and those in use when they come back.
    pub(super) fn close(&self) {
        self.0.close();
    }

    /// The connections at this moment.
    pub(super) fn usage(&self) -> PoolUse {
        let status = self.0.status();
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        PoolUse {
            open: count(status.size),
            idle: count(status.available.min(status.size)),
            limit: count(status.max_size),
        }
    }
}

/// Closes the connection without a farewell, which the server takes for a rollback.
pub(super) fn close(connection: ServerConnection) {
    drop(Object::take(connection));
}

impl Manager for Server {
    type Type = MySqlConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<MySqlConnection, sqlx::Error> {
        let mut connection = self.connect.connect().await?;
        (self.prepare)(&mut connection).await?;
        Ok(connection)
    }

    async fn recycle(
        &self,
        connection: &mut MySqlConnection,
        metrics: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        let last_used = metrics.recycled.unwrap_or(metrics.created);
        if last_used.elapsed() < TRUSTED_IDLE {
            return Ok(());
        }
        if last_used.elapsed() > IDLE_LIMIT || self.died_with_another(last_used) {
            return Err(RecycleError::message("idle for too long"));
        }
        match tokio::time::timeout(self.ping_limit, connection.ping()).await {
            Ok(Ok(())) => Ok(()),
            _ => {
                self.note_dead(last_used);
                Err(RecycleError::message("does not answer"))
            }
        }
    }
}

impl Server {
    /// Whether a connection has died that was used as late as this one or later: what took it, a
    /// restart or a network, took this one too, and to ask each of a pool takes too long.
    fn died_with_another(&self, last_used: Instant) -> bool {
        let dead = self
            .dead_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        dead.is_some_and(|dead| last_used <= dead)
    }

    fn note_dead(&self, last_used: Instant) {
        tracing::info!("an idle connection died, and so did those that are idle for longer");
        let mut dead = self
            .dead_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *dead = (*dead).max(Some(last_used));
    }
}
