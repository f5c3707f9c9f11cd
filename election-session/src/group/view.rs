//! What is told of a group.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use election_core::{SessionId, Token};
use zk_jute::records::Stat;

use super::read::GroupRead;

/// All members of a group at one moment.
#[derive(Clone, Debug)]
pub struct GroupSnapshot {
    pub(super) members: Arc<BTreeMap<Arc<str>, GroupMember>>,
    /// What changed unseen so often before that.
    pub(super) gaps: u64,
}

/// A member at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMember {
    /// Its data.
    pub data: MemberData,
    /// Its znode's metadata, if it could be read.
    pub stat: Option<Stat>,
}

/// The data of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberData {
    /// These bytes.
    Is(Bytes),
    /// The client may not read it, or it is larger than the client keeps.
    Unreadable,
    /// It changed again and again before it was read: only the name is of that moment.
    Changing,
}

/// A view, beside the one before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupView {
    /// All members, by name.
    pub members: Arc<BTreeMap<Arc<str>, GroupMember>>,
    /// Those that were not there before; one that has gone and come again in between is here, and in
    /// `left`.
    pub joined: Vec<Arc<str>>,
    /// Those that are not there any more.
    pub left: Vec<Arc<str>>,
    /// Those whose data was written.
    pub changed: Vec<Arc<str>>,
    /// Whether the watches stood all the time since the view before.
    pub continuity: Continuity,
}

/// Whether watches stood all the time between two views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Continuity {
    /// They did. What came and went between two views is in neither, all the same.
    Unbroken,
    /// They did not: the connection was lost, or the session expired, or more changed than was kept.
    Broken,
}

impl GroupMember {
    pub(super) const CHANGING: Self = Self { data: MemberData::Changing, stat: None };

    /// What was read, if it exists.
    pub(super) fn read(read: GroupRead) -> Option<Self> {
        Some(match read {
            GroupRead::Data(data, stat) => Self { data: MemberData::Is(data), stat: Some(stat) },
            GroupRead::Unreadable => Self { data: MemberData::Unreadable, stat: None },
            GroupRead::Gone => return None,
        })
    }

    /// The `czxid` of its znode: each join has another one.
    pub fn token(&self) -> Option<Token> {
        self.stat.map(|stat| Token::new(stat.czxid.get()))
    }

    /// The session that its znode lives by, if that is ephemeral and could be read.
    pub fn session(&self) -> Option<SessionId> {
        let owner = self.stat?.ephemeral_owner.get();
        (owner != 0).then_some(SessionId::new(owner))
    }

    /// Whether it is the same join, as far as is known.
    fn is_one_with(&self, other: &Self) -> bool {
        match (self.token(), other.token()) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }
}

impl GroupSnapshot {
    pub(super) fn shows_the_same(&self, other: &Self) -> bool {
        self.members == other.members
    }

    /// This one beside the one before it; all have joined where there is none.
    pub fn since(&self, before: Option<&Self>) -> GroupView {
        let none = BTreeMap::new();
        let old = before.map_or(&none, |before| &*before.members);
        let (mut joined, mut left, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for (name, member) in &*self.members {
            match old.get(name) {
                Some(known) if known.is_one_with(member) => {
                    if known != member {
                        changed.push(Arc::clone(name));
                    }
                }
                Some(_) => {
                    left.push(Arc::clone(name));
                    joined.push(Arc::clone(name));
                }
                None => joined.push(Arc::clone(name)),
            }
        }
        let gone = old.keys().filter(|name| !self.members.contains_key(*name));
        left.extend(gone.cloned());
        let has_gap = before.is_some_and(|before| before.gaps != self.gaps);
        let continuity = if has_gap { Continuity::Broken } else { Continuity::Unbroken };
        GroupView { members: Arc::clone(&self.members), joined, left, changed, continuity }
    }

    /// All members, by name.
    pub const fn members(&self) -> &Arc<BTreeMap<Arc<str>, GroupMember>> {
        &self.members
    }
}
