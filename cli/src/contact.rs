//! How long a session without a lease is sure to live.

use core::cell::Cell;

use election_tokio::{Client, ConnectionState};
use tokio::time::Instant;

/// Remembers when the session was last known to be connected.
///
/// A client that hears nothing gives its connection up after two thirds of the session timeout, so
/// while it is connected the last third lies ahead (docs/protocol.md#sessions-and-time). This is no
/// lease: a server that is cut off from its ensemble still answers.
pub(crate) struct Contact {
    client: Client,
    until: Cell<Option<Instant>>,
}

impl Contact {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), until: Cell::new(None) }
    }

    /// Returns the end of that time; `None` if it has passed.
    pub(crate) fn valid_until(&self) -> Option<Instant> {
        let now = Instant::now();
        if let ConnectionState::Connected { timeout, .. } = self.client.connection_state() {
            self.until.set(now.checked_add(timeout / 3));
        }
        self.until.get().filter(|until| *until > now)
    }
}
