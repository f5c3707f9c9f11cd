//! Queues: taking, claiming and reading items.

use core::fmt;
use core::future::poll_fn;
use core::task::Poll;
use std::sync::Arc;

use bytes::Bytes;
use election_core::queue::{
    Purpose, QueueFormat, SiblingQueue, TakerEnd, TakerFailure, TakerOptions, WhenEmpty,
};
use tokio::time::{Instant, timeout_at};

use super::claimed::Claimed;
use super::error::{ClaimError, TakeError};
use super::item::QueueItem;
use super::kept::Kept;
use super::slot::Said;
use super::taking::Taking;
use crate::Error;
use crate::acl::Acls;
use crate::client::Client;
use crate::error::Place;
use crate::spot::Spot;
use crate::telemetry::recipe_metrics::TakeMeter;
use crate::telemetry::{Asked, OperationSpan};

/// A queue at a path; made by [`Client::queue`]. Items are taken in the order in which they were
/// put.
///
/// Clones share what they remember of the queue, which saves lists, and the items of
/// [dropped](Queue::take) takes.
#[derive(Clone)]
#[must_use = "a queue does nothing until it is asked for something"]
pub struct Queue {
    /// Its data is that of the znodes that claim an item.
    pub(super) spot: Spot,
    pub(super) format: QueueFormat,
    kept: Arc<Kept>,
}

impl Client {
    /// Returns the queue at a path, with the item names of ZooKeeper's guide: `queue-` and a
    /// number. [`Queue::format`] takes those of other libraries.
    pub fn queue(&self, path: &str) -> Queue {
        Queue::new(self.clone(), path, QueueFormat::guide())
    }
}

impl Queue {
    pub(super) fn new(client: Client, path: &str, format: QueueFormat) -> Self {
        Self { spot: Spot::new(client, "queue", path), format, kept: Arc::default() }
    }

