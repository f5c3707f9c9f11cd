//! Until when a session lives for sure that no lease is kept for.

use core::cell::Cell;

use election_tokio::{Client, ConnectionState};
use tokio::time::Instant;

/// Remembers when the session was last known to be connected.
///
/// A client that hears nothing gives its connection up after two thirds of the session timeout, so while
/// it is connected the last third lies ahead. A server that is cut off from its ensemble answers all the
/// same: this is no lease.
pub(crate) struct Contact {
    client: Client,
    until: Cell<Option<Instant>>,
}

impl Contact {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), until: Cell::new(None) }
    }

    /// `None` if that has passed.
    pub(crate) fn valid_until(&self) -> Option<Instant> {
        let now = Instant::now();
        if let ConnectionState::Connected { timeout, .. } = self.client.connection_state() {
            self.until.set(now.checked_add(timeout / 3));
        }
        self.until.get().filter(|until| *until > now)
    }
}
