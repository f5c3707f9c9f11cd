//! The laws of slots: one holder of each, plans that are even, and no slot moved that need not be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_tokio::Token;
use election_tokio::slots::{SlotGuard, SlotName, SlotPlan};
use tokio::time::Instant;
use zk_embedded::Database;
use zk_jute::Zxid;
use zk_jute::records::Stat;

use super::grants::{Grants, Look};
use super::{Book, Laws};
use crate::slots::{Groups, SLOTS};

/// Whether works on slots write, end by themselves, and members leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Season {
    #[default]
    Storm,
    Calm,
}

/// The knowledge of slots.
#[derive(Debug, Default)]
pub(super) struct SlotBook {
    season: Season,
    pub(super) holders: Grants<u32, SlotGuard>,
    /// The greatest token of each slot.
    last: BTreeMap<u32, Token>,
    /// The plan that was committed last, and what is known of its znode.
    plan: Option<SlotPlan>,
    znode: Option<Stat>,
    /// The holders, by their tokens, whose znodes an operator may have deleted: the next one holds the slot before they
    /// hear of that.
    deposed: BTreeSet<i64>,
    /// The plans that an operator may have written.
    of_operators: Vec<String>,
    pub(super) apart: Groups,
}

/// How long after the deadline of its work a slot's guard may be valid still: one turn of its member.
const TURN: core::time::Duration = core::time::Duration::from_millis(1);

impl Laws {
    /// From now on no member leaves of its own accord, and works write nothing.
    pub(crate) fn slots_are_to_rest(&self) {
        self.book().slots.season = Season::Calm;
    }

    /// The slots of each of these groups are to be with different members.
    pub(crate) fn slots_are_to_be_apart(&self, groups: &Groups) {
        self.book().slots.apart.clone_from(groups);
    }

    pub(crate) fn season_of_slots(&self) -> Season {
        self.book().slots.season
    }

    /// Notes that a process has gained a slot.
    pub(crate) fn slot_is_gained(&self, process: usize, guard: &Arc<SlotGuard>) {
        let (slot, token) = (number_of(guard.slot()), guard.token());
        self.tell(|| format!("process {process} has gained slot {slot}: {token}"));
        self.is_given(process, token);
        let mut book = self.book();
        let last = book.slots.last.insert(slot, token);
        if let Some(last) = last.filter(|last| token <= *last && self.exclude_each_other()) {
            book.broken(format!("{process} gains slot {slot} with token {token}, after {last}"));
        }
        book.tally.slots_gained += 1;
        book.slots.holders.push(slot, process, guard);
        drop(book);
        self.slots_are_held_in_turn();
    }

    /// Checks, at any moment, that no two hold a slot, none that has lost it, and none behind the deadline of its work.
    pub(crate) fn slots_are_held_in_turn(&self) {
        let mut book = self.book();
        let Look { mut valid, risen } = book.slots.holders.look();
        valid.retain(|(_, _, token)| !book.slots.deposed.contains(&token.get()));
        valid.sort_unstable();
        if let Some(process) = risen {
            book.broken(format!("{process} holds a slot again by a guard that was over"));
        }
        let mut pairs = valid.iter().zip(valid.iter().skip(1));
        let pair = pairs.find(|(one, other)| one.0 == other.0 && self.exclude_each_other());
        if let Some((one, other)) = pair {
            book.broken(format!("two hold a slot: {one:?} and {other:?} (slot, process, token)"));
        }
        let now = Instant::now();
        let is_late = |guard: &SlotGuard| {
            guard.is_valid() && guard.give_up_by().is_some_and(|by| by + TURN < now)
        };
        if let Some((slot, process)) = book.slots.holders.find(is_late) {
            book.broken(format!("{process} holds slot {slot} behind the deadline of its work"));
        }
    }

    /// Returns the holders of slots, with their tokens.
    pub(crate) fn tokens_of_slots(&self) -> BTreeMap<u32, (usize, Token)> {
        let valid = self.book().slots.holders.look().valid;
        valid.into_iter().map(|(slot, process, token)| (slot, (process, token))).collect()
    }

    /// Returns the plan that was committed last, and how it was written.
    pub(crate) fn plan_of_slots(&self) -> Option<(SlotPlan, Zxid)> {
        let book = self.book();
        Some((book.slots.plan.clone()?, book.slots.znode?.mzxid))
    }

    /// An operator is about to write this where the plan stands.
    pub(crate) fn operator_writes_a_plan(&self, text: &str) {
        self.book().slots.of_operators.push(text.to_owned());
    }

    /// An operator is about to delete the znode of the holder with this token.
    pub(crate) fn operator_breaks_a_slot(&self, token: Zxid) {
        self.book().slots.deposed.insert(token.get());
    }

