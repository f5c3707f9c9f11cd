//! The state that a member keeps over a crash: the transactions that it logged, and its promises.

use core::fmt;

use zk_embedded::replication::Txn;
use zk_jute::Zxid;

use super::MemberId;

/// The number of a leadership, in the upper half of the zxids of its transactions.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch(u32);

/// A member acknowledges nothing of an epoch older than the newest that it promised, and promises
/// each epoch to one member only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) epoch: Epoch,
    pub(super) to: MemberId,
}

/// How good a log is. Whatever is committed is in the best log of every quorum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Credentials {
    /// The epoch of the leader that the log was last synchronised with.
    epoch: Epoch,
    last: Zxid,
}

/// The transactions that a member has logged, committed or not.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The epoch of the leader whose log this is, as far as it goes.
    epoch: Epoch,
    txns: Vec<Txn>,
}

impl Epoch {
    pub(super) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the zxid before the first transaction of the epoch.
    pub(super) fn beginning(self) -> Zxid {
        Zxid::new(i64::from(self.0) << 32)
    }
}

impl Log {
    pub(super) fn txns(&self) -> &[Txn] {
        &self.txns
    }

    pub(super) fn last(&self) -> Zxid {
        self.txns.last().map_or(Zxid::ZERO, |txn| txn.at.zxid)
    }

    pub(super) fn credentials(&self) -> Credentials {
        Credentials { epoch: self.epoch, last: self.last() }
    }

    /// Returns the transactions after `zxid`.
    pub(super) fn after(&self, zxid: Zxid) -> &[Txn] {
        self.txns.get(self.length_until(zxid)..).unwrap_or_default()
    }

    /// Returns how many transactions are not later than `zxid`.
    pub(super) fn length_until(&self, zxid: Zxid) -> usize {
        self.txns.partition_point(|txn| txn.at.zxid <= zxid)
    }

    pub(super) fn append(&mut self, txn: Txn) {
        assert!(txn.at.zxid > self.last(), "{} after {}", txn.at.zxid, self.last());
        self.txns.push(txn);
    }

    /// Takes over the log of the leader of `epoch`, which agrees with this one up to `common` and
    /// goes on with `txns`.
    pub(super) fn synchronize(&mut self, epoch: Epoch, common: Zxid, txns: Vec<Txn>) {
        assert!(epoch >= self.epoch, "{epoch:?} after {:?}", self.epoch);
        self.txns.truncate(self.length_until(common));
        for txn in txns {
            self.append(txn);
        }
        self.epoch = epoch;
    }

    /// Makes this the log of the leader of `epoch`: its own.
    pub(super) fn begin(&mut self, epoch: Epoch) {
        self.epoch = epoch;
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.0)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, log to {}", self.epoch, self.last)
    }
}
