//! Sharing slots: a member's candidate, its holder with its locks, and the planner of the member that leads.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use election_core::election::{Nominee, Policy};
use election_core::lock::{Lock, LockOptions};
use election_core::{NomineeId, Token};
use election_session::slots::{
    GuardEnd, SlotDecision, SlotHolder, SlotName, SlotPlan, SlotPlanner, SlotTask,
};
use election_session::{Chroot, Grant, GrantChange, RecipeKey, Site, TrackerWatches, child_path};
use zk_jute::records::{
    Acl, CheckVersionRequest, CreateMode, CreateRequest, MultiOp, MultiRequest, SetDataRequest,
};
use zk_jute::{Vector, Version};
use zk_session::Instant;

use super::caching::Cached;
use super::standing::Standing;
use super::{CallId, Client, Observed};
use crate::checker::Entry;
use crate::slots::{DRAINED, MEMBERS, PLAN, SlotTerms, WorkEnds, ledger_of, lock_of, slots};

/// A member that shares slots.
#[derive(Debug)]
pub(super) struct Sharing {
    terms: SlotTerms,
    holder: SlotHolder,
    /// Its candidate, unless it leaves.
    candidate: Option<RecipeKey>,
    /// The lock of each slot that it asks for or holds.
    locks: BTreeMap<SlotName, RecipeKey>,
    /// The planner of the term of this token.
    planner: Option<(Token, SlotPlanner)>,
    /// The last plan that it has seen.
    known: Option<SlotPlan>,
    /// The write of a plan that is on its way.
    writes: Option<CallId>,
    plan_at: Option<Instant>,
    /// How many contenders there were.
    contenders: u16,
}

impl Client {
    /// Joins as a member of this name.
    pub(crate) fn share_slots(
        &mut self,
        now: Instant,
        (name, terms): (SlotName, SlotTerms),
        watching: TrackerWatches,
    ) {
        if self.is_closed() {
            return;
        }
        let data = format!("{name} {}", terms.weight);
        let nominee = Standing::SlotMember(Nominee::new(terms.id, Policy::default()));
        let candidate = self.stand_at(now, nominee, MEMBERS, data);
        self.keep(Cached::Plan, PLAN, watching);
        self.keep(Cached::Members, MEMBERS, watching);
        self.keep(Cached::Drained, DRAINED, watching);
        self.sharing = Some(Sharing {
            holder: SlotHolder::new(name, terms.give_up_within),
            terms,
            candidate: Some(candidate),
            locks: BTreeMap::new(),
            planner: None,
            known: None,
            writes: None,
            plan_at: None,
            contenders: 0,
        });
    }

    /// Begins to leave: the others plan without it, and it gives up what it holds.
    pub(crate) fn leave_slots(&mut self, now: Instant) {
        let Some(sharing) = &mut self.sharing else { return };
        sharing.holder.leave(now);
        sharing.planner = None;
        if let Some(candidate) = sharing.candidate.take() {
            self.host.withdraw(now, candidate);
        }
    }

    fn stand_at(&mut self, now: Instant, recipe: Standing, path: &str, data: String) -> RecipeKey {
        let node = path.parse().expect("it is a path");
        let site = Site::new(&node, &Chroot::default()).payload(Bytes::from(data));
        let key = self.host.stand(now, recipe, Arc::new(site));
        self.told.push(Observed::Entry(Entry::Stood(key)));
        key
    }

    pub(crate) const fn shares_slots(&self) -> bool {
        self.sharing.is_some()
    }

    /// Returns the recipes of its share: the candidate, and the locks.
    pub(crate) fn parts_of_share(&self) -> usize {
        let recipes = self.host.recipes();
        let is_of_share =
            |recipe: &Standing| matches!(recipe, Standing::SlotMember(_) | Standing::SlotLock(_));
        recipes.filter(|(_, recipe)| is_of_share(recipe)).count()
    }

