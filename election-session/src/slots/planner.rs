//! The decision of a planner: whether the plan is to be written, and when to ask again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use zk_session::Instant;

use super::name::SlotName;
use super::plan::SlotPlan;

/// The pauses of a planner, in which more may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotPauses {
    /// From a member's coming until it has slots, so that many that start together are planned
    /// together.
    pub gather: Duration,
    /// From a member's going until others have its slots, so that one that comes back within it has
    /// them still.
    pub spread: Duration,
}

/// Decides what the plan is to be. The driver asks whenever the members or the plan have changed,
/// and at the moment that the last decision names. It asks for one leader of an election at a time: another
/// term needs another planner.
///
/// The plan that is wanted is a function of the stored one and of the members, and the wanted one
/// of the wanted one is itself: so planning comes to rest, whichever member plans, and a plan that
/// an operator wrote is mended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotPlanner {
    slots: Vec<SlotName>,
    /// The sizes of groups: of the first slots, of those behind them, and so on.
    groups: Vec<usize>,
    pauses: SlotPauses,
    /// The plan before the stored one was deleted, or overwritten by nonsense.
    known: Option<SlotPlan>,
    /// When the slots of members that have gone are spread.
    gone: BTreeMap<SlotName, Instant>,
    /// When members that have come are given slots.
    gathered: Option<Instant>,
}

/// A planner's decision about the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotDecision {
    /// Write this plan, in the place of the version that was given, and ask again.
    Write(SlotPlan),
    /// Nothing before this moment, if there is one, or a change.
    Rest(Option<Instant>),
}

impl SlotPlanner {
    /// Makes the planner of one term. `known` is the last plan that its member has seen.
    pub const fn new(slots: Vec<SlotName>, pauses: SlotPauses, known: Option<SlotPlan>) -> Self {
        Self { slots, groups: Vec::new(), pauses, known, gone: BTreeMap::new(), gathered: None }
    }

    /// Keeps the slots of each group apart ([`keep_apart`](election_core::slots::keep_apart)). A slot that is in two
    /// groups counts in the first of them; one that the planner does not have counts in none.
    #[must_use]
    pub fn apart(self, groups: &[Vec<SlotName>]) -> Self {
        let mut left: BTreeSet<&SlotName> = self.slots.iter().collect();
        let (mut slots, mut sizes) = (Vec::new(), Vec::new());
        for group in groups {
            let group = group.iter().filter(|slot| left.remove(*slot)).cloned();
            let before = slots.len();
            slots.extend(group);
            sizes.push(slots.len() - before);
        }
        slots.extend(self.slots.iter().filter(|slot| left.contains(slot)).cloned());
        Self { slots, groups: sizes, ..self }
    }

    /// Decides, by the members that are present, with their weights, and the stored plan, unless it
    /// is missing or nonsense.
    pub fn decide(
        &mut self,
        now: Instant,
        present: &BTreeMap<SlotName, u32>,
        stored: Option<&SlotPlan>,
    ) -> SlotDecision {
        if let Some(plan) = stored {
            self.known = Some(plan.clone());
        }
        let known = self.known.take().unwrap_or_default();
        let mut weights = self.those_that_stay(now, present, &known);
        let planned = known.next((&self.slots, &self.groups), &weights);
        let has_plan = stored.is_some() || known != SlotPlan::default();
        let is_due =
            self.are_gathered(now, present, &known) || has_plan && stored != Some(&planned);
        let decision = if is_due {
            weights.extend(present.clone());
            SlotDecision::Write(known.next((&self.slots, &self.groups), &weights))
        } else {
            SlotDecision::Rest(self.gone.values().copied().chain(self.gathered).min())
        };
        self.known = Some(known);
        decision
    }

    /// Returns the members of the plan that are present, or whose slots are not to be spread yet.
    fn those_that_stay(
        &mut self,
        now: Instant,
        present: &BTreeMap<SlotName, u32>,
        plan: &SlotPlan,
    ) -> BTreeMap<SlotName, u32> {
        let is_gone =
            |name: &SlotName| plan.members().contains_key(name) && !present.contains_key(name);
        self.gone.retain(|name, _| is_gone(name));
        let mut weights = BTreeMap::new();
        for (name, member) in plan.members() {
            let weight = if let Some(weight) = present.get(name) {
                Some(*weight)
            } else {
                let spread = now + self.pauses.spread;
                let until = *self.gone.entry(name.clone()).or_insert(spread);
                (now < until).then_some(member.weight)
            };
            weights.extend(weight.map(|weight| (name.clone(), weight)));
        }
        weights
    }

