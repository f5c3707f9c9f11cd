//! The known state of each child.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use super::read::GroupRead;
use super::view::{GroupMember, MemberData};

/// The members, by name.
pub(super) type Members = BTreeMap<Arc<str>, GroupMember>;

#[derive(Debug)]
pub(super) struct Slots {
    by_name: BTreeMap<Arc<str>, Slot>,
    due: BTreeSet<Arc<str>>,
    /// How many are not clean.
    unclean: usize,
    /// Children that came or went while a list was on its way, by the last event of each.
    touched: BTreeMap<Arc<str>, Touch>,
    /// Children of a list that may have gone before it came in. A read has to tell.
    in_doubt: BTreeSet<Arc<str>>,
}

/// The state of a name, by the last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Came,
    Went,
}

#[derive(Debug)]
struct Slot {
    fresh: Fresh,
    /// The last read.
    value: Option<GroupMember>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fresh {
    /// Nothing has changed since it was read.
    Clean,
    Due,
    /// The read with this ticket is on its way, and nothing has changed since it was asked for.
    Asked(u64),
}

impl Fresh {
    pub(super) fn is_clean(self) -> bool {
        self == Self::Clean
    }
}

impl Slots {
    pub(super) const fn new() -> Self {
        Self {
            by_name: BTreeMap::new(),
            due: BTreeSet::new(),
            unclean: 0,
            touched: BTreeMap::new(),
            in_doubt: BTreeSet::new(),
        }
    }

    pub(super) const fn are_clean(&self) -> bool {
        self.unclean == 0
    }

    fn set(&mut self, name: &str, fresh: Fresh) {
        let Some((name, slot)) =
            self.by_name.get_key_value(name).map(|(name, slot)| (Arc::clone(name), slot.fresh))
        else {
            return;
        };
        match (slot.is_clean(), fresh.is_clean()) {
            (true, false) => self.unclean += 1,
            (false, true) => self.unclean -= 1,
            _ => {}
        }
        if fresh == Fresh::Due {
            self.due.insert(Arc::clone(&name));
        } else {
            self.due.remove(&name);
        }
        if let Some(slot) = self.by_name.get_mut(&name) {
            slot.fresh = fresh;
        }
    }

    /// Returns the next child to read.
    pub(super) fn ask(&mut self, ticket: u64) -> Option<Arc<str>> {
        let name = Arc::clone(self.due.first()?);
        self.set(&name, Fresh::Asked(ticket));
        Some(name)
    }

    /// Notes that the child exists, and has to be read.
    pub(super) fn due(&mut self, name: &str) {
        if !self.by_name.contains_key(name) {
            let slot = Slot { fresh: Fresh::Due, value: None };
            self.by_name.insert(Arc::from(name), slot);
            self.unclean += 1;
        }
        self.in_doubt.remove(name);
        self.set(name, Fresh::Due);
    }

    /// Returns whether it is certain that each child exists, as far as events have told.
    pub(super) fn names_are_certain(&self) -> bool {
        self.in_doubt.is_empty()
    }

    pub(super) fn due_if_known(&mut self, name: &str) {
        self.set(name, Fresh::Due);
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Some(slot) = self.by_name.remove(name) {
            self.unclean -= usize::from(!slot.fresh.is_clean());
            self.due.remove(name);
            self.in_doubt.remove(name);
        }
    }

    pub(super) fn touch(&mut self, name: &str, touch: Touch) {
        self.touched.insert(Arc::from(name), touch);
    }

    /// Takes in a list with all names. A child that came or went while the list was on its way may
    /// have done so before it or after it.
    pub(super) fn list<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let touched = core::mem::take(&mut self.touched);
        let listed: BTreeSet<&str> = names.collect();
        let has_come = |name: &str| touched.get(name) == Some(&Touch::Came);
        let gone = self.by_name.keys().filter(|name| !listed.contains(&***name) && !has_come(name));
        let gone: alloc::vec::Vec<_> = gone.cloned().collect();
        for name in gone {
            self.remove(&name);
        }
        for name in listed {
            if !self.by_name.contains_key(name) {
                self.due(name);
            }
            if let Some((name, Touch::Went)) = touched.get_key_value(name) {
                self.in_doubt.insert(Arc::clone(name));
            }
        }
    }

    /// Returns whether this read is on its way, and the child has not changed since it was asked
    /// for.
    pub(super) fn awaits(&self, ticket: u64, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|slot| slot.fresh == Fresh::Asked(ticket))
    }

    pub(super) fn answered(&mut self, ticket: u64, name: &str, read: GroupRead) {
        let slot = self.by_name.get_mut(name);
        let Some(slot) = slot.filter(|slot| slot.fresh == Fresh::Asked(ticket)) else {
            return;
        };
        match GroupMember::read(read) {
            Some(member) => {
                slot.value = Some(member);
                self.in_doubt.remove(name);
                self.set(name, Fresh::Clean);
            }
            None => self.remove(name),
        }
    }

    pub(super) fn failed(&mut self, ticket: u64, name: &str) {
        if self.awaits(ticket, name) {
            self.set(name, Fresh::Due);
        }
    }

    pub(super) fn all_due(&mut self) {
        self.due_where(|_| true);
    }

    /// Marks the children that may not be read, and so cause no events, to be read again.
    pub(super) fn unreadable_due(&mut self) {
        self.due_where(|slot| {
            slot.value.as_ref().is_some_and(|value| value.data == MemberData::Unreadable)
        });
    }

    fn due_where(&mut self, is_due: impl Fn(&Slot) -> bool) {
        let names = self.by_name.iter().filter(|(_, slot)| is_due(slot));
        let names: alloc::vec::Vec<_> = names.map(|(name, _)| Arc::clone(name)).collect();
        for name in names {
            self.set(&name, Fresh::Due);
        }
    }

    /// Returns all children, with the state of those that are `known`.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Arc<str>, Option<&GroupMember>)> {
        self.by_name
            .iter()
            .map(|(name, slot)| (name, slot.value.as_ref().filter(|_| slot.fresh.is_clean())))
    }

    pub(super) fn members(&self, is_known: fn(Fresh) -> bool) -> Members {
        let members = self.by_name.iter().map(|(name, slot)| {
            let known = slot.value.as_ref().filter(|_| is_known(slot.fresh));
            (Arc::clone(name), known.cloned().unwrap_or(GroupMember::CHANGING))
        });
        members.collect()
    }
}