    /// Returns the ids of those recipes, which their znodes have in their names.
    pub(crate) fn ids_of_share(&self) -> impl Iterator<Item = NomineeId> {
        self.host.recipes().filter_map(|(_, recipe)| match recipe {
            Standing::SlotMember(nominee) => Some(nominee.id()),
            Standing::SlotLock(lock) => Some(lock.id()),
            _ => None,
        })
    }

    /// Returns the slots of which the locks are held, for as long as the lease is in force.
    pub(crate) fn held_slots(&self) -> impl Iterator<Item = (&SlotName, Token)> {
        let locks = self.sharing.iter().flat_map(|sharing| &sharing.locks);
        locks.filter_map(|(slot, key)| match *self.host.view(*key)?.grant {
            Grant::Announced { token } => Some((slot, token)),
            _ => None,
        })
    }

    /// Returns when the member has something to do.
    pub(super) fn share_due(&self) -> Option<Instant> {
        let sharing = self.sharing.as_ref()?;
        sharing.holder.poll_timeout().into_iter().chain(sharing.plan_at).min()
    }

    /// Whether a recipe is one of a share.
    pub(super) fn is_shared(&self, key: RecipeKey) -> bool {
        let recipe = self.host.recipe(key);
        matches!(recipe, Some(Standing::SlotMember(_) | Standing::SlotLock(_)))
    }

    /// Takes in a step of a slot's lock.
    pub(super) fn see_share(
        &mut self,
        now: Instant,
        (key, grant): (RecipeKey, Option<GrantChange>),
    ) -> Option<Observed> {
        let sharing = self.sharing.as_mut()?;
        let slot = sharing.locks.iter().find(|(_, lock)| **lock == key)?.0.clone();
        match grant? {
            GrantChange::Announced { token, .. } => {
                if sharing.holder.handle_held(&slot) {
                    return Some(Observed::SlotGained(slot, token));
                }
                sharing.locks.remove(&slot);
                self.host.withdraw(now, key);
                None
            }
            GrantChange::Ended { .. } => {
                // Of a slot that was released the user ends the work later.
                if sharing.holder.is_held(&slot) && self.host.recipe(key).is_some() {
                    sharing.locks.remove(&slot);
                    sharing.holder.handle_dropped(now, &slot, GuardEnd::Lost);
                    self.host.withdraw(now, key);
                    return Some(Observed::SlotLost(slot));
                }
                None
            }
            GrantChange::AwaitsLease(_) => None,
        }
    }

    /// Takes in that a recipe of a share is over.
    pub(super) fn see_share_over(&mut self, now: Instant, key: RecipeKey) {
        let Some(sharing) = &mut self.sharing else { return };
        if sharing.candidate.take_if(|candidate| *candidate == key).is_some() {
            // Its nomination failed: the member joins again.
            sharing.holder.leave(now);
        }
        let slot = sharing.locks.iter().find(|(_, lock)| **lock == key);
        let Some(slot) = slot.map(|(slot, _)| slot.clone()) else { return };
        sharing.locks.remove(&slot);
        if sharing.holder.is_held(&slot) {
            sharing.holder.handle_dropped(now, &slot, GuardEnd::Lost);
        } else {
            // Its contender failed: another one takes its place.
            self.contend_for_slot(now, &slot);
        }
    }

    fn contend_for_slot(&mut self, now: Instant, slot: &SlotName) {
        if self.is_closed() {
            return;
        }
        let Some(sharing) = &mut self.sharing else { return };
        sharing.contenders += 1;
        let mut bytes = sharing.terms.id.to_bytes();
        let [_, _, _, _, _, _, _, high, low, ..] = &mut bytes;
        [*high, *low] = sharing.contenders.to_be_bytes();
        let id = NomineeId::from_bytes(bytes);
        let lock = Lock::new(id, LockOptions::exclusive()).expect("the format has ids");
        let data = sharing.holder.member().to_string();
        let key = self.stand_at(now, Standing::SlotLock(lock), &lock_of(slot), data);
        if let Some(sharing) = &mut self.sharing {
            sharing.locks.insert(slot.clone(), key);
        }
    }

