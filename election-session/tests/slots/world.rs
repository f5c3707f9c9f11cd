//! A store, its history, and members that see it late.

mod effects;

use std::collections::{BTreeMap, BTreeSet};

use core::time::Duration;

use election_session::slots::{
    SlotDecision, SlotHolder, SlotName, SlotPauses, SlotPlan, SlotPlanner, SlotTask,
};
use zk_session::Instant;

/// How often each fault may happen still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) joins: u8,
    pub(crate) deaths: u8,
    /// Of sessions whose process lives.
    pub(crate) expiries: u8,
    pub(crate) leaves: u8,
    /// Members that are drained, or are not any more.
    pub(crate) drains: u8,
    /// Plans overwritten or deleted.
    pub(crate) nonsense: u8,
    /// Guards that users drop without being told to.
    pub(crate) drops: u8,
}

/// Whether deadlines come. With a clock that stands still users end their work when told to. With
/// one that runs they end it when the lock is lost, and time passes once all else is at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Clock {
    Runs,
    Stopped,
}

/// The plan's znode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stored {
    Nothing,
    Nonsense,
    Plan(SlotPlan),
}

/// What the store has shown at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Moment {
    members: BTreeMap<SlotName, u32>,
    plan: Stored,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    /// Its candidate's number, unless its session has expired.
    candidate: Option<u8>,
    planner: Option<SlotPlanner>,
    holder: SlotHolder,
    /// The last plan that it has seen.
    known: Option<SlotPlan>,
    is_leaving: bool,
    /// How much of the history it has seen of the members, and of the plan.
    members_seen: usize,
    plan_seen: usize,
    /// Slots whose work is to end.
    ending: BTreeSet<SlotName>,
    /// Guards that are lost, and that the user has still.
    lost: BTreeSet<SlotName>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    names: Vec<SlotName>,
    slots: Vec<SlotName>,
    /// Slots that are to be apart.
    groups: Vec<Vec<SlotName>>,
    pauses: SlotPauses,
    budget: Budget,
    now: Instant,
    clock: Clock,
    processes: BTreeMap<SlotName, Process>,
    drained: BTreeSet<SlotName>,
    candidates: u8,
    /// From the oldest moment that a client may still see to the present.
    history: Vec<Moment>,
    /// The moment from which each first candidate has been the first.
    first_since: usize,
    /// Of each slot's lock.
    queues: BTreeMap<SlotName, Vec<SlotName>>,
    /// Slots that planners took from members that were there, and as many as they were allowed to.
    moved: usize,
    allowed: usize,
}

const WITHIN: Duration = Duration::from_secs(1);

impl World {
    pub(crate) fn new(
        (members, slots): (usize, usize),
        pauses: SlotPauses,
        clock: Clock,
        budget: Budget,
    ) -> Self {
        let names = |letter, count| {
            (0..count).map(move |at| format!("{letter}{at}").parse().expect("a name"))
        };
        let moment = Moment { members: BTreeMap::new(), plan: Stored::Nothing };
        Self {
            names: names("m", members).collect(),
            slots: names("s", slots).collect(),
            groups: Vec::new(),
            pauses,
            budget,
            now: Instant::ORIGIN,
            clock,
            processes: BTreeMap::new(),
            drained: BTreeSet::new(),
            candidates: 0,
            history: vec![moment],
            first_since: 0,
            queues: BTreeMap::new(),
            moved: 0,
            allowed: 0,
        }
    }

    /// Has all planners keep the first slot and the last one apart.
    pub(crate) fn with_ends_apart(mut self) -> Self {
        self.groups =
            vec![self.slots.first().into_iter().chain(self.slots.last()).cloned().collect()];
        self
    }

    /// Returns every state that may follow, with the step to it.
    pub(crate) fn successors(&self) -> Vec<(String, Self)> {
        let mut all = self.faults();
        all.extend(self.steps());
        all
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.steps().is_empty()
    }

