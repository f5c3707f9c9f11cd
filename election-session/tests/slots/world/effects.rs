//! What each step does.

use std::collections::BTreeSet;

use election_session::slots::{
    GuardEnd, SlotDecision, SlotHolder, SlotName, SlotPlan, SlotPlanner,
};

use super::{Process, Stored, WITHIN, World};

impl World {
    pub(super) fn join(&mut self, name: &SlotName) {
        let process = Process {
            candidate: None,
            planner: None,
            holder: SlotHolder::new(name.clone(), WITHIN),
            known: None,
            is_leaving: false,
            members_seen: 0,
            plan_seen: 0,
            ending: BTreeSet::new(),
            lost: BTreeSet::new(),
        };
        self.processes.insert(name.clone(), process);
        self.stand(name);
        self.show_plan(name);
    }

    pub(super) fn stand_again(&mut self, name: &SlotName) {
        self.process(name).planner = None;
        self.stand(name);
    }

    /// Ends the session of a process, which does not know.
    pub(super) fn expire(&mut self, name: &SlotName) {
        let first = self.first().cloned();
        let mut lost = Vec::new();
        for (slot, queue) in &mut self.queues {
            if queue.contains(name) {
                queue.retain(|other| other != name);
                lost.push(slot.clone());
            }
        }
        for slot in lost {
            let Some(process) = self.processes.get_mut(name) else { continue };
            if process.holder.is_held(&slot) {
                process.lost.insert(slot);
            } else {
                // A contender that waits asks again by itself.
                self.queues.entry(slot).or_default().push(name.clone());
            }
        }
        if let Some(process) = self.processes.get_mut(name) {
            process.candidate = None;
        }
        self.show_members(first.as_ref());
    }

    pub(super) fn leave(&mut self, name: &SlotName) {
        let (first, now) = (self.first().cloned(), self.now);
        let process = self.process(name);
        (process.is_leaving, process.candidate, process.planner) = (true, None, None);
        process.holder.leave(now);
        self.show_members(first.as_ref());
    }

    pub(super) fn drain(&mut self, name: &SlotName) {
        if self.drained.remove(name) {
            self.allowed += self.slots.len().div_ceil(self.processes.len());
        } else {
            self.drained.insert(name.clone());
        }
        let first = self.first().cloned();
        self.show_members(first.as_ref());
    }

    /// A leader has seen all up to the end of the candidate before its own.
    pub(super) fn lead(&mut self, name: &SlotName) {
        let (slots, pauses, since) = (self.slots.clone(), self.pauses, self.first_since);
        while self.processes[name].plan_seen < since {
            self.see_plan(name);
        }
        let groups = self.groups.clone();
        let process = self.process(name);
        process.members_seen = since;
        let planner = SlotPlanner::new(slots, pauses, process.known.clone());
        process.planner = Some(planner.apart(&groups));
    }

    pub(super) fn see_plan(&mut self, name: &SlotName) {
        self.process(name).plan_seen += 1;
        self.show_plan(name);
    }

    pub(super) fn show_plan(&mut self, name: &SlotName) {
        let (seen, now) = (self.processes[name].plan_seen, self.now);
        let moment = self.history[seen].clone();
        let process = self.process(name);
        if let Stored::Plan(plan) = moment.plan {
            if !process.is_leaving {
                process.holder.handle_plan(now, &plan);
            }
            process.known = Some(plan);
        }
    }

    pub(super) fn plan(&mut self, name: &SlotName) {
        let (now, process) = (self.now, &self.processes[name]);
        let members = self.history[process.members_seen].members.clone();
        let stored = self.history[process.plan_seen].plan.clone();
        let is_last = stored == self.latest().plan
            && !self.history[process.plan_seen..].iter().any(|moment| moment.plan != stored);
        let is_fresh = process.known.is_none();
        // The write is guarded by the candidate.
        let is_applied = is_last && process.candidate.is_some();
        let planner = self.process(name).planner.as_mut().expect("it leads");
        let plan = match &stored {
            Stored::Plan(plan) => Some(plan),
            Stored::Nothing | Stored::Nonsense => None,
        };
        let SlotDecision::Write(plan) = planner.decide(now, &members, plan) else { return };
        if is_applied {
            self.count_moves(&plan, is_fresh);
            self.record(|moment| moment.plan = Stored::Plan(plan));
        }
    }

    pub(super) fn count_moves(&mut self, plan: &SlotPlan, is_fresh: bool) {
        let before = self.history.iter().rev().find_map(|moment| match &moment.plan {
            Stored::Plan(plan) => Some(plan),
            Stored::Nothing | Stored::Nonsense => None,
        });
        let Some(before) = before else { return };
        let there = self.now_there();
        let owners = plan.owners();
        let moved = before.owners().into_iter().filter(|(slot, owner)| {
            let is_there = owner.is_some_and(|owner| there.get(owner).is_some_and(|w| *w > 0));
            is_there && owners.get(slot) != Some(owner)
        });
        let moved = moved.count();
        // A planner that has not seen a plan before it was overwritten plans anew.
        if !is_fresh {
            self.moved += moved;
        }
    }

    pub(super) fn drop_guard(&mut self, name: &SlotName, slot: &SlotName) {
        let now = self.now;
        let process = self.process(name);
        process.ending.remove(slot);
        let is_lost = process.lost.remove(slot);
        let end = if is_lost { GuardEnd::Lost } else { GuardEnd::Released };
        process.holder.handle_dropped(now, slot, end);
        if !is_lost {
            self.unqueue(name, slot);
        }
    }

    pub(super) fn unqueue(&mut self, name: &SlotName, slot: &SlotName) {
        self.queues.entry(slot.clone()).or_default().retain(|other| other != name);
    }
}