    /// Ends the work on a slot, as its user.
    pub(crate) fn end_work(&mut self, now: Instant, slot: &SlotName, ends: WorkEnds) {
        let Some(sharing) = self.sharing.as_mut().filter(|it| it.holder.is_held(slot)) else {
            return;
        };
        if ends == WorkEnds::ByItself && !sharing.locks.contains_key(slot) {
            return;
        }
        let key = sharing.locks.remove(slot);
        sharing.holder.handle_dropped(now, slot, GuardEnd::Released);
        if let Some(key) = key {
            self.host.withdraw(now, key);
        }
    }

    /// Lets each slot that is held be written to, under the guard of its lock.
    pub(crate) fn work_on_slots(&mut self, now: Instant) {
        if self.host.lease_deadline().is_none_or(|deadline| deadline <= now) {
            return;
        }
        let held: Vec<_> = self.held_slots().map(|(slot, token)| (slot.clone(), token)).collect();
        for (slot, token) in held {
            let key = self.sharing.as_ref().and_then(|sharing| sharing.locks.get(&slot));
            let Some(Standing::SlotLock(lock)) = key.and_then(|key| self.host.recipe(*key)) else {
                continue;
            };
            let Some(znode) = lock.znode() else { continue };
            let (guard, ledger) = (child_path(&lock_of(&slot), znode), ledger_of(&slot));
            let (version, data) = (Version::ANY, token.get().to_be_bytes());
            let operations = [
                MultiOp::Check(CheckVersionRequest { path: &guard, version }),
                MultiOp::SetData(SetDataRequest { path: &ledger, data: Some(&data), version }),
            ];
            self.submit(now, &MultiRequest::new(&operations));
        }
    }

    /// Does what the holder and the planner ask for.
    pub(super) fn drive_share(&mut self, now: Instant) {
        if self.is_closed() {
            self.sharing = None;
        }
        let plan = self.current(Cached::Plan).map(|it| it.get(PLAN).cloned());
        let Some(sharing) = &mut self.sharing else { return };
        if let Some(Some(node)) = &plan
            && let Ok(plan) = SlotPlan::decode(node.data.as_deref().unwrap_or_default())
            && sharing.candidate.is_some()
            && sharing.known.as_ref() != Some(&plan)
        {
            sharing.holder.handle_plan(now, &plan);
            sharing.known = Some(plan);
        }
        sharing.holder.handle_timeout(now);
        while let Some(task) = self.sharing.as_mut().and_then(|it| it.holder.poll_task()) {
            self.do_task(now, task);
        }
        self.plan_if_leading(now);
        if self.sharing.as_ref().is_some_and(|it| it.candidate.is_none() && it.holder.is_idle()) {
            self.sharing = None;
            for which in [Cached::Plan, Cached::Members, Cached::Drained] {
                self.drop_cache(now, which);
            }
        }
    }

    fn do_task(&mut self, now: Instant, task: SlotTask) {
        let Some(sharing) = &mut self.sharing else { return };
        match task {
            SlotTask::Contend(slot) => self.contend_for_slot(now, &slot),
            SlotTask::Abandon(slot) | SlotTask::Release(slot) => {
                if let Some(key) = sharing.locks.remove(&slot) {
                    self.host.withdraw(now, key);
                }
            }
            SlotTask::GiveUp(slot, by) => {
                let within = by.elapsed().saturating_sub(now.elapsed());
                self.told.push(Observed::SlotToGiveUp(slot, within));
            }
        }
    }

