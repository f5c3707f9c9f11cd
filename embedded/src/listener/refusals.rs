//! Reports of connections that a server closes at a limit. The server sends such a client nothing.

use core::net::SocketAddr;

use tokio::sync::watch;

use crate::transport::TooManyConnections;

/// A connection that the server closed at once, because of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The address that the connection came from.
    pub peer: SocketAddr,
    /// The limit that is reached.
    pub reason: TooManyConnections,
    /// How many connections the server has refused so far, this one included.
    pub count: u64,
}

/// Reports connections that a server closes at a limit; from
/// [`Server::refusals`](crate::Server::refusals).
#[derive(Clone, Debug)]
pub struct Refusals(pub(super) watch::Receiver<Option<Refusal>>);

impl Refusals {
    /// Waits for a refusal that this has not returned yet, and returns the latest;
    /// [`Refusal::count`] tells how many came in between. Returns `None` once the server has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub async fn next(&mut self) -> Option<Refusal> {
        self.0.changed().await.ok()?;
        *self.0.borrow_and_update()
    }
}

/// The server's side.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(watch::Sender<Option<Refusal>>);

impl RefusalLog {
    pub(super) fn note(&self, peer: SocketAddr, reason: TooManyConnections) {
        self.0.send_modify(|latest| {
            let count = latest.map_or(0, |refusal| refusal.count) + 1;
            *latest = Some(Refusal { peer, reason, count });
        });
    }

    pub(super) fn subscribe(&self) -> Refusals {
        let mut receiver = self.0.subscribe();
        // Refusals before this call are reported too.
        receiver.mark_changed();
        if receiver.borrow().is_none() {
            receiver.mark_unchanged();
        }
        Refusals(receiver)
    }
}