    /// Takes the first item, and waits for one while there is none. Lost connections and expired
    /// sessions do not end the wait.
    ///
    /// **At most once**: no other taker gets an item that this returns. The item is deleted before,
    /// so if the taker then fails, no taker does the item: see [`Queue::claim`].
    ///
    /// Cancel safe: dropping the future loses no item. If a deletion is on its way then, the handle
    /// keeps the item, once it is known to be taken, for its next take, or that of a clone. It is
    /// lost with the last of the handles: before that, take until [`Queue::try_take`] finds
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`TakeError::Unknown`] with the item if it is gone, and the reply to its deletion was lost:
    /// this client has taken it, or another one. For the other errors, waiting does not repair
    /// them.
    pub async fn take(&self) -> Result<QueueItem, TakeError> {
        let (meter, mut span) = (TakeMeter::start("take"), self.span("take"));
        loop {
            let taken = span.within(self.take_once(WhenEmpty::Wait)).await;
            if let Some(item) = told((&meter, &mut span), WhenEmpty::Wait, taken)? {
                return Ok(item);
            }
        }
    }

    /// Takes the first item; `None` if there is none. Servers may be behind, so a queue that has
    /// just got an item may look empty. Without a connection this waits for one.
    ///
    /// Cancel safe, as [`Queue::take`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn try_take(&self) -> Result<Option<QueueItem>, TakeError> {
        let (meter, mut span) = (TakeMeter::start("take"), self.span("take"));
        let taken = span.within(self.take_once(WhenEmpty::GiveUp)).await;
        told((&meter, &mut span), WhenEmpty::GiveUp, taken)
    }

    /// Takes the first item, and waits for one until the deadline at most; then returns `None`.
    ///
    /// Cancel safe, as [`Queue::take`]; a deletion on its way at the deadline is handled as if the
    /// future was dropped.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn take_until(&self, deadline: Instant) -> Result<Option<QueueItem>, TakeError> {
        match timeout_at(deadline, self.take()).await {
            Ok(item) => item.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Claims the first item that is not claimed, and waits for one while there is none.
    ///
    /// **At least once**: the item stays in the queue, in its place, until [`Claimed::done`]
    /// deletes it together with the claim. If this client fails before, or its session ends,
    /// another taker gets it next. While the claim stands, a server refuses to delete the item for
    /// any other taker, those of other libraries included; takers of this library pass it over.
    ///
    /// Items of [`Queue::put_ephemeral`] cannot be claimed, and are passed over.
    ///
    /// Cancel safe: the claim is given up.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`], but never [`TakeError::Unknown`].
    pub async fn claim(&self) -> Result<Claimed, TakeError> {
        let (meter, mut span) = (TakeMeter::start("claim"), self.span("claim"));
        loop {
            let claimed = span.within(self.claim_once(WhenEmpty::Wait)).await;
            if let Some(claimed) = told((&meter, &mut span), WhenEmpty::Wait, claimed)? {
                return Ok(claimed);
            }
        }
    }

    /// Claims the first item that is not claimed; `None` if there is none.
    ///
    /// Cancel safe: the claim is given up.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::claim`].
    pub async fn try_claim(&self) -> Result<Option<Claimed>, TakeError> {
        let (meter, mut span) = (TakeMeter::start("claim"), self.span("claim"));
        let claimed = span.within(self.claim_once(WhenEmpty::GiveUp)).await;
        told((&meter, &mut span), WhenEmpty::GiveUp, claimed)
    }

    /// Claims the first item, runs `work` on it, and then deletes it: at least once, as
    /// [`Queue::claim`].
    ///
    /// If `work` fails, the item is given back, in its place, before its error is returned. If the
    /// claim is lost meanwhile, `work` goes on: [`Claimed::lost`] reports the loss only if `work`
    /// calls it, and another taker may do the item at the same time.
    ///
    /// Cancel safe if `work` is: the item is given back.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::claim`]; that of `work` inside; and [`ClaimError`] if the item was done,
    /// but is still in the queue, or was done by another taker, too.
    pub async fn take_with<T, E>(
        &self,
        work: impl AsyncFnOnce(&mut Claimed) -> Result<T, E>,
    ) -> Result<Result<(T, Result<(), ClaimError>), E>, TakeError> {
        let mut claimed = self.claim().await?;
        Ok(match work(&mut claimed).await {
            Ok(output) => Ok((output, claimed.done().await)),
            Err(error) => {
                // Lost or given back, it is in its place.
                let _ = claimed.give_back().await;
                Err(error)
            }
        })
    }

    /// Reads the first item that is not claimed, and leaves it there; `None` if there is none.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`], but never [`TakeError::Unknown`].
    pub async fn peek(&self) -> Result<Option<QueueItem>, TakeError> {
        let mut taking = self.begin(Purpose::Peek, WhenEmpty::GiveUp)?;
        match poll_fn(|cx| taking.poll(cx)).await {
            Said::Ended(TakerEnd::Peeked(item)) => Ok(Some(QueueItem::of(item))),
            said => said.outcome(|| self.place("peek")),
        }
    }

    /// Counts the items, claimed ones included, by one list of them all.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`]. Without a queue node the queue is empty.
    pub async fn len(&self) -> Result<usize, Error> {
        match self.spot.client.get_children(&self.spot.path).await {
            Ok(names) => Ok(names.iter().filter(|name| self.format.item(name).is_some()).count()),
            Err(error) if error.is_no_node() => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the queue has no items, by [`Queue::len`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::len`].
    pub async fn is_empty(&self) -> Result<bool, Error> {
        self.len().await.map(|len| len == 0)
    }

    pub(super) fn span(&self, operation: &'static str) -> OperationSpan {
        self.spot.span(Asked::Queue, operation)
    }

    pub(super) fn place(&self, step: &'static str) -> Place {
        self.spot.place(step)
    }

    async fn take_once(&self, when_empty: WhenEmpty) -> Result<Option<QueueItem>, TakeError> {
        if let Some(kept) = self.kept.pop() {
            return kept.map(Some);
        }
        let mut taking = self.begin(Purpose::Take, when_empty)?;
        poll_fn(|cx| match self.kept.poll(taking.number(), cx) {
            Poll::Ready(kept) => Poll::Ready(kept.map(Some)),
            Poll::Pending => taking.poll(cx).map(|said| said.outcome(|| self.place("take"))),
        })
        .await
    }

    async fn claim_once(&self, when_empty: WhenEmpty) -> Result<Option<Claimed>, TakeError> {
        let mut taking = self.begin(Purpose::Claim, when_empty)?;
        match poll_fn(|cx| taking.poll(cx)).await {
            Said::Claimed(item) => Ok(Some(Claimed::new(item, taking))),
            // Its session ended before the caller was told.
            Said::Ended(TakerEnd::ClaimLost | TakerEnd::Withdrawn) => Ok(None),
            said => said.outcome(|| self.place("claim")).map(|_| None),
        }
    }

    fn begin(&self, purpose: Purpose, when_empty: WhenEmpty) -> Result<Taking, TakeError> {
        let step = match purpose {
            Purpose::Take => "take",
            Purpose::Claim => "claim",
            Purpose::Peek => "peek",
        };
        let Spot { client, path, .. } = &self.spot;
        let site = Arc::clone(self.spot.site(step)?);
        // Its claims are beside the items, do not prevent deletions, and are not in the list.
        if self.format == QueueFormat::kazoo() && path.ends_with("/entries") {
            let failure = TakerFailure::Sibling(SiblingQueue::KazooLocking);
            return Err(TakeError::Failed { at: self.place(step), failure });
        }
        let failed = |error| TakeError::Randomness { at: self.place(step), error };
        let id = client.shared().ids.nominee().map_err(failed)?;
        let options = TakerOptions { format: self.format, purpose, when_empty };
        Ok(Taking::begin(client, site, (id, options), &self.kept))
    }
}

/// Settings.
impl Queue {
    /// Sets the format of the items' names (default: [`QueueFormat::guide`]). In a format with
    /// priorities this puts items with priority 0: [`Client::priority_queue`] puts them with
    /// others.
    ///
    /// A take fails with [`TakerFailure::Sibling`] if the path has items of another queue; a put
    /// does not check that. Items of [`QueueFormat::kazoo`] at `…/entries` go to kazoo's
    /// `LockingQueue`: they can be put, and not taken.
    pub fn format(mut self, format: QueueFormat) -> Self {
        (self.format, self.kept) = (format, Arc::default());
        self
    }

    /// Sets the access list of the items, of claims, and of the queue's node and its ancestors if
    /// they have to be created (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }

    /// Sets the data of the znodes that claim an item: by convention the name of the taker.
    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.spot.set_data(data.into());
        self
    }
}

/// Reports the outcome of a take. A take that waits goes on if it has found nothing.
fn told<T>(
    (meter, span): (&TakeMeter, &mut OperationSpan),
    when_empty: WhenEmpty,
    taken: Result<Option<T>, TakeError>,
) -> Result<Option<T>, TakeError> {
    let outcome = match (&taken, when_empty) {
        (Ok(Some(_)), _) => {
            meter.got();
            span.finished("got");
            return taken;
        }
        (Ok(None), WhenEmpty::GiveUp) => "empty",
        (Ok(None), WhenEmpty::Wait) => return taken,
        (Err(TakeError::Unknown(_)), _) => "unknown",
        (Err(_), _) => "failed",
    };
    meter.ended(outcome);
    span.finished(outcome);
    taken
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spot: Spot { path, .. }, format, .. } = self;
        f.debug_struct("Queue").field("path", path).field("format", format).finish_non_exhaustive()
    }
}
