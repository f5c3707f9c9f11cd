//! One-shot watches.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use zk_jute::Zxid;
use zk_jute::records::EventType;
use zk_session::WatchId;

use super::Client;
use crate::hub::{WatchKey, WatchOutcome};

/// Fires once, when the watched znode changes; survives reconnects.
///
/// Dropping it takes the watch down. Cancel safe: it may be polled, put aside and polled again.
#[derive(Debug)]
#[must_use = "a watch that is dropped is taken down"]
pub struct OneshotWatch {
    client: Client,
    key: WatchKey,
    id: WatchId,
}

/// What a watch saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// What happened to the znode.
    pub kind: EventType,
    /// The transaction, from servers since 3.9; `None` from older ones, and for a change that
    /// happened while the client was not connected.
    pub zxid: Option<Zxid>,
}

/// The session ended before the watch fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session ended before the watch fired")]
pub struct WatchLost;

impl OneshotWatch {
    pub(super) fn new(client: Client, key: WatchKey, id: WatchId) -> Self {
        Self { client, key, id }
    }
}

impl Future for OneshotWatch {
    type Output = Result<WatchEvent, WatchLost>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.client.shared().look(|hub| hub.watches.poll(self.key, cx)).map(|outcome| match outcome
        {
            WatchOutcome::Fired { kind, zxid } => {
                Ok(WatchEvent { kind, zxid: (zxid > Zxid::ZERO).then_some(zxid) })
            }
            WatchOutcome::Lost => Err(WatchLost),
        })
    }
}

impl Drop for OneshotWatch {
    fn drop(&mut self) {
        self.client.shared().look(|hub| {
            hub.session.forget(self.id);
            ((), hub.watches.close(self.key))
        });
    }
}
