//! The law of slots that are to be apart, reckoned anew from a plan.

use std::collections::BTreeMap;

use election_tokio::slots::SlotPlan;

use super::{Book, Laws};
use crate::slots::Groups;

impl Book {
    /// Checks that no member of a plan holds more slots of a group than it has to.
    pub(super) fn is_planned_apart(&mut self, plan: &SlotPlan) {
        let groups = &self.slots.apart;
        let Some(table) = Table::of(plan, groups) else { return };
        if let Some(law) = table.law() {
            let law = format!("{law} of {groups:?} in {plan}");
            self.broken(law);
        }
    }
}

impl Laws {
    /// Checks the plan of a calm, which may be one that an operator has written, too.
    pub(crate) fn slots_are_apart(&self, plan: &SlotPlan) {
        self.book().is_planned_apart(plan);
    }
}

/// The group of each slot, if it is in one, and its member.
struct Table {
    slots: Vec<(Option<usize>, usize)>,
    /// The most slots of each group that one member is to hold.
    most: Vec<usize>,
    have_equal_weights: bool,
}

impl Table {
    /// Returns none of a plan without members that may hold slots.
    fn of(plan: &SlotPlan, groups: &Groups) -> Option<Self> {
        let names: BTreeMap<_, _> = plan.members().keys().zip(0_usize..).collect();
        let mut weights: Vec<_> = plan.members().values().map(|member| member.weight).collect();
        weights.retain(|weight| *weight > 0);
        let group_of = |slot: &str| {
            let number: Option<u32> = slot.parse().ok();
            groups.iter().position(|group| number.is_some_and(|slot| group.contains(&slot)))
        };
        let owners = plan.owners();
        let held = owners.iter().filter_map(|(slot, owner)| Some((slot, names.get((*owner)?)?)));
        let slots = held.map(|(slot, member)| (group_of(slot.as_str()), *member)).collect();
        (!weights.is_empty()).then(|| Self {
            slots,
            most: groups.iter().map(|group| group.len().div_ceil(weights.len())).collect(),
            have_equal_weights: weights.iter().all(|weight| Some(weight) == weights.first()),
        })
    }

    /// Returns how many slots are with a member that has its part of their group without them.
    fn excess(&self, slots: &[(Option<usize>, usize)]) -> usize {
        let mut held = BTreeMap::<_, usize>::new();
        for (group, member) in slots {
            *held.entry((*group, *member)).or_default() += 1;
        }
        let beyond = |((group, _), held): (&(Option<usize>, usize), &usize)| {
            group.map_or(0, |group| held.saturating_sub(self.most[group]))
        };
        held.iter().map(beyond).sum()
    }

    /// Returns the law that is broken.
    fn law(&self) -> Option<&'static str> {
        let excess = self.excess(&self.slots);
        if excess == 0 {
            return None;
        }
        if self.have_equal_weights {
            return Some("a member holds too many slots");
        }
        let helps = |one: usize, other: usize| {
            let mut slots = self.slots.clone();
            (slots[one].1, slots[other].1) = (slots[other].1, slots[one].1);
            self.excess(&slots) < excess
        };
        let count = self.slots.len();
        let mut pairs = (0..count).flat_map(|one| (0..one).map(move |other| (one, other)));
        let is_left = pairs.any(|(one, other)| helps(one, other));
        is_left.then_some("an exchange would take slots apart")
    }
}
