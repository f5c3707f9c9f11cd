//! The parent of a contest's contenders, and the requests that are made there.

use super::request::Request;
use crate::command::{
    Create, CreateMode, Delete, ExpectedVersion, NewZnode, Op, Payload, Watch, Znode,
};
use crate::format::CandidatePrefix;
use crate::name::{CandidateName, ChildName, Name};

/// The parent of the contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Home {
    /// The recipe's node.
    Node,
    /// A child of it.
    Child(HomeChild),
}

/// A child of the recipe's node that is the parent of contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HomeChild {
    /// The parent of the contenders that wait for the turn to take a permit.
    Locks,
    /// The parent of the permits.
    Leases,
}

impl HomeChild {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Locks => "locks",
            Self::Leases => "leases",
        }
    }
}

impl Home {
    const fn parent(self) -> Znode<'static> {
        match self {
            Self::Node => Znode::Node,
            Self::Child(child) => Znode::child(child.name()),
        }
    }

    /// Returns the contender with this name.
    pub(crate) const fn znode(self, name: Name<'_>) -> Znode<'_> {
        match self {
            Self::Node => Znode::Child(name),
            Self::Child(child) => Znode::Grandchild { child: child.name(), name },
        }
    }

    pub(super) const fn create(self, prefix: CandidatePrefix) -> (Request, Op<'static>) {
        let znode = match self {
            Self::Node => NewZnode::Child(prefix),
            Self::Child(child) => NewZnode::Grandchild { child: child.name(), prefix },
        };
        let mode = CreateMode::EphemeralSequential;
        let data = contender_data(prefix);
        (Request::Create, Op::Create(Create { znode, mode, data }))
    }

    /// Returns the request that creates the parent below the recipe's node.
    pub(super) const fn create_itself(self, mode: CreateMode) -> (Request, Op<'static>) {
        let znode = NewZnode::Named(self.parent());
        (Request::CreateHome, Op::Create(Create { znode, mode, data: Payload::Empty }))
    }

    pub(super) const fn list(self, watch: Watch) -> Op<'static> {
        Op::List { parent: self.parent(), watch }
    }

    /// Reads with `getData` and not with `exists`, which leaves a watch on a missing znode too.
    pub(super) const fn read(self, name: Name<'_>, watch: Watch) -> Op<'_> {
        Op::Read { znode: self.znode(name), watch }
    }

    /// Returns the operation that shows the owner without permission to read the znode.
    pub(super) const fn exists(self, name: Name<'_>, watch: Watch) -> Op<'_> {
        Op::Exists { znode: self.znode(name), watch }
    }

    /// Returns the request that inspects a contender, which may be the nominee's own.
    pub(super) fn inspect(self, name: &ChildName) -> (Request, Op<'_>) {
        (Request::InspectFound, self.exists(name.into(), Watch::None))
    }

    pub(super) fn read_own(self, own: &CandidateName) -> (Request, Op<'_>) {
        (Request::ReadOwn, self.read(own.into(), Watch::Own))
    }

    pub(super) const fn delete(self, name: Name<'_>, version: ExpectedVersion) -> Op<'_> {
        Op::Delete(Delete { znode: self.znode(name), version })
    }

    pub(super) fn delete_ghost(
        self,
        name: &ChildName,
        version: ExpectedVersion,
    ) -> (Request, Op<'_>) {
        (Request::DeleteGhost, self.delete(name.into(), version))
    }
}

/// Returns the data of a contender: the format's, or else those that the user gave for it.
pub(super) const fn contender_data(prefix: CandidatePrefix) -> Payload<'static> {
    match prefix.prescribed_data() {
        Some(data) => Payload::Bytes(data),
        None => Payload::Kept(0),
    }
}
