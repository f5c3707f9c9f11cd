//! The formats of other libraries.

use super::{Downgrade, Format, IdInName, Label, Layout, Revocation};
use crate::access::Access;

const fn exclusive(text: &'static str) -> Label {
    Label { text, access: Access::Exclusive }
}

const fn shared(text: &'static str) -> Label {
    Label { text, access: Access::Shared }
}

/// Makes the layout that most formats share.
const fn plain(start: &'static str, id: IdInName, separator: &'static str) -> Layout {
    Layout {
        start,
        id,
        separator,
        labels: &[],
        downgrade: Downgrade::None,
        revocation: Revocation::None,
        data: None,
        tombstone: None,
        end_mark: None,
    }
}

const CURATOR_LATCH: Layout = Layout {
    labels: &[exclusive("latch-")],
    end_mark: Some("ended"),
    ..plain("_c_", IdInName::Uuid, "-")
};

const CURATOR_LOCK: Layout = Layout {
    labels: &[exclusive("lock-")],
    revocation: Revocation::ByData,
    ..plain("_c_", IdInName::Uuid, "-")
};

const CURATOR_SEMAPHORE: Layout =
    Layout { labels: &[exclusive("lease-")], ..plain("_c_", IdInName::Uuid, "-") };

const CURATOR_READ_WRITE: Layout = Layout {
    labels: &[exclusive("__WRIT__"), shared("__READ__")],
    downgrade: Downgrade::KeepsNumber,
    revocation: Revocation::ByData,
    ..plain("_c_", IdInName::Uuid, "-")
};

const KAZOO: Layout = Layout {
    labels: &[exclusive("__lock__"), shared("__rlock__")],
    revocation: Revocation::ByData,
    ..plain("", IdInName::Hex, "")
};

const GO_ZOOKEEPER: Layout = Layout {
    labels: &[exclusive("lock-"), exclusive("__")],
    revocation: Revocation::ByData,
    ..plain("_c_", IdInName::Hex, "-")
};

const LEADER_ELECTION_SUPPORT: Layout =
    Layout { labels: &[exclusive("n_")], ..plain("", IdInName::None, "") };

const GO_LEADERELECTION: Layout = Layout {
    labels: &[exclusive("le_")],
    tombstone: Some("DONE"),
    ..plain("", IdInName::None, "")
};

const ZK_ELECTION: Layout =
    Layout { labels: &[exclusive("p_")], ..plain("_c_", IdInName::Hex, "-") };

const ZOOKEEPER_WRITE_LOCK: Layout = Layout {
    labels: &[exclusive("-")],
    data: Some(&[0x12, 0x34]),
    ..plain("x-", IdInName::SessionDecimal, "")
};

impl Format {
    /// `_c_<uuid>-latch-#`: Curator's `LeaderLatch`, and the elections of this crate. By convention
    /// its data is the participant's name. Never write to a candidate: a data change uses up the
    /// watch of Curator's waiting participants, which are then never promoted. A leader does so only while
    /// none of them can have one ([`WhenPromoted`](crate::election::WhenPromoted)).
    pub const fn curator_latch() -> Self {
        Self(&CURATOR_LATCH)
    }

    /// `_c_<uuid>-lock-#`: Curator's `InterProcessMutex` and `LeaderSelector`, and the locks of
    /// this crate. Curator lets any other child take part in the order; go-zookeeper's locks may.
    pub const fn curator_lock() -> Self {
        Self(&CURATOR_LOCK)
    }

    /// `_c_<uuid>-lease-#`: the permits of Curator's `InterProcessSemaphoreV2`, and of the
    /// semaphores of this crate. They are below `leases`; [locks](Self::curator_lock) below `locks`
    /// give the turn to take a permit. Curator counts any child as a permit.
    pub const fn curator_semaphore() -> Self {
        Self(&CURATOR_SEMAPHORE)
    }

    /// `_c_<uuid>-__WRIT__#` and `_c_<uuid>-__READ__#`: Curator's `InterProcessReadWriteLock`. A
    /// writer that continues as a reader leaves a reader with its number (CURATOR-621).
    pub const fn curator_read_write() -> Self {
        Self(&CURATOR_READ_WRITE)
    }

    /// `<hex>__lock__#` and `<hex>__rlock__#`: kazoo's `Lock`, `Election`, `WriteLock` and
    /// `ReadLock`. A plain `Lock` of kazoo does not wait for readers, so do not mix it with
    /// `ReadLock`.
    pub const fn kazoo() -> Self {
        Self(&KAZOO)
    }

    /// `_c_<hex>-lock-#`: `Lock` of go-zookeeper, which takes the number after `lock-` or after the last
    /// `__`, and fails for good at any child that has neither.
    pub const fn go_zookeeper() -> Self {
        Self(&GO_ZOOKEEPER)
    }

    /// `n_#`: `LeaderElectionSupport` of ZooKeeper's own recipes, which fails at any other child. Its
    /// data is the participant's host name.
    pub const fn leader_election_support() -> Self {
        Self(&LEADER_ELECTION_SUPPORT)
    }

    /// `le_#`: Comcast's go-leaderelection. A child with `DONE` in its name ends the election; it
    /// takes any other foreign child for a candidate.
    pub const fn go_leaderelection() -> Self {
        Self(&GO_LEADERELECTION)
    }

    /// `_c_<hex>-p_#`: zkElection, at `/election`. It panics at a child without a `-` followed by a `_`.
    pub const fn zk_election() -> Self {
        Self(&ZK_ELECTION)
    }

    /// `x-<session>-#`: `WriteLock` of ZooKeeper's own recipes in Java. The one in C writes the
    /// session in hexadecimal, so each does not recognise its own znode by the other's name.
    pub const fn zookeeper_write_lock() -> Self {
        Self(&ZOOKEEPER_WRITE_LOCK)
    }
}
