//! Views of a group, and their differences.

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
    /// How many times changes may have been missed before.
    pub(super) gaps: u64,
}

/// A member at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMember {
    /// Its data.
    pub data: MemberData,
    /// The metadata of its znode, if it could be read.
    pub stat: Option<Stat>,
}

/// The data of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberData {
    /// The bytes of its data.
    Is(Bytes),
    /// Unknown: the client may not read it, or it is larger than the client keeps.
    Unreadable,
    /// Unknown: it changed again and again before it was read. Only the name belongs to that
    /// moment.
    Changing,
}

/// A view, compared with the one before it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupView {
    /// All members, by name.
    pub members: Arc<BTreeMap<Arc<str>, GroupMember>>,
    /// Members that were not in the last view. A member that has gone and come again in between is
    /// here, and in `left`.
    pub joined: Vec<Arc<str>>,
    /// Members of the last view that have gone.
    pub left: Vec<Arc<str>>,
    /// Members that have changed their data.
    pub changed: Vec<Arc<str>>,
    /// The watches since the view before: unbroken, or with a gap.
    pub continuity: Continuity,
}

/// The watches between two views: unbroken, or with a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Continuity {
    /// They did. Even so, a member that came and went between two views is in neither.
    Unbroken,
    /// They did not: the connection was lost, or the session expired, or more changed than was
    /// kept.
    Broken,
}

impl GroupMember {
    pub(super) const CHANGING: Self = Self { data: MemberData::Changing, stat: None };

    /// Makes a member of a read; `None` if it does not exist.
    pub(super) fn read(read: GroupRead) -> Option<Self> {
        Some(match read {
            GroupRead::Data(data, stat) => Self { data: MemberData::Is(data), stat: Some(stat) },
            GroupRead::Unreadable => Self { data: MemberData::Unreadable, stat: None },
            GroupRead::Gone => return None,
        })
    }

    /// Returns the `czxid` of its znode, which differs for each join.
    pub fn token(&self) -> Option<Token> {
        self.stat.map(|stat| Token::new(stat.czxid.get()))
    }

    /// Returns the session that owns its znode, if the znode is ephemeral and could be read.
    pub fn session(&self) -> Option<SessionId> {
        let owner = self.stat?.ephemeral_owner.get();
        (owner != 0).then_some(SessionId::new(owner))
    }

    /// Returns whether both are the same join, as far as is known. An ensemble that was restored from a copy gives
    /// each zxid again that came after the copy, so the time counts, too.
    fn is_one_with(&self, other: &Self) -> bool {
        match (self.stat, other.stat) {
            (Some(one), Some(other)) => (one.czxid, one.ctime) == (other.czxid, other.ctime),
            _ => true,
        }
    }
}

impl GroupSnapshot {
    pub(super) fn shows_the_same(&self, other: &Self) -> bool {
        self.members == other.members
    }

    /// Compares this view with the one before it. Without one, all members have joined.
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

    /// Returns all members, by name.
    pub const fn members(&self) -> &Arc<BTreeMap<Arc<str>, GroupMember>> {
        &self.members
    }
}
