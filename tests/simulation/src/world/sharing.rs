//! Clients share slots; the world compares who holds them with each other, and with the plans that servers had.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use election_core::{NomineeId, Token};
use election_session::slots::{PlannedMember, SlotName, SlotPlan};
use zk_embedded::Database;
use zk_jute::Zxid;

use super::{Event, Phase, World};
use crate::checker::Broken;
use crate::client::{Chore, Client, Observed};
use crate::many::draw_watches;
use crate::outcome::{Law, SlotStats};
use crate::plan::{LeasePromise, Plan};
use crate::recipes::{Apart, PlanBook, SLOTS};
use crate::server::{Condition, Host};
use crate::slots::{
    COUNT, DRAINED, MEMBERS, PLAN, SlotTerms, WorkEnds, drain_of, ledger_of, lock_of, member, slots,
};
use crate::uses::use_id;

/// What an operator writes where the plan stands.
const NONSENSE: &str = "operator";
/// The part of an id's text that is the same in all znodes of a recipe.
const KEPT_OF_ID: usize = 28;
/// How long a work goes on at most that ends by itself.
const LONGEST_WORK: u64 = 20_000;

/// The state of a run in which clients share slots.
#[derive(Debug)]
pub(super) struct SlotBook {
    rng: fastrand::Rng,
    plans: PlanBook,
    /// The greatest token of each slot.
    last: BTreeMap<SlotName, Token>,
    /// The ledger of each slot.
    ledgers: BTreeMap<SlotName, i64>,
    seen: Zxid,
    members: u32,
    gained: u64,
    lost: u64,
    writes: u64,
}

impl SlotBook {
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let mut rng = fastrand::Rng::with_seed(plan.seed ^ 0x5107_5107_0000);
        let mut plans = PlanBook::new(Apart::draw(&mut rng.fork(), COUNT));
        plans.operator_writes(NONSENSE);
        plan.many.map(|_| Self {
            rng,
            plans,
            last: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            seen: Zxid::ZERO,
            members: 0,
            gained: 0,
            lost: 0,
            writes: 0,
        })
    }

    pub(super) fn stats(&self) -> SlotStats {
        let (counts, gained, lost) = (self.plans.counts, self.gained, self.lost);
        let (plans, moved, excused) = (counts.plans, counts.moved, counts.excused);
        let (apart, drained, writes) = (counts.apart, counts.drained, self.writes);
        SlotStats { gained, lost, writes, plans, moved, excused, apart, drained }
    }

    /// Takes in what a server shows, if none has shown that much before.
    pub(super) fn take_in(&mut self, database: &Database) -> Result<(), Broken> {
        if database.last_zxid() <= self.seen {
            return Ok(());
        }
        self.seen = database.last_zxid();
        let planned = self.plans.take_in(database);
        planned.map_err(|detail| (Law::PlansEven, detail))?;
        for slot in slots() {
            let Some(znode) = database.znode(&ledger_of(&slot)) else { continue };
            let data = znode.data().and_then(|data| data.try_into().ok());
            let token = data.map_or(0, i64::from_be_bytes);
            let before = self.ledgers.insert(slot.clone(), token).unwrap_or(0);
            if token < before {
                let detail = format!("{token} is written to slot {slot} after {before}");
                return Err((Law::GuardedWritesInOrder, detail));
            }
            self.writes += u64::from(token > before);
        }
        Ok(())
    }

    fn is_gained(
        &mut self,
        (client, promise): (usize, LeasePromise),
        slot: &SlotName,
        token: Token,
    ) -> Result<(), Broken> {
        self.gained += 1;
        if promise == LeasePromise::Nothing {
            let detail = format!("client {} gains slot {slot}", client + 1);
            return Err((Law::NoLeaseThere, detail));
        }
        match self.last.insert(slot.clone(), token) {
            Some(last) if token <= last && promise == LeasePromise::Lease => {
                let detail = format!("client {} gains {slot} by {token}, after {last}", client + 1);
                Err((Law::TokensGrow, detail))
            }
            _ => Ok(()),
        }
    }
}

