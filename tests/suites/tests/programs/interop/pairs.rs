//! Which recipes of other libraries contend with which of ours.

use zk_tests::contender::Rule;

use crate::interop::programs::Program::{self, Curator, Go, Kazoo, Ours, ZooKeeper};

/// The thing that two libraries contend for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Its name in the summary.
    pub(super) name: &'static str,
    /// This library's.
    pub(super) ours: Program,
    /// The other one's.
    pub(super) peer: Program,
    /// Which of them may hold at once.
    pub(super) rule: Rule,
    /// Whether some ask to share.
    pub(super) readers: Readers,
}

/// Whether some ask to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    /// Two thirds.
    Some,
    /// None.
    None,
}

impl Pair {
    const fn exclusive(name: &'static str, ours: Program, peer: Program) -> Self {
        Self { name, ours, peer, rule: Rule::Lock, readers: Readers::None }
    }

    const fn shared(name: &'static str, ours: Program, peer: Program) -> Self {
        Self { readers: Readers::Some, ..Self::exclusive(name, ours, peer) }
    }
}

pub(super) const CURATOR: &[Pair] = &[
    Pair::exclusive(
        "Curator's LeaderLatch",
        Ours("election", "curator_latch"),
        Curator("leader_latch", "1"),
    ),
    Pair::exclusive(
        "Curator's LeaderSelector",
        Ours("election", "curator_lock"),
        Curator("leader_selector", "1"),
    ),
    Pair::exclusive(
        "Curator's InterProcessMutex",
        Ours("lock", "curator_lock"),
        Curator("mutex", "1"),
    ),
    Pair::exclusive(
        "Curator's InterProcessMultiLock",
        Ours("locks", "curator_lock"),
        Curator("multi_lock", "1"),
    ),
    Pair::shared(
        "Curator's InterProcessReadWriteLock",
        Ours("read_write_lock", "curator_read_write"),
        Curator("read_write_lock", "1"),
    ),
    Pair {
        rule: Rule::Permits(2),
        ..Pair::exclusive(
            "Curator's InterProcessSemaphoreV2",
            Ours("semaphore", "2"),
            Curator("semaphore", "2"),
        )
    },
];

pub(super) const ZOOKEEPER: &[Pair] = &[
    Pair::exclusive(
        "ZooKeeper's LeaderElectionSupport",
        Ours("election", "leader_election_support"),
        ZooKeeper("leader_election_support"),
    ),
    Pair::exclusive(
        "ZooKeeper's WriteLock",
        Ours("lock", "zookeeper_write_lock"),
        ZooKeeper("write_lock"),
    ),
];

pub(super) const KAZOO: &[Pair] = &[
    Pair::exclusive("kazoo's Election", Ours("election", "kazoo"), Kazoo("election")),
    Pair::exclusive("kazoo's Lock", Ours("lock", "kazoo"), Kazoo("lock")),
    Pair::shared(
        "kazoo's ReadLock and WriteLock",
        Ours("read_write_lock", "kazoo"),
        Kazoo("read_write_lock"),
    ),
];

pub(super) const GO: &[Pair] =
    &[Pair::exclusive("go-zookeeper's Lock", Ours("lock", "go_zookeeper"), Go)];

/// Its holders can be asked to let go.
pub(super) const REVOCABLE: Pair = Pair::exclusive(
    "Curator's Revoker",
    Ours("lock", "curator_lock"),
    Curator("revocable_mutex", "1"),
);

/// Its writers can go on as readers.
pub(super) const WITH_DOWNGRADE: Pair = Pair::shared(
    "a writer that becomes a reader, beside Curator's InterProcessReadWriteLock",
    Ours("read_write_lock", "curator_read_write"),
    Curator("read_write_lock", "1"),
);