    /// Returns whether members have come that are to be given slots now.
    fn are_gathered(
        &mut self,
        now: Instant,
        present: &BTreeMap<SlotName, u32>,
        plan: &SlotPlan,
    ) -> bool {
        if present.keys().all(|name| plan.members().contains_key(name)) {
            self.gathered = None;
            return false;
        }
        now >= *self.gathered.get_or_insert(now + self.pauses.gather)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PAUSES: SlotPauses = SlotPauses { gather: SECOND, spread: Duration::from_secs(60) };

    fn at(seconds: u32) -> Instant {
        Instant::ORIGIN + SECOND * seconds
    }

    fn name(text: &str) -> SlotName {
        text.parse().unwrap()
    }

    fn present(members: &[&str]) -> BTreeMap<SlotName, u32> {
        members.iter().map(|member| (name(member), 1)).collect()
    }

    fn planner(known: Option<SlotPlan>) -> SlotPlanner {
        SlotPlanner::new(["0", "1", "2", "3"].map(name).into(), PAUSES, known)
    }

    /// Members that start together are planned together.
    fn planned() -> SlotPlan {
        let mut planner = planner(None);
        assert_eq!(planner.decide(at(0), &present(&["a"]), None), SlotDecision::Rest(Some(at(1))));
        let both = present(&["a", "b"]);
        let SlotDecision::Write(plan) = planner.decide(at(1), &both, None) else {
            panic!("it is time");
        };
        assert_eq!(plan.members().values().map(|member| member.slots.len()).sum::<usize>(), 4);
        assert_eq!(planner.decide(at(1), &both, Some(&plan)), SlotDecision::Rest(None));
        plan
    }

    #[test]
    fn a_member_that_comes_back_in_time_has_its_slots_still() {
        let plan = planned();
        let mut planner = planner(Some(plan.clone()));
        let (one, both) = (present(&["a"]), present(&["a", "b"]));
        let mut decide = |seconds, members| planner.decide(at(seconds), members, Some(&plan));
        assert_eq!(decide(10, &one), SlotDecision::Rest(Some(at(70))));
        assert_eq!(decide(69, &one), SlotDecision::Rest(Some(at(70))));
        assert_eq!(decide(69, &both), SlotDecision::Rest(None));
        assert_eq!(decide(70, &one), SlotDecision::Rest(Some(at(130))), "it went anew");
        let SlotDecision::Write(spread) = decide(130, &one) else { panic!("it is time") };
        assert_eq!(spread.slots_of(&name("a")).len(), 4);
        assert_eq!(spread.members().len(), 1);
    }

    #[test]
    fn a_plan_that_is_gone_is_written_as_it_was() {
        let plan = planned();
        let both = present(&["a", "b"]);
        let written = SlotDecision::Write(plan.clone());
        assert_eq!(planner(Some(plan.clone())).decide(at(5), &both, None), written);
        let mut anew = planner(None);
        assert_eq!(anew.decide(at(5), &both, None), SlotDecision::Rest(Some(at(6))));
        assert_eq!(anew.decide(at(5), &both, Some(&plan)), SlotDecision::Rest(None));
        assert_eq!(anew.decide(at(5), &both, None), written, "it has seen the plan since");
    }

    #[test]
    fn a_plan_keeps_groups_apart_once_there_are_members_enough() {
        let groups = [["3", "0", "other"].map(name).into(), ["0", "2"].map(name).into()];
        let mut planner = planner(None).apart(&groups);
        let mut plan = None;
        for (seconds, members) in
            [(0, &["a"][..]), (1, &["a"]), (9, &["a", "b"]), (10, &["a", "b"])]
        {
            if let SlotDecision::Write(next) =
                planner.decide(at(seconds), &present(members), plan.as_ref())
            {
                plan = Some(next);
            }
        }
        let plan = plan.unwrap();
        let is_with_a = |slot: &str| plan.slots_of(&name("a")).contains(&name(slot));
        assert_ne!(is_with_a("3"), is_with_a("0"), "{plan}");
        assert_eq!(plan.owners().len(), 4, "{plan}");
    }

    #[test]
    fn members_that_are_drained_give_up_at_once() {
        let plan = planned();
        let mut members = present(&["a", "b"]);
        members.insert(name("b"), 0);
        let decision = planner(None).decide(at(5), &members, Some(&plan));
        let SlotDecision::Write(drained) = decision else { panic!("it is due") };
        assert_eq!(drained.slots_of(&name("a")).len(), 4);
    }
}