impl World<'_> {
    /// Lets a client join those that share slots, if it does not, or leave them, until the calm; and its works write.
    pub(super) fn tend_share(&mut self, client: usize) -> Result<(), Broken> {
        let (Some(many), Some(book)) = (self.plan.many, &mut self.slots) else {
            return Ok(());
        };
        if matches!(self.phase, Phase::Incidents | Phase::Settling { .. }) {
            self.agenda.add(self.now + many.every, Event::TendShare(client));
        }
        let is_calm = self.now >= self.plan.calm_at;
        let (leaves, deed) = (book.rng.u8(..32) == 0, book.rng.u8(..64));
        book.members += 1;
        // Unlike those of uses of the same number.
        let id = use_id(client, book.members | 0x8000_0000);
        let terms = SlotTerms::draw(&mut book.rng, id, book.plans.apart());
        let watches = draw_watches(&mut book.rng);
        if let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) {
            let now = process.now(self.now);
            if let Some(running) = &mut process.client {
                if !running.shares_slots() {
                    running.share_slots(now, (member(client), terms), watches);
                } else if leaves && !is_calm {
                    running.leave_slots(now);
                }
                if !is_calm {
                    running.work_on_slots(now);
                }
            }
        }
        self.delete_shares_left_behind(client);
        self.settle_client(client)?;
        // What is drained when the calm begins stays so.
        if is_calm {
            return Ok(());
        }
        let chore = match deed {
            0 => Chore::Write(PLAN.to_owned()),
            1 => Chore::Delete(PLAN.to_owned()),
            2 | 3 => Chore::Create(drain_of(client)),
            4..8 => Chore::Delete(drain_of(client)),
            _ => return Ok(()),
        };
        self.give(&[chore])
    }

    /// Deletes the candidates of members and the contenders for slots that the process before has left in a session
    /// that was handed over.
    fn delete_shares_left_behind(&mut self, client: usize) {
        let (Some(process), Some(newest)) =
            (self.processes.get_mut(client), Host::newest(&self.hosts))
        else {
            return;
        };
        let now = process.now(self.now);
        let Some(running) = process.client.as_mut().filter(|_| process.was_handed_over) else {
            return;
        };
        let Some(session) = running.session() else {
            return;
        };
        // The end of an id counts sessions.
        let kept = |id: NomineeId| id.to_string().chars().take(KEPT_OF_ID).collect();
        let own: Vec<String> = running.ids_of_share().map(kept).collect();
        for path in below_nodes(newest) {
            let owner = newest.znode(&path).map(|it| it.stat().ephemeral_owner);
            if owner == Some(session) && !own.iter().any(|id| path.contains(id)) {
                running.operate(now, &Chore::Delete(path));
            }
        }
    }

    /// Takes in what becomes of a client's slots.
    pub(super) fn observe_share(&mut self, client: usize, what: &Observed) -> Result<(), Broken> {
        let Some(book) = &mut self.slots else {
            return Ok(());
        };
        let is_calm = self.now >= self.plan.calm_at;
        match what {
            Observed::SlotGained(slot, token) => {
                book.is_gained((client, self.plan.promise()), slot, *token)?;
                if book.rng.u8(..4) == 0 && !is_calm {
                    let at = self.now + Duration::from_millis(book.rng.u64(0..LONGEST_WORK));
                    self.agenda.add(at, Event::EndWork(client, number(slot), WorkEnds::ByItself));
                }
            }
            Observed::SlotLost(_) => book.lost += 1,
            Observed::SlotToGiveUp(slot, within) => {
                // Some are late, and have lost it by then.
                let within = within.mul_f64(book.rng.f64() * 1.3);
                let at = self.now + within;
                self.agenda.add(at, Event::EndWork(client, number(slot), WorkEnds::AsAsked));
            }
            _ => return Ok(()),
        }
        self.note_change();
        Ok(())
    }

    /// Ends the work on a slot, as its user.
    pub(super) fn end_work(
        &mut self,
        client: usize,
        slot: u32,
        ends: WorkEnds,
    ) -> Result<(), Broken> {
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        if ends == WorkEnds::ByItself && self.now >= self.plan.calm_at {
            return Ok(());
        }
        if process.condition == Condition::Paused {
            let at = self.now + Duration::from_millis(300);
            self.agenda.add(at, Event::EndWork(client, slot, ends));
            return Ok(());
        }
        let now = process.now(self.now);
        let slot = slot.to_string().parse();
        if let (Some(running), Ok(slot)) = (&mut process.client, slot) {
            running.end_work(now, &slot, ends);
        }
        self.settle_client(client)
    }

    /// Checks that no two hold a slot at this moment of true time.
    pub(super) fn check_slots(&self) -> Result<(), Broken> {
        if self.slots.is_none() {
            return Ok(());
        }
        let mut holders = BTreeMap::new();
        for (client, slot, token) in self.slots_held() {
            if let Some((other, others)) = holders.insert(slot, (client, token)) {
                let detail = format!(
                    "clients {} ({others}) and {} ({token}) hold slot {slot}",
                    other + 1,
                    client + 1
                );
                return Err((Law::OneHolder, detail));
            }
        }
        Ok(())
    }

    fn slots_held(&self) -> impl Iterator<Item = (usize, &SlotName, Token)> {
        let processes = self.processes.iter().enumerate();
        processes.flat_map(|(client, process)| {
            process.slots(self.now).map(move |(slot, token)| (client, slot, token))
        })
    }

    /// Returns why slots are not settled: all clients are planned, and each slot is held by the member of the plan.
    pub(super) fn unsettled_share(&self) -> Option<String> {
        let book = self.slots.as_ref()?;
        if !self.plan.is_prompt() || self.plan.promise() == LeasePromise::Nothing {
            // Leases may not be kept at this distance, or by these servers: none plans, none holds.
            return None;
        }
        let Some((plan, _)) = book.plans.last() else {
            return Some("there is no plan".to_owned());
        };
        let newest = Host::newest(&self.hosts);
        let drained = newest.map(|newest| children_of(newest, DRAINED)).unwrap_or_default();
        let is_wrong = |(name, member): &(&SlotName, &PlannedMember)| {
            (member.weight == 0) != drained.iter().any(|it| **it == ***name)
        };
        if let Some((name, member)) = plan.members().iter().find(is_wrong) {
            return Some(format!(
                "{name} has weight {}, and {drained:?} are drained",
                member.weight
            ));
        }
        let there: BTreeSet<SlotName> = self.clients_that_go_on().map(member).collect();
        if !plan.members().keys().eq(there.iter()) {
            return Some(format!("the plan is {plan}"));
        }
        let held: BTreeMap<&SlotName, SlotName> =
            self.slots_held().map(|(client, slot, _)| (slot, member(client))).collect();
        let is_held = |(slot, owner): (&SlotName, Option<&SlotName>)| held.get(slot) == owner;
        let owners = plan.owners();
        let vacant = owners.into_iter().find(|(slot, owner)| !is_held((slot, *owner)));
        if let Some((slot, owner)) = vacant {
            return Some(format!("slot {slot} is {owner:?}'s, and {:?} holds it", held.get(slot)));
        }
        let left = self.znodes_of_share();
        let parts: usize = self.running_clients().map(Client::parts_of_share).sum();
        let wanted = there.len() + owners_of_slots(plan);
        if parts != wanted {
            return Some(format!("{parts} candidates and contenders, of {wanted}"));
        }
        (left != parts).then(|| format!("{left} znodes of {parts} candidates and contenders"))
    }

    /// Lets a client leave those that share slots, for good.
    pub(super) fn leave_share(&mut self, client: usize) {
        if let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) {
            let now = process.now(self.now);
            if let Some(running) = &mut process.client {
                running.leave_slots(now);
            }
        }
    }

    fn running_clients(&self) -> impl Iterator<Item = &Client> {
        self.processes.iter().filter_map(|process| process.client.as_ref())
    }

    fn znodes_of_share(&self) -> usize {
        Host::newest(&self.hosts).map_or(0, |newest| below_nodes(newest).count())
    }

    /// Returns the znodes that are left once all clients have.
    pub(super) fn shares_left(&self) -> usize {
        if self.slots.is_some() { self.znodes_of_share() } else { 0 }
    }

    pub(super) fn resources_of_slots(&self) -> Vec<Chore> {
        if self.plan.many.is_none() {
            return Vec::new();
        }
        let ledgers = slots().map(|slot| ledger_of(&slot));
        [SLOTS.to_owned(), DRAINED.to_owned()]
            .into_iter()
            .chain(ledgers)
            .map(Chore::Create)
            .collect()
    }
}

/// Returns the paths of the candidates of members, and of the contenders for slots.
fn below_nodes(database: &Database) -> impl Iterator<Item = String> {
    let locks = slots().map(|slot| lock_of(&slot));
    let nodes = locks.chain([MEMBERS.to_owned()]);
    nodes.flat_map(|node| {
        let children = children_of(database, &node).into_iter();
        children.map(|name| format!("{node}/{name}")).collect::<Vec<_>>()
    })
}

fn children_of<'d>(database: &'d Database, node: &str) -> Vec<&'d str> {
    database.znode(node).into_iter().flat_map(zk_embedded::Znode::children).collect()
}

/// Returns how many slots have an owner: each is asked for by that one alone.
fn owners_of_slots(plan: &SlotPlan) -> usize {
    plan.owners().values().flatten().count()
}

fn number(slot: &SlotName) -> u32 {
    slot.parse().unwrap_or_default()
}
