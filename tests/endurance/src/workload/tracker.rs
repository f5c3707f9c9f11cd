//! The states of a client's connection.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use election_tokio::{Client, ConnectionState, SessionId};
use zk_test_kit::election::LASTING;

/// How long a client's session outlives its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Longer than any fault.
    Lasting,
    /// Not as long as the ensemble is without a quorum.
    Brief,
}

impl Patience {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Lasting, Self::Brief];

    /// Returns the session timeout.
    pub const fn session_timeout(self) -> Duration {
        match self {
            Self::Lasting => LASTING,
            Self::Brief => Duration::from_secs(2),
        }
    }
}

/// The fate of one client's connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections {
    /// The client's name.
    pub client: String,
    /// How long its sessions live.
    pub patience: Patience,
    /// How often it was connected again, in the same session or in a new one; at least, since
    /// what passes within no time may not be seen.
    pub reconnects: u64,
    /// How many sessions it lost.
    pub expiries: u64,
}

/// Follows the state of one client's connection, for as long as there is the client.
#[derive(Debug)]
pub(super) struct Tracker(Mutex<Seen>);

#[derive(Debug)]
struct Seen {
    connections: Connections,
    session: Option<SessionId>,
    connected: bool,
}

impl Tracker {
    pub(super) fn follow(client: &Client, patience: Patience, name: &str) -> Arc<Self> {
        let connections =
            Connections { client: name.to_owned(), patience, reconnects: 0, expiries: 0 };
        // The first connection is none *again*.
        let seen = Seen { connections, session: None, connected: true };
        let tracker = Arc::new(Self(Mutex::new(seen)));
        let mut states = client.connection_updates();
        tracker.see(&states.latest_and_update());
        let follower = Arc::clone(&tracker);
        tokio::spawn(async move {
            while let Some(state) = states.next().await {
                follower.see(&state);
            }
        });
        tracker
    }

    pub(super) fn connections(&self) -> Connections {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).connections.clone()
    }

    fn see(&self, state: &ConnectionState) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            ConnectionState::Connected { session, .. } => {
                let before = seen.session.replace(*session);
                if before.is_some_and(|before| before != *session) {
                    seen.connections.expiries += 1;
                }
                if !core::mem::replace(&mut seen.connected, true) {
                    seen.connections.reconnects += 1;
                }
            }
            ConnectionState::Suspended { .. } | ConnectionState::Closed { .. } => {
                seen.connected = false;
            }
            _ => {
                seen.connected = false;
                if seen.session.take().is_some() {
                    seen.connections.expiries += 1;
                }
            }
        }
    }
}
