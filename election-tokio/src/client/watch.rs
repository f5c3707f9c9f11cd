//! Watches that fire once, and watches that stay.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;
use zk_jute::records::{AddWatchRequest, CheckWatchesRequest, EventType, WatcherType};
use zk_jute::{ErrorCode, OpCode, Zxid};
use zk_session::{Completion, WatchMode, Watching};

use super::{Client, PendingCall};
use crate::hub::{CallStage, Hub, StreamItem, WatchKey, WatchOutcome, WatchedChange};
use crate::{Error, ErrorKind};
use election_session::CallerWatch;

/// Fires once, when the watched znode changes. It survives reconnects.
///
/// Dropping it removes the watch, here and, if it is the last one on its path, on the server.
/// Cancel safe: it may be polled, put aside and polled again.
#[derive(Debug)]
#[must_use = "a watch that is dropped is taken down"]
pub struct OneshotWatch(Holder);

/// An event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchEvent {
    /// The kind of change to the znode.
    pub kind: EventType,
    /// The transaction, from servers since 3.9; `None` from older ones, and for a change while the
    /// client was not connected.
    pub zxid: Option<Zxid>,
}

/// A one-shot watch ended without firing, or a persistent watch for good: the session ended, or
/// moved to a server that knows no persistent watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the watch is gone, with its session or because a server does not know it: set another")]
pub struct WatchLost;

/// Sees every change of a znode, or of a whole tree, until it is dropped; made by
/// [`Client::add_watch`]. It survives reconnects. Servers keep no events for a client that is away,
/// so after each reconnect [`WatchUpdate::ChangesMissed`] tells the caller to read again.
///
/// It is also a [`Stream`]. Some thousands of changes may wait here. If the reader is slower, they
/// are replaced by [`WatchUpdate::ChangesMissed`].
///
/// Dropping it removes the watch, here and, if it is the last one on its path, on the server.
#[derive(Debug)]
#[must_use = "a watch that is dropped is taken down"]
pub struct PersistentWatch {
    holder: Holder,
    path: String,
}

/// An update of a [`PersistentWatch`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchUpdate {
    /// A znode changed.
    Changed {
        /// The znode: the watched one or, with a recursive watch, one of its descendants.
        path: String,
        /// The change.
        event: WatchEvent,
    },
    /// Changes may have been missed: there was no connection, or too many changes waited here. The
    /// watch stands, so a read from now on misses nothing.
    ChangesMissed,
}

impl Client {
    /// Watches a znode, or all its descendants too, until the watch is dropped. The znode need not
    /// exist.
    ///
    /// A read after this misses nothing: each later change is reported.
    ///
    /// Cancel safe: no watch is left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] before ZooKeeper 3.6.0.
    pub async fn add_watch(&self, path: &str, mode: WatchMode) -> Result<PersistentWatch, Error> {
        let server_path = self.server_path::<AddWatchRequest<'_>>(path)?;
        let asked = Asked::Persistent(&server_path, mode);
        let (outcome, holder) = self.watching(OpCode::ADD_WATCH, path, asked).await?;
        outcome?;
        Ok(PersistentWatch { holder, path: path.to_owned() })
    }

