//! A holding: a leadership or a lock, held by a znode while the lease is proved.

mod tenure;
mod transaction;

use core::fmt;
use core::future::Future;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;

use election_core::Token;
use tokio::time::Instant;
use zk_jute::Escaped;

pub(crate) use tenure::{Ends, Tenure};
pub(crate) use transaction::Guard;
pub use transaction::GuardedTransaction;

use crate::client::{Client, TransactionError};

/// A holding that is lost for a reason of this type.
#[derive(Clone, Debug)]
pub(crate) struct Held<R> {
    pub(crate) client: Client,
    /// The path of the znode, as the client calls it.
    pub(crate) path: String,
    pub(crate) guard: Guard,
    pub(crate) tenure: Arc<Tenure<R>>,
}

impl<R: Copy + Send + Sync + fmt::Debug + 'static> Held<R> {
    /// Continues the holding by another znode beside the former one.
    pub(crate) fn by(self, tenure: Arc<Tenure<R>>) -> Self {
        let Self { client, path, guard, tenure: former } = self;
        let parent = path.strip_suffix(&*former.znode.text()).unwrap_or_default();
        Self { client, path: format!("{parent}{}", tenure.znode), guard, tenure }
    }

    /// Returns the path that its znode is a child of.
    pub(crate) fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("/", |(parent, _)| parent)
    }

    /// Shows its znode, its token and whether it is held, for `Debug` of the holder with this name.
    pub(crate) fn show(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(name);
        shown.field("znode", &format_args!("{}", Escaped(&self.path)));
        shown.field("token", &format_args!("{}", self.tenure.token));
        match self.tenure.lost() {
            Some(reason) => shown.field("lost", &reason).finish(),
            None => shown.field("is_valid", &self.is_valid()).finish(),
        }
    }

    /// Returns whether it is held. It reads the clock first, and takes no lock.
    pub(crate) fn is_valid(&self) -> bool {
        self.client.shared().covers(|| self.tenure.lost().is_some())
    }

    /// Returns the lease deadline, on tokio's clock; `None` if it has passed, or the holding is
    /// over.
    pub(crate) fn valid_until(&self) -> Option<Instant> {
        let shared = self.client.shared();
        shared.clock.notice_sleep();
        let deadline = shared.lease_deadline()?;
        (shared.clock.now() < deadline && self.tenure.lost().is_none())
            .then(|| shared.clock.to_tokio(deadline))
    }

    /// Returns the time to the lease deadline.
    pub(crate) fn remaining(&self) -> Duration {
        let shared = self.client.shared();
        shared.clock.notice_sleep();
        match (shared.lease_deadline(), self.tenure.lost()) {
            (Some(deadline), None) => deadline.saturating_since(shared.clock.now()),
            (None, _) | (_, Some(_)) => Duration::ZERO,
        }
    }

    /// Waits until it is over. Cancel safe.
    pub(crate) async fn lost(&self) -> R {
        self.tenure.until_lost().await
    }

    /// Runs `work` until this is over.
    pub(crate) async fn guard<F: Future>(&self, work: F) -> Result<F::Output, R> {
        let mut work = pin!(work);
        let mut lost = pin!(self.lost());
        core::future::poll_fn(|cx| {
            self.notice_lapse();
            if let Poll::Ready(reason) = lost.as_mut().poll(cx) {
                return Poll::Ready(Err(reason));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Ends it if its lease has lapsed: the driver may not have handled that yet.
    pub(crate) fn notice_lapse(&self) {
        if self.tenure.lost().is_none() && !self.client.shared().holds_lease() {
            self.client.shared().check_lease();
        }
    }

    /// Starts a transaction that is applied only while the znode stands; where the names of the
    /// format recur, it is refused.
    pub(crate) fn transaction(&self) -> GuardedTransaction {
        self.guarded(self.guard)
    }

    /// Returns the path of the znode, and what ends with it.
    fn check(&self) -> (&str, Arc<dyn Ends>) {
        (&self.path, self.tenure.clone())
    }

    /// Starts a transaction of this client that is applied only while the znodes of all these holdings stand;
    /// where the names of a format recur, it is refused.
    pub(crate) fn transaction_of_all<'h>(
        client: &Client,
        held: impl Iterator<Item = &'h Self> + Clone,
    ) -> GuardedTransaction {
        let recurs = held.clone().any(|held| held.guard == Guard::Nothing);
        let guard = if recurs { Guard::Nothing } else { Guard::Name };
        GuardedTransaction::new(client, held.map(Self::check).collect(), guard)
    }

    /// Starts a transaction that is applied only while a znode with the name of the holder's stands.
    /// Where names recur, that may be another's: something else has to guard the transaction.
    pub(crate) fn transaction_by_name(&self) -> GuardedTransaction {
        self.guarded(Guard::Name)
    }

    fn guarded(&self, guard: Guard) -> GuardedTransaction {
        GuardedTransaction::new(&self.client, vec![self.check()], guard)
    }

    /// Asks the ensemble whether it is held. Where names recur, the znode is read behind what a
    /// quorum has committed: the one with the holder's token has stood until then.
    pub(crate) async fn confirm(&self) -> Result<(), TransactionError> {
        self.transaction_by_name().commit().await?;
        match self.guard {
            Guard::Name => Ok(()),
            Guard::Nothing => match self.client.exists(&self.path).await? {
                Some(stat) if Token::new(stat.czxid.get()) == self.tenure.token => Ok(()),
                _ => Err(TransactionError::NotHeld),
            },
        }
    }
}
