//! Where the contenders of a contest are, and the requests that are made there.

use super::request::Request;
use crate::command::{
    Create, CreateMode, Delete, ExpectedVersion, NewZnode, Op, Payload, Watch, Znode,
};
use crate::format::CandidatePrefix;
use crate::name::{CandidateName, ChildName, Name};

/// The znode that the contenders are children of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Home {
    /// The recipe's node.
    Node,
    /// A child of it.
    Child(HomeChild),
}

/// A child of the recipe's node that contenders are below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HomeChild {
    /// Of those that wait for the turn to take a permit.
    Locks,
    /// Of the permits.
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

    /// The contender with this name.
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
        let data = match prefix.prescribed_data() {
            Some(data) => Payload::Bytes(data),
            None => CONTENDER_DATA,
        };
        (Request::Create, Op::Create(Create { znode, mode, data }))
    }

    /// Creates it, below the recipe's node.
    pub(super) const fn create_itself(self, mode: CreateMode) -> (Request, Op<'static>) {
        let znode = NewZnode::Named(self.parent());
        (Request::CreateHome, Op::Create(Create { znode, mode, data: Payload::Empty }))
    }

    pub(super) const fn list(self, watch: Watch) -> Op<'static> {
        Op::List { parent: self.parent(), watch }
    }

    /// With `getData` and not `exists`, which leaves a watch on a missing znode too.
    pub(super) const fn read(self, name: Name<'_>, watch: Watch) -> Op<'_> {
        Op::Read { znode: self.znode(name), watch }
    }

    /// Shows the owner without permission to read the znode.
    pub(super) const fn exists(self, name: Name<'_>, watch: Watch) -> Op<'_> {
        Op::Exists { znode: self.znode(name), watch }
    }

    /// Of a contender that may be the own one.
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

/// What the user gave for the contender.
const CONTENDER_DATA: Payload<'_> = Payload::Kept(0);
