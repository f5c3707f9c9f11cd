//! The formats of locks, by name.

use core::fmt;

use clap::ValueEnum;
use election_tokio::Format;

/// How the znodes of contenders are called. Contenders of two formats do not see each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// Curator's `InterProcessReadWriteLock`; `Client::read_lock` and `write_lock` of election-tokio.
    CuratorReadWrite,
    /// Curator's `InterProcessMutex` and `LeaderSelector`; `Client::lock` of election-tokio. Nothing is
    /// shared.
    CuratorLock,
    /// kazoo's `WriteLock` and `ReadLock`, and, as long as nothing is shared, `Lock` and `Election`.
    Kazoo,
    /// `Lock` of go-zookeeper. Nothing is shared.
    GoZookeeper,
}

impl FormatName {
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::CuratorReadWrite => Format::curator_read_write(),
            Self::CuratorLock => Format::curator_lock(),
            Self::Kazoo => Format::kazoo(),
            Self::GoZookeeper => Format::go_zookeeper(),
        }
    }

    /// Whether there are contenders that share.
    pub(crate) const fn has_readers(self) -> bool {
        match self {
            Self::CuratorReadWrite | Self::Kazoo => true,
            Self::CuratorLock | Self::GoZookeeper => false,
        }
    }
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
