//! How a member joins, and what it does where more than one way is right.

use crate::policy::ElectionNode;

/// How a member behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberOptions {
    /// Where its name comes from.
    pub name: NameOrigin,
    /// What follows when another znode has its name.
    pub when_taken: WhenTaken,
    /// What follows when another client deletes its znode.
    pub when_evicted: WhenEvicted,
    /// What follows when the group's node does not exist.
    pub node: ElectionNode,
}

/// Where the name of a member comes from, which decides what may be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NameOrigin {
    /// It holds random digits that no other member has: any znode of this name is the member's own, of
    /// an earlier session, and is deleted.
    Random,
    /// The user chose it: a znode of this name that another session owns may be another member's, and
    /// is never deleted. No server deletes by the owner, so one of an earlier session is waited for,
    /// too: it goes with that session.
    #[default]
    Given,
}

/// What follows when a znode of another session has the name of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenTaken {
    /// The member waits until it goes.
    #[default]
    Wait,
    /// The member gives up: [`MemberEnd::Taken`](super::MemberEnd::Taken).
    GiveUp,
}

/// What follows when another client deletes the znode of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenEvicted {
    /// It joins again.
    #[default]
    Rejoin,
    /// It is over: [`MemberEnd::Evicted`](super::MemberEnd::Evicted).
    End,
}
