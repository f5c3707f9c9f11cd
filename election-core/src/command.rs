//! Commands of recipes.
//!
//! Commands name znodes relative to one node, the recipe's. The driver knows its path, the access
//! list, and the user's data. The enums are exhaustive on purpose: a driver executes every command,
//! so another recipe needs no other driver.

use core::time::Duration;

use crate::format::CandidatePrefix;
use crate::id::Version;
use crate::name::Name;
use crate::outcome::Notice;
use crate::site_name::SiteName;
use crate::ticket::Ticket;

/// The result of one event.
///
/// It borrows the recipe, so the next event cannot be fed before the driver has read it. Pass the
/// notice on before executing the command.
#[must_use = "a command that is not carried out leaves the recipe waiting"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a, N = Notice> {
    /// The command, if there is one.
    pub command: Option<Command<'a>>,
    /// The change for the user, if there is one.
    pub notice: Option<N>,
}

/// A command to the driver, to be executed once; the driver must never repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// The ticket, to be returned with the reply.
    pub ticket: Ticket,
    /// The request.
    pub op: Op<'a>,
}

/// A request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "without an allocator a multi cannot be boxed")]
pub enum Op<'a> {
    /// Create a znode. Answered by [`Reply::Created`](crate::Reply::Created).
    Create(Create<'a>),
    /// Create the recipe's node, and its missing ancestors; existing nodes stay as they are.
    /// Answered by [`Reply::NodeCreated`](crate::Reply::NodeCreated), by
    /// [`Failure::NoChroot`](crate::Failure::NoChroot) if the client's chroot does not exist, or by
    /// [`Failure::NoNode`](crate::Failure::NoNode) if an ancestor was deleted at that moment.
    CreateNode,
    /// Have a quorum commit a transaction that changes nothing. The next list on this connection
    /// then shows everything that the ensemble had committed before. It can be a `multi` with a
    /// `check` of the recipe's node. Answered by
    /// [`Reply::BarrierPassed`](crate::Reply::BarrierPassed), whatever the outcome of the check: a
    /// refused one is committed too.
    ///
    /// A `sync` is no barrier: a leader that was deposed unawares answers it without a quorum.
    Barrier,
    /// List the children of a znode. Answered by [`Reply::Children`](crate::Reply::Children).
    List {
        /// The parent.
        parent: Znode<'a>,
        /// The watch to leave on the list of children. The server leaves it if the parent exists.
        watch: Watch,
    },
    /// Read a znode with `getData`. Answered by [`Reply::Read`](crate::Reply::Read).
    Read {
        /// The znode.
        znode: Znode<'a>,
        /// The watch to leave on the znode. The server leaves it if the znode exists.
        watch: Watch,
    },
    /// Check whether a znode exists. Answered by [`Reply::Exists`](crate::Reply::Exists) or
    /// [`Failure::NoNode`](crate::Failure::NoNode).
    Exists {
        /// The znode.
        znode: Znode<'a>,
        /// The watch to leave on the znode, even if the znode does not exist.
        watch: Watch,
    },
    /// Replace the data of a znode. Answered by [`Reply::Written`](crate::Reply::Written).
    Write(Write<'a>),
    /// Delete a znode. Answered by [`Reply::Deleted`](crate::Reply::Deleted).
    Delete(Delete<'a>),
    /// Apply all parts in one transaction, or none. Answered by
    /// [`Reply::Committed`](crate::Reply::Committed) or
    /// [`Failure::Aborted`](crate::Failure::Aborted).
    Multi(Multi<'a>),
}

/// A znode, named relative to the recipe's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Znode<'a> {
    /// The recipe's node.
    Node,
    /// A sibling of the node. Its name is that of the node with this suffix. The root of a client
    /// with a chroot has none within the chroot; a driver refuses the command there.
    Sibling(&'a str),
    /// A child of the node.
    Child(Name<'a>),
    /// A child of a child.
    Grandchild {
        /// The child of the node.
        child: &'a str,
        /// The name below it.
        name: Name<'a>,
    },
}

impl<'a> Znode<'a> {
    /// Returns the child of the node with this name.
    pub const fn child(name: &'a str) -> Self {
        Self::Child(Name::Text(name))
    }
}

/// The name of a znode that is to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewZnode<'a> {
    /// This name; in a sequential mode the server appends a number to it.
    Named(Znode<'a>),
    /// A child of the node. Its name is this prefix, and what the server appends.
    Child(CandidatePrefix),
    /// A child of a child, named in the same way.
    Grandchild {
        /// The child of the node.
        child: &'a str,
        /// The beginning of the name below it.
        prefix: CandidatePrefix,
    },
}

/// Creates a znode, with the user's access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Create<'a> {
    /// The znode.
    pub znode: NewZnode<'a>,
    /// Its kind.
    pub mode: CreateMode,
    /// Its data.
    pub data: Payload<'a>,
}

/// The kind of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CreateMode {
    /// It stays until it is deleted.
    Persistent,
    /// Persistent, with a number appended to its name.
    PersistentSequential,
    /// It goes with the session.
    Ephemeral,
    /// Ephemeral, with a number appended to its name.
    EphemeralSequential,
    /// Servers delete it some time after its last child has gone.
    Container,
    /// Servers delete it once it has had no children and was not written for so long.
    PersistentWithTtl(Duration),
    /// As that, with a number appended to its name.
    PersistentSequentialWithTtl(Duration),
}

/// The data of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload<'a> {
    /// No bytes.
    Empty,
    /// The recipe's own data.
    Bytes(&'a [u8]),
    /// The user's data for this place, which the driver keeps, counted from 0; none if the user has
    /// not set it.
    Kept(usize),
}

/// Replaces the data of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Write<'a> {
    /// The znode.
    pub znode: Znode<'a>,
    /// The version that its data must have.
    pub version: ExpectedVersion,
    /// The new data.
    pub data: Payload<'a>,
}

/// Deletes a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delete<'a> {
    /// The znode.
    pub znode: Znode<'a>,
    /// The version that its data must have.
    pub version: ExpectedVersion,
}

