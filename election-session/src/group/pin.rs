//! A pinned moment, for which a view is put together.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use zk_jute::Zxid;

use super::read::GroupRead;
use super::slots::{Members, Slots};
use super::view::GroupMember;

/// The names of that moment, and the known state of each member. A later read counts if the member
/// was the same at that moment.
#[derive(Debug)]
pub(super) struct Pin {
    /// The last transaction that the server had applied at that moment.
    zxid: Zxid,
    /// The ticket of the last read that was asked for by then.
    last_ticket: u64,
    members: BTreeMap<Arc<str>, Option<GroupMember>>,
    missing: usize,
}

/// The state of the member at that moment cannot be found out any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLate;

impl Pin {
    pub(super) fn new((zxid, last_ticket): (Zxid, u64), slots: &Slots) -> Self {
        let members: BTreeMap<_, _> =
            slots.each().map(|(name, member)| (Arc::clone(name), member.cloned())).collect();
        let missing = members.values().filter(|member| member.is_none()).count();
        Self { zxid, last_ticket, members, missing }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.missing == 0
    }

    pub(super) fn waits_for(&self, name: &str) -> bool {
        matches!(self.members.get(name), Some(None))
    }

    /// Returns whether the read with this ticket was asked for after the moment. An earlier read
    /// may be older than an event that was reported by then.
    pub(super) const fn precedes(&self, ticket: u64) -> bool {
        self.last_ticket < ticket
    }

    /// Takes in a read. An unexpected one changes nothing.
    pub(super) fn fill(&mut self, name: &str, read: &GroupRead) -> Result<(), TooLate> {
        let Some(member @ None) = self.members.get_mut(name) else {
            return Ok(());
        };
        match read {
            GroupRead::Data(_, stat) if stat.mzxid <= self.zxid => {}
            GroupRead::Data(..) | GroupRead::Gone => return Err(TooLate),
            GroupRead::Unreadable => {}
        }
        *member = GroupMember::read(read.clone());
        self.missing -= 1;
        Ok(())
    }

    pub(super) fn into_members(self) -> Members {
        self.members.into_iter().filter_map(|(name, member)| Some((name, member?))).collect()
    }
}
