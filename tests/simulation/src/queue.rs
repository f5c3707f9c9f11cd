//! The queues of a run: elections, and the locks beside them. Each has its node, and the resource that
//! its leaders or holders write to.

use core::fmt;

use election_core::format::Access;

/// One of the elections, or of the locks, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue(u8);

/// The thing that a queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// To lead.
    Election,
    /// To hold alone.
    Lock,
    /// To hold alone, or together with other readers.
    SharedLock,
    /// To hold one of [`PERMITS`].
    Semaphore,
    /// The turn of a contender for a permit: not queued for by itself.
    Turn,
}

/// How many permits a semaphore has.
pub(super) const PERMITS: usize = 2;

impl Queue {
    pub(super) const FIRST: Self = Self(0);

    /// All elections that a run may have.
    pub(super) const ELECTIONS: [Self; 3] = [Self(0), Self(1), Self(2)];

    /// The locks of a run that has any, and its semaphore.
    pub(super) const LOCKS: [Self; 3] = [Self(3), Self(4), Self::SEMAPHORE];

    /// The semaphore, by the node of its permits.
    pub(super) const SEMAPHORE: Self = Self(5);

    /// The turns of its contenders.
    pub(super) const TURNS: Self = Self(6);

    pub(super) const ALL: [Self; 7] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self::SEMAPHORE, Self::TURNS];

    /// Returns the election of this number, or the one that stands in for it among so many.
    pub(super) fn election(number: u8, of: u8) -> Self {
        Self(number % of.clamp(1, 3))
    }

    /// Returns the lock of this number, or the one that stands in for it.
    pub(super) fn lock(number: u8) -> Self {
        let [first, second, third] = Self::LOCKS;
        match number % 3 {
            0 => first,
            1 => second,
            _ => third,
        }
    }

    /// Returns the queue of this [number](Self::number).
    pub(super) fn numbered(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::FIRST)
    }

    pub(super) const fn number(self) -> u8 {
        self.0
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(super) const fn kind(self) -> Kind {
        match self.0 {
            3 => Kind::Lock,
            4 => Kind::SharedLock,
            5 => Kind::Semaphore,
            6 => Kind::Turn,
            _ => Kind::Election,
        }
    }

    /// Returns the path of the node in which those that queue have their znodes.
    pub(super) const fn node(self) -> &'static str {
        match self.0 {
            0 => "/election",
            1 => "/election-2",
            2 => "/election-3",
            3 => "/lock",
            4 => "/shared-lock",
            5 => "/semaphore/leases",
            _ => "/semaphore/locks",
        }
    }

    /// Returns the path of the recipe that queues in it.
    pub(super) const fn site(self) -> &'static str {
        match self.kind() {
            Kind::Semaphore | Kind::Turn => "/semaphore",
            Kind::Election | Kind::Lock | Kind::SharedLock => self.node(),
        }
    }

    /// Returns the znode that leaders and exclusive holders write to, under the guard of their own
    /// znode.
    pub(super) const fn resource(self) -> &'static str {
        match self.0 {
            0 => "/resource",
            1 => "/resource-2",
            2 => "/resource-3",
            3 => "/resource-lock",
            4 => "/resource-shared-lock",
            5 => "/resource-semaphore",
            _ => "/resource-turns",
        }
    }

    /// Returns the znode that leaders of an election write to, under a check of their epoch.
    pub(super) const fn register(self) -> &'static str {
        match self.0 {
            0 => "/register",
            1 => "/register-2",
            _ => "/register-3",
        }
    }

    /// Returns the path of a child of the node.
    pub(super) fn child(self, name: impl fmt::Display) -> String {
        format!("{}/{name}", self.node())
    }
}

impl Kind {
    /// Returns the accesses that a contender can ask for.
    pub(super) const fn accesses(self) -> &'static [Access] {
        match self {
            Self::Election | Self::Lock | Self::Semaphore | Self::Turn => &[Access::Exclusive],
            Self::SharedLock => &[Access::Exclusive, Access::Shared, Access::Shared],
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.node())
    }
}
