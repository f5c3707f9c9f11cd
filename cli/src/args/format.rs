//! Names for the formats of contenders.

use core::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use election_tokio::format::Format;

/// The format of contenders' znodes. Contenders of two formats do not see each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// Curator's `LeaderLatch`, and the elections of `zkelect run` and election-tokio.
    CuratorLatch,
    /// Curator's `InterProcessReadWriteLock`; `Client::lock`, `read_lock` and `write_lock` of election-tokio.
    CuratorReadWrite,
    /// Curator's `InterProcessMutex` and `LeaderSelector`. It cannot be shared.
    CuratorLock,
    /// kazoo's `WriteLock` and `ReadLock`, and, without sharing, `Lock` and `Election`.
    Kazoo,
    /// `Lock` of go-zookeeper. It cannot be shared.
    GoZookeeper,
    /// `LeaderElectionSupport` of ZooKeeper's own recipes.
    LeaderElectionSupport,
    /// Comcast's go-leaderelection.
    #[value(name = "go-leaderelection")]
    GoLeaderElection,
    /// zkElection.
    ZkElection,
    /// `WriteLock` of ZooKeeper's own recipes. It cannot be shared.
    ZookeeperWriteLock,
    /// Curator's `InterProcessSemaphoreV2`; `zkelect semaphore` and `Client::semaphore` of election-tokio.
    CuratorSemaphore,
}

impl FormatName {
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::CuratorLatch => Format::curator_latch(),
            Self::CuratorReadWrite => Format::curator_read_write(),
            Self::CuratorLock => Format::curator_lock(),
            Self::Kazoo => Format::kazoo(),
            Self::GoZookeeper => Format::go_zookeeper(),
            Self::LeaderElectionSupport => Format::leader_election_support(),
            Self::GoLeaderElection => Format::go_leaderelection(),
            Self::ZkElection => Format::zk_election(),
            Self::ZookeeperWriteLock => Format::zookeeper_write_lock(),
            Self::CuratorSemaphore => Format::curator_semaphore(),
        }
    }

    /// Returns what contenders of this format contend for.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::CuratorLatch
            | Self::LeaderElectionSupport
            | Self::GoLeaderElection
            | Self::ZkElection => Kind::Election,
            Self::CuratorReadWrite
            | Self::CuratorLock
            | Self::Kazoo
            | Self::GoZookeeper
            | Self::ZookeeperWriteLock => Kind::Lock,
            Self::CuratorSemaphore => Kind::Semaphore,
        }
    }
}

/// The kind of thing that contenders contend for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Election,
    Lock,
    /// Its znodes are below two children of its node.
    Semaphore,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Election => "election",
            Self::Lock => "lock",
            Self::Semaphore => "semaphore",
        })
    }
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

/// A format that `zkelect lock` holds locks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockFormat(pub(crate) FormatName);

impl LockFormat {
    pub(crate) const DEFAULT: Self = Self(FormatName::CuratorReadWrite);
}

impl ValueEnum for LockFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::DEFAULT,
            Self(FormatName::CuratorLock),
            Self(FormatName::Kazoo),
            Self(FormatName::GoZookeeper),
            Self(FormatName::ZookeeperWriteLock),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        self.0.to_possible_value()
    }
}

impl fmt::Display for LockFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A format that `zkelect run` stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElectionFormat(pub(crate) FormatName);

impl ElectionFormat {
    pub(crate) const DEFAULT: Self = Self(FormatName::CuratorLatch);
}

impl ValueEnum for ElectionFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::DEFAULT,
            Self(FormatName::CuratorLock),
            Self(FormatName::Kazoo),
            Self(FormatName::LeaderElectionSupport),
            Self(FormatName::GoLeaderElection),
            Self(FormatName::ZkElection),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        self.0.to_possible_value()
    }
}

impl fmt::Display for ElectionFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
