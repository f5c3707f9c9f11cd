//! The nominee's state over HTTP: for probes, for monitoring, and for clients that look for the
//! leader.
//!
//! The server has a thread of its own, which reads the published state. So no request can delay the
//! nominee, and the server reports a nominee that hangs.

mod pages;
mod server;

use core::net::SocketAddr;
use std::net::TcpListener;
use std::sync::Arc;

use election_tokio::metrics::describe_metrics;
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};

use super::board::Board;
use crate::console;
use crate::failure::Failure;
use pages::Pages;

/// From the time of a request in a data centre to that of a leadership over months.
const SECONDS: &[f64] = &[
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    600.0, 3600.0, 86_400.0,
];

/// A socket that listens; nothing is served yet.
pub(super) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    metrics: PrometheusHandle,
}

impl Bound {
    /// Listens, and begins to measure.
    pub(super) fn to(address: SocketAddr) -> Result<Self, Failure> {
        let listen = |error| Failure::Http { address, error };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let metrics = recorder().map_err(|_| Failure::Internal("metrics cannot be recorded"))?;
        describe_metrics();
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { listener, address, metrics })
    }

    /// Serves the state on the board, for as long as this process lives.
    pub(super) fn serve(self, board: Arc<Board>) -> Result<(), Failure> {
        let pages = Pages::new(board, self.metrics);
        server::start(self.listener, pages).map_err(Failure::system("HTTP cannot be served"))?;
        console::note(format_args!("serves http://{}/", self.address));
        Ok(())
    }
}

fn recorder() -> Result<PrometheusHandle, BuildError> {
    PrometheusBuilder::new().set_buckets(SECONDS)?.install_recorder()
}
