//! What the integration tests stand on: databases in containers, cuts in the network, the service itself.
//!
//! | to | use |
//! | --- | --- |
//! | run one case against every database | [`harness`] |
//! | have a database that may be killed | [`databases::Database`] |
//! | have a server that speaks like Drizzle | [`text_gate::TextGate`] |
//! | fill one series with many runs | [`long_series`] |
//! | cut the network to a database | [`network::NetworkGate`] |
//! | start the service and call it | [`service::Service`] |
//!
//! Nothing here skips: where the container engine or an image is missing, the test fails and says what to run.

#![allow(
    dead_code,
    reason = "each test binary compiles this module and uses its own part"
)]

pub(crate) mod databases;
pub(crate) mod engine;
pub(crate) mod harness;
pub(crate) mod images;
pub(crate) mod long_series;
pub(crate) mod network;
pub(crate) mod ports;
pub(crate) mod service;
pub(crate) mod text_gate;
pub(crate) mod wait;