    /// Returns whether the server holds a watch of this type on a path for this client's
    /// connection. Servers before 3.9 do not distinguish the types, so there it may be a watch of
    /// any type.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] before ZooKeeper 3.5.0; `MarshallingError` for a type that the
    /// server does not know, such as the two persistent ones before 3.9.
    pub async fn check_watches(&self, path: &str, kind: WatcherType) -> Result<bool, Error> {
        let server_path = self.server_path::<CheckWatchesRequest<'_>>(path)?;
        let request = CheckWatchesRequest { path: &server_path, kind };
        match self.call(path, &request).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(ErrorCode::NO_WATCHER) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a request that leaves a watch. If the outcome is an error, it drops and so removes the
    /// watch.
    pub(super) async fn watching(
        &self,
        operation: OpCode,
        path: &str,
        asked: Asked<'_>,
    ) -> Result<(Result<Completion, Error>, Holder), Error> {
        let mut call = PendingCall::new(self.shared(), operation);
        let mut holder: Option<Holder> = None;
        let outcome = poll_fn(|cx| {
            if let CallStage::Sent(_) = call.stage {
                return call.poll_outcome(cx).map(Ok);
            }
            let (slot, (submitted, replaced)) = self.shared().submit(|hub, now| {
                let slot = asked.open(hub);
                let caller = call.caller(cx);
                let submitted =
                    hub.calls.submit_by(&mut hub.host, caller, |host, tag| match asked {
                        Asked::Once(read) => host.submit_watching(now, tag, read, slot),
                        Asked::Persistent(path, mode) => {
                            host.submit_persistent(now, tag, (path, mode), slot)
                        }
                    });
                if !matches!(submitted.0, Poll::Ready(Ok(_))) {
                    hub.watches.close(slot);
                }
                let (submitted, replaced) = submitted;
                (slot, (submitted, replaced))
            });
            drop(replaced);
            match submitted {
                Poll::Ready(Ok(id)) => {
                    call.sent(operation, path);
                    holder = Some(Holder { client: self.clone(), key: slot, id });
                    Poll::Pending
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(call.not_sent(operation, path, error))),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        match (outcome, holder) {
            (Ok(outcome), Some(holder)) => {
                let named = |failure| self.error(operation, path, ErrorKind::of_failure(failure));
                Ok((outcome.map_err(named), holder))
            }
            (Ok(_), None) => Err(Error::new(operation, path, ErrorKind::ConnectionLoss)),
            (Err(kind), _) => Err(Error::new(operation, path, kind)),
        }
    }
}

/// The request for a watch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    Once(Watching<'a>),
    Persistent(&'a str, WatchMode),
}

impl Asked<'_> {
    fn open(self, hub: &mut Hub) -> WatchKey {
        match self {
            Self::Once(_) => hub.watches.open_once(),
            Self::Persistent(..) => hub.watches.open_stream(),
        }
    }
}

/// Keeps a watch up until it is dropped.
#[derive(Debug)]
pub(super) struct Holder {
    client: Client,
    key: WatchKey,
    id: CallerWatch,
}

impl Drop for Holder {
    fn drop(&mut self) {
        let shared = self.client.shared();
        if !shared.look(|hub| (hub.watches.is_alive(self.key), None)) {
            return shared.look(|hub| ((), hub.watches.close(self.key)));
        }
        let waker = shared.with(|hub, now| {
            hub.forget_watch(now, self.id);
            hub.watches.close(self.key)
        });
        drop(waker);
    }
}

impl OneshotWatch {
    pub(super) const fn new(holder: Holder) -> Self {
        Self(holder)
    }
}

impl Future for OneshotWatch {
    type Output = Result<WatchEvent, WatchLost>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Holder { client, key, .. } = &self.0;
        client.shared().look(|hub| hub.watches.poll_once(*key, cx)).map(|outcome| match outcome {
            WatchOutcome::Fired { kind, zxid } => Ok(WatchEvent::new(kind, zxid)),
            WatchOutcome::Lost => Err(WatchLost),
        })
    }
}

impl PersistentWatch {
    /// Returns the watched path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Waits for the next update of the watch. Returns `None` after it has reported the loss.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// [`WatchLost`], once, after everything else.
    pub async fn next(&mut self) -> Option<Result<WatchUpdate, WatchLost>> {
        poll_fn(|cx| self.poll_update(cx)).await
    }

    /// Removes the watch, and waits until the server has confirmed it. If other watches of this
    /// client are on the same path, the server keeps its watch until they are gone too.
    ///
    /// Cancel safe: once polled, nothing is reported any more.
    ///
    /// # Errors
    ///
    /// Those of the connection. Without one the server keeps no watch either.
    pub async fn remove(self) -> Result<(), Error> {
        let Self { holder, path } = self;
        let client = holder.client.clone();
        drop(holder);
        // Replies come in order, so this one comes after the reply to the removal.
        client.check_watches(&path, WatcherType::ANY).await.map(drop)
    }

    fn poll_update(&self, cx: &Context<'_>) -> Poll<Option<Result<WatchUpdate, WatchLost>>> {
        let Holder { client, key, .. } = &self.holder;
        let item = client.shared().look(|hub| hub.watches.poll_stream(*key, cx));
        item.map(|item| {
            Some(match item? {
                StreamItem::Changed(WatchedChange { path, kind, zxid }) => {
                    let path = client.shared().chroot.leave(&path).to_owned();
                    Ok(WatchUpdate::Changed { path, event: WatchEvent::new(kind, zxid) })
                }
                StreamItem::ChangesMissed => Ok(WatchUpdate::ChangesMissed),
                StreamItem::Lost => Err(WatchLost),
            })
        })
    }
}

impl Stream for PersistentWatch {
    type Item = Result<WatchUpdate, WatchLost>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_update(cx)
    }
}

impl WatchEvent {
    fn new(kind: EventType, zxid: Zxid) -> Self {
        Self { kind, zxid: (zxid > Zxid::ZERO).then_some(zxid) }
    }
}
