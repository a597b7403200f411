//! Ends a connection whose client does not take its answer.
//!
//! Without this, a client that never reads would keep its connection and its answer for ever, and a
//! thousand of them would keep everyone else out. A client may pause for so long, and may take so
//! long over a whole answer; both have a limit.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::admission::Unsent;
use super::connections::Activity;

/// The answer that is on its way over a connection, if there is one. Cheap to clone.
#[derive(Clone)]
pub(super) struct Sending(Arc<Mutex<State>>);

struct State {
    activity: Activity,
    /// When the client must have taken the answer.
    deadline: Option<Instant>,
    /// The memory of the answer.
    unsent: Option<Unsent>,
    /// Whether all of the answer has been handed to the connection.
    is_whole: bool,
}

impl Sending {
    pub(super) fn new(activity: Activity) -> Self {
        Self(Arc::new(Mutex::new(State {
            activity,
            deadline: None,
            unsent: None,
            is_whole: false,
        })))
    }

    /// A request has arrived.
    pub(super) fn request(&self) {
        let mut state = self.lock();
        state.activity.begin();
        state.is_whole = false;
    }

    /// An answer is ready, which the client must have taken after `limit`.
    pub(super) fn answer(&self, limit: Duration, unsent: Option<Unsent>) {
        let mut state = self.lock();
        state.deadline = Some(Instant::now() + limit);
        state.unsent = unsent;
    }

    /// The connection has all of the answer.
    pub(super) fn whole(&self) {
        self.lock().is_whole = true;
    }

    fn deadline(&self) -> Option<Instant> {
        self.lock().deadline
    }

    /// Nothing is left to be written. If that was all of an answer, the client has it.
    fn flushed(&self) {
        let mut state = self.lock();
        if state.is_whole {
            state.is_whole = false;
            state.deadline = None;
            state.unsent = None;
            state.activity.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream whose writes fail once they have made no progress for `limit`, or once the answer's own
/// deadline has passed.
pub(super) struct Impatient {
    stream: TcpStream,
    limit: Duration,
    sending: Sending,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    pub(super) fn new(stream: TcpStream, limit: Duration, sending: Sending) -> Self {
        Self {
            stream,
            limit,
            sending,
            stalled: None,
        }
    }

    /// Passes on what a write came to, unless it has waited for too long.
    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let deadline = self.sending.deadline();
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| {
            let limit = Instant::now() + self.limit;
            Box::pin(sleep_until(
                deadline.map_or(limit, |deadline| deadline.min(limit)),
            ))
        });
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.bounded(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called once everything that was handed over is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.sending.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
