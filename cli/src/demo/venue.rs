//! The server that the demo uses.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use zk_embedded::{Config, Server};

use crate::args::{Servers, SessionTimeout};
use crate::failure::Failure;

/// Sessions expire in steps of the tick, so a crash takes hardly longer than the session timeout.
const TICK_TIME: Duration = Duration::from_millis(100);

/// Any free port, reachable from this machine only.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(super) enum Venue {
    /// A server in this process, which ends with the demo.
    Embedded(Server),
    /// Servers of the user.
    Given(Servers),
}

impl Venue {
    /// Uses the given servers, or else starts an embedded one, which grants any session timeout
    /// from two ticks on.
    pub(super) async fn open(given: Option<Servers>) -> Result<Self, Failure> {
        if let Some(servers) = given {
            return Ok(Self::Given(servers));
        }
        let mut config = Config::with_tick_time(TICK_TIME);
        config.session_timeouts = TICK_TIME * 2..=SessionTimeout::MOST;
        // All clients are in this process.
        config.limits.max_client_connections = 0;
        let server = Server::bind_with(ADDRESS, config)
            .await
            .map_err(|error| Failure::Listen { address: ADDRESS, error })?;
        Ok(Self::Embedded(server))
    }

    pub(super) fn servers(&self) -> Servers {
        match self {
            Self::Embedded(server) => server.addr().into(),
            Self::Given(servers) => servers.clone(),
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::Embedded(server) => server.shutdown().await,
            Self::Given(_) => {}
        }
    }

    /// Returns a remark that the reader needs to judge the times.
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::Embedded(_) => Some(format!(
                "The server was the embedded one, in this process: no disk, no network, and ticks \
                 of {} (sessions expire in such steps) where others have 2s or so. To see it on \
                 another: zkelect demo --servers HOST:PORT",
                humantime::format_duration(TICK_TIME)
            )),
            Self::Given(_) => None,
        }
    }
}

impl fmt::Display for Venue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(server) => {
                write!(f, "the embedded ZooKeeper server, in this process, at {}", server.addr())
            }
            Self::Given(servers) => write!(f, "the ZooKeeper servers {servers}"),
        }
    }
}
