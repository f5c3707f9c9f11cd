//! What a recipe commands.
//!
//! Everything is said in names of znodes around one node, the recipe's; the driver knows its path,
//! the access list, and the data that the user gave. The enums are exhaustive on purpose: a driver
//! carries out every command, so that another recipe takes no other driver.

use core::time::Duration;

use crate::format::CandidatePrefix;
use crate::id::Version;
use crate::name::Name;
use crate::outcome::Notice;
use crate::site_name::SiteName;
use crate::ticket::Ticket;

/// What one event led to.
///
/// It borrows the recipe, so that the next event cannot be fed before this was read. The notice is
/// to be passed on before the command is carried out.
#[must_use = "a command that is not carried out leaves the recipe waiting"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a, N = Notice> {
    /// What to do, if anything.
    pub command: Option<Command<'a>>,
    /// What changed for the user, if anything.
    pub notice: Option<N>,
}

/// What the driver is to do, once; a command is never to be repeated by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// To be handed back with the reply.
    pub ticket: Ticket,
    /// What to do.
    pub op: Op<'a>,
}

/// A request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "without an allocator a multi cannot be boxed")]
pub enum Op<'a> {
    /// Create a znode. Answered by [`Reply::Created`](crate::Reply::Created).
    Create(Create<'a>),
    /// Create the recipe's node, and its parents where they are missing; nodes that exist are
    /// right as they are. Answered by [`Reply::NodeCreated`](crate::Reply::NodeCreated).
    CreateNode,
    /// Have a quorum commit a transaction that changes nothing, so that the next list on this
    /// connection shows everything that the ensemble had committed before: a `multi` with a `check`
    /// of the recipe's node, say. Answered by [`Reply::BarrierPassed`](crate::Reply::BarrierPassed),
    /// whatever became of the check: one that is refused is committed too.
    ///
    /// A `sync` is no barrier: a leader that was deposed unawares answers it without a quorum.
    Barrier,
    /// List the children of a znode. Answered by [`Reply::Children`](crate::Reply::Children).
    List {
        /// The parent.
        parent: Znode<'a>,
        /// Whether a watch on the list of children is to be left. It is, if the parent exists.
        watch: Watch,
    },
    /// Read a znode with `getData`. Answered by [`Reply::Read`](crate::Reply::Read).
    Read {
        /// The znode.
        znode: Znode<'a>,
        /// Whether a watch on the znode is to be left. It is, if the znode exists.
        watch: Watch,
    },
    /// Look whether a znode exists. Answered by [`Reply::Exists`](crate::Reply::Exists) or
    /// [`Failure::NoNode`](crate::Failure::NoNode).
    Exists {
        /// The znode.
        znode: Znode<'a>,
        /// Whether a watch on the znode is to be left, also where it does not exist.
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

/// A znode, as seen from the recipe's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Znode<'a> {
    /// The recipe's node.
    Node,
    /// A sibling of the node, whose name is the node's with this suffix.
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
    /// The child of the node with this name.
    pub const fn child(name: &'a str) -> Self {
        Self::Child(Name::Text(name))
    }
}

/// The name of a znode that is to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewZnode<'a> {
    /// This one; in a sequential mode, the server appends a number to its name.
    Named(Znode<'a>),
    /// A child of the node that is called as this prefix says, and what the server appends.
    Child(CandidatePrefix),
    /// A child of a child, called so.
    Grandchild {
        /// The child of the node.
        child: &'a str,
        /// The beginning of the name below it.
        prefix: CandidatePrefix,
    },
}

/// Creates a znode, with the access list that the user gave.
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
    /// What the recipe itself has to say.
    Bytes(&'a [u8]),
    /// What the user gave for this place, which the driver keeps, counted from 0; none if that was
    /// not given.
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

/// Lets a multi be applied only if a znode exists and has this version.
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

/// The parts of a multi, in order: one at least, [`Multi::CAPACITY`] at most, and the children that are
/// created for sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Multi<'a> {
    parts: [Option<Part<'a>>; Multi::CAPACITY],
    /// For each of them a child is created, between the parts and the last one.
    sites: &'a [SiteName],
    last: Option<Part<'a>>,
}

impl<'a> Multi<'a> {
    /// The largest number of parts.
    pub const CAPACITY: usize = 5;

    /// A multi of these parts. Another number of them does not compile.
    pub fn of<const N: usize>(parts: [Part<'a>; N]) -> Self {
        const { assert!(0 < N && N <= Self::CAPACITY, "from one to five parts") };
        let mut places = [None; Self::CAPACITY];
        for (place, part) in places.iter_mut().zip(parts) {
            *place = Some(part);
        }
        Self { parts: places, sites: &[], last: None }
    }

    /// A multi of one part.
    pub(crate) const fn one(part: Part<'a>) -> Self {
        Self { parts: [Some(part), None, None, None, None], sites: &[], last: None }
    }

    /// A multi of as many of these parts as there is room for.
    pub(crate) fn collect(parts: impl Iterator<Item = Part<'a>>) -> Self {
        let mut places = [None; Self::CAPACITY];
        for (place, part) in places.iter_mut().zip(parts) {
            *place = Some(part);
        }
        Self { parts: places, sites: &[], last: None }
    }

    /// A multi that invites these sites behind its parts, and ends with another one.
    pub(crate) const fn inviting(self, sites: &'a [SiteName], last: Part<'a>) -> Self {
        Self { parts: self.parts, sites, last: Some(last) }
    }

    /// The parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part<'a>> + '_ {
        let invitation = |site: &'a SiteName| {
            let (znode, mode) = (Znode::child(site.invitation()), CreateMode::Persistent);
            Part::Create(Create { znode: NewZnode::Named(znode), mode, data: Payload::Empty })
        };
        let parts = self.parts.iter().copied().flatten();
        parts.chain(self.sites.iter().map(invitation)).chain(self.last)
    }
}

/// Whether a read leaves a watch, and what becomes of a watch that is no longer
/// [wanted](crate::Recipe::awaits_change).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watch {
    /// It leaves none.
    None,
    /// It leaves one on a znode of the recipe's own. Where it is no longer wanted, the recipe deletes
    /// the znode, which ends the watch, or reads it anew, with another: the server need not be told.
    Own,
    /// It leaves one on a znode of another participant. Where it is no longer wanted, the server is
    /// told to forget it.
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
    /// The version on the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::Any => -1,
            Self::Exactly(version) => version.get(),
        }
    }
}
