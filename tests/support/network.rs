//! A stretch of network that a test can cut, between the service and its database.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::ports;

/// What the network does with what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Bytes pass.
    Pass,
    /// Connections stay open and new ones are taken, but no byte moves: a cable pulled, a packet filter that drops.
    Blackhole,
    /// Open connections are reset, new ones refused: the host is up, the server is not.
    Refuse,
    /// New connections pass, those of a black hole stay in it: a firewall that was restarted and knows none of them.
    PassNew,
}

/// A TCP proxy on a port of its own in front of `upstream`. It ends when dropped.
pub(crate) struct NetworkGate {
    address: SocketAddr,
    orders: tokio::sync::mpsc::UnboundedSender<Order>,
    keeper: JoinHandle<()>,
}

#[derive(Debug)]
struct Order {
    mode: Mode,
    done: oneshot::Sender<()>,
}

impl NetworkGate {
    /// A gate to `upstream` that lets everything pass.
    ///
    /// # Panics
    /// Where no port can be had.
    pub(crate) async fn start(upstream: SocketAddr) -> Self {
        let address = ports::loopback(ports::free());
        let listener = TcpListener::bind(address)
            .await
            .expect("a free port can be bound");
        let (orders, received) = tokio::sync::mpsc::unbounded_channel();
        let keeper = tokio::spawn(keep(upstream, listener, received));
        Self {
            address,
            orders,
            keeper,
        }
    }

    /// Where the service should connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// `url` with its host and port replaced by the gate's.
    ///
    /// # Panics
    /// Where `url` is no URL with a host.
    pub(crate) fn in_front_of(&self, url: &str) -> String {
        let mut url = url::Url::parse(url).expect("is a URL");
        url.set_ip_host(self.address.ip())
            .expect("a URL with a host takes another");
        url.set_port(Some(self.address.port()))
            .expect("a URL with a host takes a port");
        url.into()
    }

    /// Lets nothing through and says nothing about it.
    pub(crate) async fn blackhole(&self) {
        self.set(Mode::Blackhole).await;
    }

    /// Resets what is open and refuses what is new.
    pub(crate) async fn refuse(&self) {
        self.set(Mode::Refuse).await;
    }

    /// Lets everything through again; what a black hole held back arrives late, as it does on a real network.
    pub(crate) async fn heal(&self) {
        self.set(Mode::Pass).await;
    }

    /// Lets new connections through and none that is open now: they stay dead, and nobody is told.
    pub(crate) async fn heal_for_new_connections(&self) {
        self.set(Mode::PassNew).await;
    }

    /// Returns once the mode holds: once new connections meet it.
    pub(crate) async fn set(&self, mode: Mode) {
        let (done, is_done) = oneshot::channel();
        self.orders
            .send(Order { mode, done })
            .expect("the gate runs until it is dropped");
        is_done.await.expect("the gate carries out every order");
    }
}

impl Drop for NetworkGate {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Owns the listener, as refusing means to have none.
async fn keep(
    upstream: SocketAddr,
    listener: TcpListener,
    mut orders: tokio::sync::mpsc::UnboundedReceiver<Order>,
) {
    let address = listener
        .local_addr()
        .expect("a bound listener has an address");
    let mut listener = Some(listener);
    let (mut mode, _) = watch::channel(Mode::Pass);
    // The modes of connections that nothing but a reset reaches any more.
    let mut lost = Vec::new();
    loop {
        tokio::select! {
            order = orders.recv() => {
                let Some(order) = order else { return };
                listener = match (order.mode, listener.take()) {
                    (Mode::Refuse, _) => None,
                    (_, Some(open)) => Some(open),
                    (_, None) => Some(TcpListener::bind(address).await.expect("the gate's port is still its own")),
                };
                match order.mode {
                    Mode::PassNew => {
                        mode.send_replace(Mode::Blackhole);
                        lost.push(std::mem::replace(&mut mode, watch::channel(Mode::Pass).0));
                    }
                    Mode::Refuse => {
                        lost.clear();
                        mode.send_replace(Mode::Refuse);
                    }
                    Mode::Pass | Mode::Blackhole => {
                        mode.send_replace(order.mode);
                    }
                }
                // The test may be gone already.
                let _ = order.done.send(());
            }
            client = accept(listener.as_ref()) => {
                tokio::spawn(carry(client, upstream, mode.subscribe()));
            }
        }
    }
}

/// The next connection; never, where there is no listener.
async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    let Some(listener) = listener else {
        return std::future::pending().await;
    };
    loop {
        if let Ok((client, _)) = listener.accept().await {
            return client;
        }
    }
}

/// Carries one connection until either side closes it or the network refuses.
async fn carry(mut client: TcpStream, upstream: SocketAddr, mut mode: watch::Receiver<Mode>) {
    let mut refusal = mode.clone();
    tokio::select! {
        _ = exchange(&mut client, upstream, &mut mode) => {}
        // The gate's end, which closes the channel, resets too.
        _ = refusal.wait_for(|&mode| mode == Mode::Refuse) => {
            // A close that throws away what is unsent goes out as a reset.
            let _ = client.set_zero_linger();
        }
    }
}

async fn exchange(
    client: &mut TcpStream,
    upstream: SocketAddr,
    mode: &mut watch::Receiver<Mode>,
) -> io::Result<()> {
    passing(mode).await?;
    let mut server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::select! {
        ended = pump(from_client, to_server, mode.clone()) => ended,
        ended = pump(from_server, to_client, mode.clone()) => ended,
    }
}

/// Copies while the network passes; looks again after each read, so that nothing slips through a fresh cut.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut mode: watch::Receiver<Mode>,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        passing(&mut mode).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..length]).await?;
    }
}

async fn passing(mode: &mut watch::Receiver<Mode>) -> io::Result<()> {
    let passes = mode.wait_for(|&mode| mode == Mode::Pass).await;
    passes
        .map(drop)
        .map_err(|_| io::ErrorKind::ConnectionAborted.into())
}