    /// # Errors
    ///
    /// A law is broken.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.moved > self.allowed {
            return Err(format!("{} slots were moved, of {}", self.moved, self.allowed));
        }
        let able: Vec<&SlotName> = self
            .now_there()
            .iter()
            .filter(|(_, weight)| **weight > 0)
            .map(|(name, _)| name)
            .collect();
        if able.is_empty() || !self.is_at_rest() {
            return Ok(());
        }
        let Stored::Plan(plan) = &self.latest().plan else {
            return Err("no plan at rest".to_owned());
        };
        for slot in &self.slots {
            let owner = plan.owners().get(slot).copied().flatten();
            let owner = owner.filter(|owner| able.contains(owner));
            let holder = self.queues.get(slot).and_then(|queue| queue.first());
            let is_held = holder.is_some_and(|name| self.processes[name].holder.is_held(slot));
            if owner.is_none() || owner != holder || !is_held {
                return Err(format!("{slot} is planned for {owner:?}, and held by {holder:?}"));
            }
        }
        for group in self.groups.iter().filter(|group| group.len() <= able.len()) {
            let holders: BTreeSet<_> = group
                .iter()
                .filter_map(|slot| plan.owners().get(slot).copied().flatten())
                .collect();
            if holders.len() < group.len() {
                return Err(format!("{group:?} are not apart at rest: {plan}"));
            }
        }
        let held = able.iter().map(|name| plan.slots_of(name).len());
        if held.clone().max() > held.min().map(|least| least + 1) {
            return Err("not even at rest".to_owned());
        }
        Ok(())
    }

    fn faults(&self) -> Vec<(String, Self)> {
        let mut all = Vec::new();
        let mut fault = |name: &SlotName,
                         what: &str,
                         left: fn(&mut Budget) -> &mut u8,
                         effect: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            if let Some(less) = left(&mut next.budget).checked_sub(1) {
                *left(&mut next.budget) = less;
                effect(&mut next);
                all.push((format!("{name} {what}"), next.settled()));
            }
        };
        for name in &self.names {
            let Some(process) = self.processes.get(name) else {
                fault(name, "joins", |b| &mut b.joins, &|next| next.join(name));
                continue;
            };
            fault(name, "dies", |b| &mut b.deaths, &|next| {
                next.expire(name);
                next.processes.remove(name);
                for queue in next.queues.values_mut() {
                    queue.retain(|other| other != name);
                }
            });
            if process.candidate.is_some() {
                fault(name, "expires", |b| &mut b.expiries, &|next| next.expire(name));
            }
            if !process.is_leaving {
                fault(name, "leaves", |b| &mut b.leaves, &|next| next.leave(name));
                fault(name, "is drained or not", |b| &mut b.drains, &|next| next.drain(name));
            }
            for slot in self.slots.iter().filter(|slot| process.holder.is_held(slot)) {
                fault(name, "drops a guard", |b| &mut b.drops, &|next| next.drop_guard(name, slot));
            }
        }
        for plan in [Stored::Nothing, Stored::Nonsense] {
            let name = &self.names[0];
            fault(name, "'s plan is overwritten", |b| &mut b.nonsense, &|next| {
                next.record(|moment| moment.plan = plan.clone());
            });
        }
        all
    }

    /// Returns what goes on by itself.
    fn steps(&self) -> Vec<(String, Self)> {
        let prompt = self.prompt_steps();
        match self.next_moment() {
            Some(moment) if prompt.is_empty() => {
                let mut next = self.clone();
                next.now = moment;
                for process in next.processes.values_mut() {
                    process.holder.handle_timeout(moment);
                }
                vec![(format!("it is {moment:?}"), next.settled())]
            }
            _ => prompt,
        }
    }

    fn prompt_steps(&self) -> Vec<(String, Self)> {
        let mut all = Vec::new();
        let mut step = |what: String, effect: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            effect(&mut next);
            let next = next.settled();
            if next != *self {
                all.push((what, next));
            }
        };
        let last = self.history.len() - 1;
        for (name, process) in &self.processes {
            if process.candidate.is_none() && !process.is_leaving {
                step(format!("{name} stands again"), &|next| next.stand_again(name));
            }
            if process.planner.is_none() && self.first() == Some(name) {
                step(format!("{name} leads"), &|next| next.lead(name));
            }
            if process.planner.is_some() {
                step(format!("{name} plans"), &|next| next.plan(name));
            }
            if process.members_seen < last && process.planner.is_some() {
                step(format!("{name} sees members"), &|next| {
                    next.process(name).members_seen += 1;
                });
            }
            if process.plan_seen < last {
                step(format!("{name} sees the plan"), &|next| next.see_plan(name));
            }
            let is_obedient = self.clock == Clock::Stopped;
            let ending = process.ending.iter().filter(|_| is_obedient);
            for slot in ending.chain(&process.lost) {
                step(format!("{name} ends {slot}"), &|next| next.drop_guard(name, slot));
            }
        }
        all
    }

    fn process(&mut self, name: &SlotName) -> &mut Process {
        self.processes.get_mut(name).expect("it is there")
    }

    fn latest(&self) -> &Moment {
        self.history.last().expect("the present is never forgotten")
    }

    fn now_there(&self) -> &BTreeMap<SlotName, u32> {
        &self.latest().members
    }

    fn first(&self) -> Option<&SlotName> {
        let standing = self.processes.iter().filter_map(|(name, p)| Some((p.candidate?, name)));
        standing.min().map(|(_, name)| name)
    }

    fn record(&mut self, change: impl FnOnce(&mut Moment)) {
        let mut moment = self.latest().clone();
        change(&mut moment);
        if moment != *self.latest() {
            self.history.push(moment);
        }
    }

    /// Shows the members that are there, after the candidates or the drained have changed.
    fn show_members(&mut self, first: Option<&SlotName>) {
        let weight = |name: &SlotName| u32::from(!self.drained.contains(name));
        let there = self.processes.iter().filter(|(_, process)| process.candidate.is_some());
        let members: BTreeMap<_, _> = there.map(|(name, _)| (name.clone(), weight(name))).collect();
        self.record(|moment| moment.members = members);
        if self.first() != first {
            self.first_since = self.history.len() - 1;
        }
    }

    fn stand(&mut self, name: &SlotName) {
        let first = self.first().cloned();
        let number = self.candidates;
        self.candidates += 1;
        self.process(name).candidate = Some(number);
        self.show_members(first.as_ref());
        self.allowed += self.slots.len().div_ceil(self.now_there().len());
    }

    fn next_moment(&self) -> Option<Instant> {
        if self.clock == Clock::Stopped {
            return None;
        }
        let there = |process: &Process| {
            let members = self.history[process.members_seen].members.clone();
            let plan = match &self.history[process.plan_seen].plan {
                Stored::Plan(plan) => Some(plan.clone()),
                Stored::Nothing | Stored::Nonsense => None,
            };
            let until = process.planner.clone().and_then(|mut planner| {
                match planner.decide(self.now, &members, plan.as_ref()) {
                    SlotDecision::Rest(until) => until,
                    SlotDecision::Write(_) => None,
                }
            });
            until.into_iter().chain(process.holder.poll_timeout()).min()
        };
        self.processes.values().filter_map(there).min().filter(|moment| *moment > self.now)
    }

    /// Does what holders ask for, and forgets what no client can see any more.
    fn settled(mut self) -> Self {
        for name in self.names.clone() {
            while let Some(task) = self.processes.get_mut(&name).and_then(|p| p.holder.poll_task())
            {
                match task {
                    SlotTask::Contend(slot) => {
                        let queue = self.queues.entry(slot).or_default();
                        assert!(!queue.contains(&name), "{name} contends twice");
                        queue.push(name.clone());
                    }
                    SlotTask::Abandon(slot) => self.unqueue(&name, &slot),
                    SlotTask::GiveUp(slot, _) => {
                        self.process(&name).ending.insert(slot);
                    }
                    SlotTask::Release(slot) => {
                        self.unqueue(&name, &slot);
                        self.process(&name).lost.insert(slot);
                    }
                }
            }
            let is_over = |process: &Process| process.is_leaving && process.holder.is_idle();
            if self.processes.get(&name).is_some_and(is_over) {
                self.processes.remove(&name);
            }
        }
        self.skip();
        let last = self.history.len() - 1;
        let seen = self.processes.values().map(|process| {
            if process.planner.is_some() {
                process.members_seen.min(process.plan_seen)
            } else {
                process.plan_seen
            }
        });
        let oldest = seen.min().unwrap_or(last);
        self.history.drain(..oldest);
        self.first_since = self.first_since.saturating_sub(oldest);
        for process in self.processes.values_mut() {
            process.members_seen = process.members_seen.saturating_sub(oldest);
            process.plan_seen -= oldest;
        }
        self.queues.retain(|_, queue| !queue.is_empty());
        self.hold();
        self
    }

    /// Lets the first of each queue hold.
    fn hold(&mut self) {
        for (slot, queue) in &self.queues {
            let process = queue.first().and_then(|name| self.processes.get_mut(name));
            if let Some(process) = process.filter(|process| !process.holder.is_held(slot)) {
                assert!(process.holder.handle_held(slot));
            }
        }
    }

    /// Skips moments that show no client anything new.
    fn skip(&mut self) {
        let history = &self.history;
        for process in self.processes.values_mut() {
            let shown = &history[process.members_seen].members;
            let later = history[process.members_seen..].iter();
            process.members_seen += later.take_while(|moment| moment.members == *shown).count() - 1;
            let shown = &history[process.plan_seen].plan;
            let later = history[process.plan_seen..].iter();
            process.plan_seen += later.take_while(|moment| moment.plan == *shown).count() - 1;
            if process.planner.is_none() {
                process.members_seen = history.len() - 1;
            }
        }
    }
}
