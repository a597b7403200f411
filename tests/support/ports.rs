//! Free ports of the loopback interface.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range that the kernel hands out by itself, so that a port stays free while its server is down.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port that nobody listens on now and that no outgoing connection will take by chance.
pub(crate) fn free() -> u16 {
    // Processes begin at places far from each other, so two test binaries seldom ask for the same port.
    let start = (std::process::id().wrapping_mul(7919) % u32::from(COUNT)) as u16;
    (0..COUNT)
        .map(|_| FIRST + start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .find(|&port| TcpListener::bind(loopback(port)).is_ok())
        .expect("one of ten thousand ports is free")
}

/// The address of `port` on this machine alone.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