/// Makes a multi fail unless a znode exists and has this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Check<'a> {
    /// The znode.
    pub znode: Znode<'a>,
    /// The version that its data must have.
    pub version: ExpectedVersion,
}

/// A part of a multi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// A condition.
    Check(Check<'a>),
    /// Creates a znode.
    Create(Create<'a>),
    /// Replaces the data of a znode.
    Write(Write<'a>),
    /// Deletes a znode.
    Delete(Delete<'a>),
}

/// The parts of a multi, in order: at least one, at most [`Multi::CAPACITY`], and the children that
/// are created for sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Multi<'a> {
    parts: [Option<Part<'a>>; Multi::CAPACITY],
    /// A child is created for each of them, between the parts and the last one.
    sites: &'a [SiteName],
    last: Option<Part<'a>>,
}

impl<'a> Multi<'a> {
    /// The largest number of parts.
    pub const CAPACITY: usize = 5;

    /// Makes a multi of these parts. It does not compile with another number of parts.
    pub fn of<const N: usize>(parts: [Part<'a>; N]) -> Self {
        const { assert!(0 < N && N <= Self::CAPACITY, "from one to five parts") };
        let mut places = [None; Self::CAPACITY];
        for (place, part) in places.iter_mut().zip(parts) {
            *place = Some(part);
        }
        Self { parts: places, sites: &[], last: None }
    }

    /// Makes a multi of one part.
    pub(crate) const fn one(part: Part<'a>) -> Self {
        Self { parts: [Some(part), None, None, None, None], sites: &[], last: None }
    }

    /// Makes a multi of as many of these parts as there is room for.
    pub(crate) fn collect(parts: impl Iterator<Item = Part<'a>>) -> Self {
        let mut places = [None; Self::CAPACITY];
        for (place, part) in places.iter_mut().zip(parts) {
            *place = Some(part);
        }
        Self { parts: places, sites: &[], last: None }
    }

    /// Makes a multi that invites these sites behind its parts, and ends with another part.
    pub(crate) const fn inviting(self, sites: &'a [SiteName], last: Part<'a>) -> Self {
        Self { parts: self.parts, sites, last: Some(last) }
    }

    /// Returns the parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part<'a>> + '_ {
        let invitation = |site: &'a SiteName| {
            let (znode, mode) = (Znode::child(site.invitation()), CreateMode::Persistent);
            Part::Create(Create { znode: NewZnode::Named(znode), mode, data: Payload::Empty })
        };
        let parts = self.parts.iter().copied().flatten();
        parts.chain(self.sites.iter().map(invitation)).chain(self.last)
    }
}

/// The watch that a read leaves, and what happens to a watch that is no longer
/// [wanted](crate::Recipe::awaits_change).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// It leaves none.
    None,
    /// It leaves one on the recipe's own znode. When the watch is no longer wanted, the recipe
    /// deletes the znode, which ends the watch, or reads it again with another watch. So no
    /// request takes the watch down.
    Own,
    /// It leaves one on the znode of another participant. When the watch is no longer wanted, the
    /// driver removes it from the server.
    Other,
}

/// The version that the data of a znode must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpectedVersion {
    /// Any (-1 on the wire).
    Any,
    /// This one.
    Exactly(Version),
}

impl ExpectedVersion {
    /// Returns the version on the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::Any => -1,
            Self::Exactly(version) => version.get(),
        }
    }
}
