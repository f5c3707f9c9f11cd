//! The laws of slots: one holder of each, plans that are even, and no slot moved that need not be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_tokio::Token;
use election_tokio::slots::{SlotGuard, SlotName, SlotPlan};
use tokio::time::Instant;
use zk_embedded::Database;
use zk_jute::Zxid;
use zk_simulation::recipes::{Apart, PlanBook};

use super::Laws;
use super::grants::{Grants, Look};

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
    plans: PlanBook,
    /// The holders, by their tokens, whose znodes an operator may have deleted: the next one holds the slot before they
    /// hear of that.
    deposed: BTreeSet<i64>,
}

/// How long after the deadline of its work a slot's guard may be valid still: one turn of its member.
const TURN: core::time::Duration = core::time::Duration::from_millis(1);

impl Laws {
    /// From now on no member leaves of its own accord, and works write nothing.
    pub(crate) fn slots_are_to_rest(&self) {
        self.book().slots.season = Season::Calm;
    }

    /// The slots of each of these groups are to be with different members.
    pub(crate) fn slots_are_to_be_apart(&self, groups: &Apart) {
        self.book().slots.plans = PlanBook::new(groups.clone());
    }

    /// Checks the plan of a calm, which may be one that an operator has written, too.
    pub(crate) fn slots_are_apart(&self, plan: &SlotPlan) {
        let mut book = self.book();
        let checked = book.slots.plans.apart().check(plan);
        if let Err(law) = checked {
            book.broken(law);
        }
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
        book.slots.plans.last().map(|(plan, zxid)| (plan.clone(), zxid))
    }

    /// An operator is about to write this where the plan stands.
    pub(crate) fn operator_writes_a_plan(&self, text: &str) {
        self.book().slots.plans.operator_writes(text);
    }

    /// An operator is about to delete the znode of the holder with this token.
    pub(crate) fn operator_breaks_a_slot(&self, token: Zxid) {
        self.book().slots.deposed.insert(token.get());
    }

    /// Checks the plan after each step of a server.
    pub(crate) fn slots_show(&self, database: &Database) {
        let mut book = self.book();
        let shown = book.slots.plans.take_in(database);
        let counts = book.slots.plans.counts;
        (book.tally.plans, book.tally.slots_moved) = (counts.plans, counts.moved);
        (book.tally.plans_excused, book.tally.plans_apart) = (counts.excused, counts.apart);
        match shown {
            Err(law) => book.broken(law),
            Ok(None) => {}
            Ok(Some(plan)) => self.tell(|| format!("the plan is {:?}", plan.to_string())),
        }
    }
}

fn number_of(slot: &SlotName) -> u32 {
    slot.parse().expect("slots have numbers")
}
