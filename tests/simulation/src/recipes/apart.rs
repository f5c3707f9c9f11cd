//! The law of slots that are to be apart, reckoned anew from a plan.

use std::collections::BTreeMap;

use election_session::slots::SlotPlan;

use super::Broken;

/// Groups of slots, by their numbers: those of one group are to be with different members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart(Vec<Vec<u32>>);

impl Apart {
    /// Draws the groups of a run among so many slots: none in two of three.
    pub fn draw(rng: &mut fastrand::Rng, slots: u32) -> Self {
        if rng.u8(..3) > 0 {
            return Self::default();
        }
        let mut slots: Vec<u32> = (0..slots).collect();
        rng.shuffle(&mut slots);
        let mut groups = Vec::new();
        while slots.len() > 1 {
            let size = rng.usize(2..=5).min(slots.len());
            groups.push(slots.split_off(slots.len() - size));
        }
        Self(groups)
    }

    /// Returns the groups.
    pub fn groups(&self) -> &[Vec<u32>] {
        &self.0
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that no member of a plan holds more slots of a group than it has to.
    ///
    /// # Errors
    ///
    /// One does.
    pub fn check(&self, plan: &SlotPlan) -> Result<(), Broken> {
        let law = Table::of(plan, &self.0).and_then(|table| table.law());
        law.map_or(Ok(()), |law| Err(format!("{law} of {:?} in {plan}", self.0)))
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
    fn of(plan: &SlotPlan, groups: &[Vec<u32>]) -> Option<Self> {
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
            let most = group.and_then(|group| self.most.get(group));
            most.map_or(0, |most| held.saturating_sub(*most))
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
            if let Ok([one, other]) = slots.get_disjoint_mut([one, other]) {
                core::mem::swap(&mut one.1, &mut other.1);
            }
            self.excess(&slots) < excess
        };
        let count = self.slots.len();
        let mut pairs = (0..count).flat_map(|one| (0..one).map(move |other| (one, other)));
        let is_left = pairs.any(|(one, other)| helps(one, other));
        is_left.then_some("an exchange would take slots apart")
    }
}