    /// Plans, if its candidate leads, and all that counts is known.
    fn plan_if_leading(&mut self, now: Instant) {
        let Some(sharing) = &mut self.sharing else { return };
        // What is due now may wait for a cache.
        sharing.plan_at.take_if(|at| *at <= now);
        let candidate = sharing.candidate.and_then(|key| Some((key, self.host.held(now, key)?)));
        let Some((key, token)) = candidate else {
            if let Some(sharing) = &mut self.sharing {
                (sharing.planner, sharing.plan_at) = (None, None);
            }
            return;
        };
        let (Some(plan), Some(members), Some(drained)) = (
            self.current(Cached::Plan),
            self.current(Cached::Members),
            self.current(Cached::Drained),
        ) else {
            return;
        };
        let stored = plan.get(PLAN).cloned();
        let drained = drained.children(DRAINED);
        let members = members.iter().map(|(_, node)| (node.czxid, node.data.as_deref()));
        let present = present(members, &drained);
        let Some(sharing) = self.sharing.as_mut().filter(|it| it.writes.is_none()) else { return };
        if sharing.planner.as_ref().is_none_or(|(term, _)| *term != token) {
            let known = sharing.known.clone();
            let planner = SlotPlanner::new(slots().collect(), sharing.terms.pauses, known);
            sharing.planner = Some((token, planner.apart(&sharing.terms.apart)));
        }
        let Some((_, planner)) = &mut sharing.planner else { return };
        let shown =
            stored.as_ref().map(|node| SlotPlan::decode(node.data.as_deref().unwrap_or_default()));
        let decided = planner.decide(now, &present, shown.and_then(Result::ok).as_ref());
        match decided {
            SlotDecision::Rest(until) => sharing.plan_at = until,
            SlotDecision::Write(plan) => {
                sharing.plan_at = None;
                self.write_plan(now, key, (&plan, stored.map(|node| node.version)));
            }
        }
    }

    fn write_plan(
        &mut self,
        now: Instant,
        key: RecipeKey,
        (plan, version): (&SlotPlan, Option<Version>),
    ) {
        let Some(Standing::SlotMember(nominee)) = self.host.recipe(key) else { return };
        let Some(candidate) = nominee.candidate() else { return };
        let (guard, data) = (child_path(MEMBERS, candidate), plan.encode());
        let check = CheckVersionRequest { path: &guard, version: Version::ANY };
        let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
        let data = Some(&*data);
        let write = match version {
            Some(version) => MultiOp::SetData(SetDataRequest { path: PLAN, data, version }),
            None => MultiOp::Create(CreateRequest { path: PLAN, data, acl, mode }),
        };
        let call = self.submit_call(now, &MultiRequest::new(&[MultiOp::Check(check), write]));
        if let Some(sharing) = &mut self.sharing {
            sharing.writes = call;
            if call.is_none() {
                sharing.plan_at = Some(now + core::time::Duration::from_millis(200));
            }
        }
    }

    /// Takes in the answer to a call; perhaps the write of a plan. Whatever became of it, the planner looks at
    /// what is there.
    pub(super) fn plan_answered(&mut self, call: CallId) {
        if let Some(sharing) = &mut self.sharing {
            sharing.writes.take_if(|write| *write == call);
        }
    }
}

/// Returns the members that are present, with their weights; those that are drained have none. Of two processes of
/// one name the later one counts.
fn present<'a>(
    candidates: impl Iterator<Item = (zk_jute::Zxid, Option<&'a [u8]>)>,
    drained: &[String],
) -> BTreeMap<SlotName, u32> {
    let mut by_age: Vec<_> = candidates.collect();
    by_age.sort_by_key(|(czxid, _)| *czxid);
    let weighed = by_age.into_iter().filter_map(|(_, data)| {
        let (name, weight) = core::str::from_utf8(data?).ok()?.split_once(' ')?;
        let weight = if drained.iter().any(|it| it == name) { 0 } else { weight.parse().ok()? };
        Some((name.parse().ok()?, weight))
    });
    weighed.collect()
}
