//! Options of a member.

use crate::policy::ElectionNode;

/// How a member behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberOptions {
    /// Where its name comes from.
    pub name: NameOrigin,
    /// The reaction if another znode has its name.
    pub when_taken: WhenTaken,
    /// The reaction when another client deletes its znode.
    pub when_evicted: WhenEvicted,
    /// The reaction if the group's node does not exist.
    pub node: ElectionNode,
}

/// Where the name of a member comes from. It decides what may be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NameOrigin {
    /// The name has random digits that no other member has. So any znode of this name is the
    /// member's own, from an earlier session, and is deleted.
    Random,
    /// The user chose the name. A znode of this name that another session owns may be another
    /// member's, and is never deleted. No server deletes by owner, so the member also waits for its
    /// own znode of an earlier session: it goes with that session.
    #[default]
    Given,
}

/// The reaction if a znode of another session has the name of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenTaken {
    /// The member waits until it goes.
    #[default]
    Wait,
    /// The member gives up: [`MemberEnd::Taken`](super::MemberEnd::Taken).
    GiveUp,
}

/// The reaction when another client deletes the znode of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenEvicted {
    /// It joins again.
    #[default]
    Rejoin,
    /// It ends: [`MemberEnd::Evicted`](super::MemberEnd::Evicted).
    End,
}