    /// Checks the plan after each step of a server.
    pub(crate) fn slots_show(&self, database: &Database) {
        let mut book = self.book();
        let shown = database.znode(&format!("{SLOTS}/plan"));
        let before = book.slots.znode;
        let Some((stat, data)) = shown.map(|it| (it.stat(), it.data().unwrap_or_default())) else {
            return;
        };
        if before.is_some_and(|before| stat.mzxid <= before.mzxid) {
            return;
        }
        book.slots.znode = Some(stat);
        let text = String::from_utf8_lossy(data);
        let Ok(plan) = text.parse::<SlotPlan>() else {
            if !book.slots.of_operators.iter().any(|written| *written == text) {
                book.broken(format!("a planner writes nonsense: {text:?}"));
            }
            // The next one cannot be held against a plan that its planner need not have seen.
            book.slots.plan = None;
            return;
        };
        let is_next = before.is_some_and(|before| {
            before.czxid == stat.czxid && before.version.get() + 1 == stat.version.get()
        });
        let last = book.slots.plan.replace(plan.clone()).filter(|_| is_next);
        if !book.slots.of_operators.iter().any(|written| *written == text) {
            self.tell(|| format!("the plan is {text:?}"));
            book.is_planned(last.as_ref(), &plan);
        }
    }
}

impl Book {
    /// Checks a plan of a planner.
    fn is_planned(&mut self, last: Option<&SlotPlan>, plan: &SlotPlan) {
        self.tally.plans += 1;
        let parts = Parts::of(plan);
        if let Some(law) = parts.unevenness(plan) {
            self.broken(format!("{law} in {plan}"));
        }
        let has_groups = !self.slots.apart.is_empty();
        if has_groups {
            self.tally.plans_apart += 1;
            self.is_planned_apart(plan);
        }
        let Some(last) = last else {
            self.tally.plans_excused += 1;
            return;
        };
        let owners = last.owners();
        let owned = plan.owners();
        let stays = |slot: &SlotName, owner: Option<&SlotName>| {
            owner.is_some() && owners.get(slot).copied().flatten() == owner
        };
        let kept = owned.iter().filter(|(slot, owner)| stays(slot, **owner)).count();
        let moved =
            owned.keys().filter(|slot| owners.get(**slot).is_some_and(Option::is_some)).count()
                - kept;
        self.tally.slots_moved += u64::try_from(moved).unwrap_or(u64::MAX);
        let most = parts.most_that_can_stay(last, plan);
        // To take slots apart some move that could stay.
        if kept < most && !has_groups {
            self.broken(format!("{kept} slots stay of {most} that could, from {last} to {plan}"));
        }
    }
}

/// The parts of members by their weights, reckoned anew: rounded down, and whether a fraction is left.
struct Parts {
    of: BTreeMap<SlotName, (usize, bool)>,
    /// Slots that are over when all parts are rounded down.
    over: usize,
}

impl Parts {
    fn of(plan: &SlotPlan) -> Self {
        let slots = plan.owners().len();
        let weights: usize = plan.members().values().map(|member| weight(member.weight)).sum();
        let part = |own: usize| match weights {
            0 => (0, false),
            _ => (slots * own / weights, !(slots * own).is_multiple_of(weights)),
        };
        let of: BTreeMap<_, _> = plan
            .members()
            .iter()
            .map(|(name, member)| (name.clone(), part(weight(member.weight))))
            .collect();
        let over = slots - of.values().map(|(down, _)| down).sum::<usize>();
        Self { of, over }
    }

    fn unevenness(&self, plan: &SlotPlan) -> Option<String> {
        let is_uneven = |(name, (down, has_fraction)): (&SlotName, &(usize, bool))| {
            let held = plan.slots_of(name).len();
            !(held == *down || (*has_fraction && held == down + 1))
        };
        let has_weight = plan.members().values().any(|member| member.weight > 0);
        let uneven = self.of.iter().find(|it| is_uneven(*it));
        match uneven {
            Some((name, _)) => Some(format!("{name} has no even part")),
            None => (has_weight && !plan.free().is_empty()).then(|| "slots are free".to_owned()),
        }
    }

    /// Returns how many slots could stay with their owners in any even plan.
    fn most_that_can_stay(&self, last: &SlotPlan, plan: &SlotPlan) -> usize {
        let listed = plan.owners();
        let held = |name: &SlotName| {
            last.slots_of(name).iter().filter(|slot| listed.contains_key(slot)).count()
        };
        let down: usize = self.of.iter().map(|(name, (down, _))| held(name).min(*down)).sum();
        let up = self
            .of
            .iter()
            .filter(|(name, (down, has_fraction))| *has_fraction && held(name) > *down);
        down + up.count().min(self.over)
    }
}

fn weight(weight: u32) -> usize {
    usize::try_from(weight).unwrap_or(usize::MAX)
}

fn number_of(slot: &SlotName) -> u32 {
    slot.parse().expect("slots have numbers")
}
