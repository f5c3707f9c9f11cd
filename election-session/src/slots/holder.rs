//! A member's holder: which locks of slots to ask for, and which to give up, by the plan.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::time::Duration;

use zk_session::Instant;

use super::name::SlotName;
use super::plan::SlotPlan;

/// Asks for the lock of each slot that the plan gives to its member, and gives the others up.
///
/// The driver reports plans, locks that are held, and guards that the user has dropped; it does
/// what [`poll_task`](Self::poll_task) returns, and calls
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotHolder {
    member: SlotName,
    give_up_within: Duration,
    wanted: BTreeSet<SlotName>,
    slots: BTreeMap<SlotName, Slot>,
    tasks: VecDeque<SlotTask>,
}

/// Something for the driver to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SlotTask {
    /// Stand in the queue of this slot's lock.
    Contend(SlotName),
    /// Leave that queue: the slot is another member's.
    Abandon(SlotName),
    /// Tell the user to end the work on a slot by this moment, and to drop the guard.
    GiveUp(SlotName, Instant),
    /// Release the lock of a slot although the user has its guard.
    Release(SlotName),
}

/// How a guard came to its end, when the user dropped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardEnd {
    /// It was held until then.
    Released,
    /// The lock was lost before.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Slot {
    /// In the queue of its lock.
    Contending,
    /// The user has its guard.
    Held,
    /// The user has its guard, and is to end the work.
    GivingUp { until: Instant },
    /// The user has its guard, and the lock was released.
    Overdue,
    /// The user gave it up although the plan gives it to this member.
    Paused { until: Instant },
}

/// The pause before a slot is asked for again that the user gave up of its own accord.
const AGAIN: Duration = Duration::from_secs(1);

impl SlotHolder {
    /// Makes the holder of a member that has this long to end the work on a slot.
    pub const fn new(member: SlotName, give_up_within: Duration) -> Self {
        Self {
            member,
            give_up_within,
            wanted: BTreeSet::new(),
            slots: BTreeMap::new(),
            tasks: VecDeque::new(),
        }
    }

    /// Returns its member.
    pub const fn member(&self) -> &SlotName {
        &self.member
    }

    /// Reports the plan that is in force.
    pub fn handle_plan(&mut self, now: Instant, plan: &SlotPlan) {
        self.want(now, plan.slots_of(&self.member).iter().cloned().collect());
    }

    /// Begins to give up all slots, for good if no plan is reported any more.
    pub fn leave(&mut self, now: Instant) {
        self.want(now, BTreeSet::new());
    }

    /// Returns whether nothing is held and nothing is asked for.
    pub fn is_idle(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns whether the user has the guard of this slot.
    pub fn is_held(&self, slot: &SlotName) -> bool {
        use Slot::{GivingUp, Held, Overdue};
        matches!(self.slots.get(slot), Some(Held | GivingUp { .. } | Overdue))
    }

    /// Reports that the lock of a slot is held: the user gets its guard. Returns `false` if it was
    /// not asked for; then the driver drops the guard.
    pub fn handle_held(&mut self, slot: &SlotName) -> bool {
        match self.slots.get_mut(slot) {
            Some(state @ Slot::Contending) => {
                *state = Slot::Held;
                true
            }
            _ => false,
        }
    }

    /// Reports that the user has dropped the guard of a slot.
    pub fn handle_dropped(&mut self, now: Instant, slot: &SlotName, end: GuardEnd) {
        if !self.is_held(slot) {
            return;
        }
        let was = self.slots.remove(slot);
        if !self.wanted.contains(slot) {
            return;
        }
        match (was, end) {
            (Some(Slot::Held), GuardEnd::Released) => {
                self.slots.insert(slot.clone(), Slot::Paused { until: now + AGAIN });
            }
            _ => self.contend(slot.clone()),
        }
    }

    /// Handles the moments that have come.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut again = VecDeque::new();
        for (slot, state) in &mut self.slots {
            match *state {
                Slot::GivingUp { until } if until <= now => {
                    *state = Slot::Overdue;
                    self.tasks.push_back(SlotTask::Release(slot.clone()));
                }
                Slot::Paused { until } if until <= now => again.push_back(slot.clone()),
                _ => {}
            }
        }
        for slot in again {
            self.contend(slot);
        }
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let moment = |state: &Slot| match *state {
            Slot::GivingUp { until } | Slot::Paused { until } => Some(until),
            Slot::Contending | Slot::Held | Slot::Overdue => None,
        };
        self.slots.values().filter_map(moment).min()
    }

    /// Returns the next thing to do.
    pub fn poll_task(&mut self) -> Option<SlotTask> {
        self.tasks.pop_front()
    }

    fn want(&mut self, now: Instant, wanted: BTreeSet<SlotName>) {
        let until = now + self.give_up_within;
        let tasks = &mut self.tasks;
        self.slots.retain(|slot, state| {
            if wanted.contains(slot) {
                return true;
            }
            match state {
                Slot::Contending => {
                    tasks.push_back(SlotTask::Abandon(slot.clone()));
                    false
                }
                Slot::Paused { .. } => false,
                Slot::Held => {
                    *state = Slot::GivingUp { until };
                    tasks.push_back(SlotTask::GiveUp(slot.clone(), until));
                    true
                }
                // Even if a plan in between gave it back: the user ends the work once told to.
                Slot::GivingUp { .. } | Slot::Overdue => true,
            }
        });
        for slot in &wanted {
            if !self.slots.contains_key(slot) {
                self.slots.insert(slot.clone(), Slot::Contending);
                self.tasks.push_back(SlotTask::Contend(slot.clone()));
            }
        }
        self.wanted = wanted;
    }

    fn contend(&mut self, slot: SlotName) {
        self.slots.insert(slot.clone(), Slot::Contending);
        self.tasks.push_back(SlotTask::Contend(slot));
    }
}
