//! Clients use barriers, queues and the counter; the world compares their results with the servers'
//! commits.

use core::time::Duration;

use election_core::NomineeId;
use election_core::barrier::DoubleBarrierNotice;
use election_core::queue::TakerNotice;
use zk_session::Instant;

use super::{Event, World};
use crate::checker::Broken;
use crate::client::{Began, Chore, Client, Told, UseTerms, waits};
use crate::outcome::{Law, UseStats};
use crate::plan::Plan;
use crate::recipes::{BARRIER, Books, ItemId, QueueBook};
use crate::server::{Condition, Host};
use crate::uses::{Drawn, Use, Verdict, use_id};

/// Uses of one client at once.
const MOST_USES: usize = 8;

/// How long a client keeps what it has once all is well, at most.
const BRIEFLY: Duration = Duration::from_millis(300);

/// From the calm on, for so long, clients begin to wait for what comes.
const LATE: Duration = Duration::from_secs(2);

/// The state of a run in which clients use recipes.
#[derive(Debug)]
pub(super) struct UseBook {
    pub(super) rng: fastrand::Rng,
    pub(super) books: Books,
    items: u32,
    uses: u32,
    woken: u64,
}

impl UseBook {
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let uses = plan.uses?;
        Some(Self {
            rng: fastrand::Rng::with_seed(plan.seed ^ 0x05e5_0f7e_3071_d000),
            books: Books::new(usize::try_from(uses.participants).unwrap_or(usize::MAX)),
            items: 0,
            uses: 0,
            woken: 0,
        })
    }

    fn next_item(&mut self) -> ItemId {
        self.items += 1;
        ItemId(self.items)
    }

    pub(super) fn stats(&self) -> UseStats {
        let Books { barrier, double_barrier, queues, counter, .. } = &self.books;
        let (inside, left) = double_barrier.counts();
        let (counted, counts_unknown) = counter.counts();
        let (passed, woken) = (barrier.passed(), self.woken);
        let mut stats = UseStats {
            passed,
            inside,
            left,
            counted,
            counts_unknown,
            woken,
            ..UseStats::default()
        };
        for (taken, done, unknown) in queues.iter().map(QueueBook::counts) {
            stats.taken += taken;
            stats.done += done;
            stats.items_unknown += unknown;
        }
        stats
    }
}

impl World<'_> {
    /// Begins one more use of a client. It deletes the znodes that earlier processes have left in
    /// its session.
    pub(super) fn use_recipe(&mut self, client: usize) -> Result<(), Broken> {
        let (Some(uses), Some(book)) = (self.plan.uses, &mut self.uses) else {
            return Ok(());
        };
        if matches!(self.phase, super::Phase::Incidents | super::Phase::Settling { .. }) {
            self.agenda.add(self.now + uses.every, Event::Use(client));
        }
        let is_late = self.now >= self.plan.calm_at;
        let drawn =
            if is_late { Drawn::draw_late(&mut book.rng) } else { Drawn::draw(&mut book.rng) };
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        let Some(running) = &mut process.client else {
            return Ok(());
        };
        if running.uses().count() < MOST_USES && self.now < self.plan.calm_at + LATE {
            book.uses += 1;
            let id = use_id(client, book.uses);
            let began = Began { at: book.books.now(), counter: book.books.counter.value() };
            let item = book.next_item();
            let participants = uses.participants;
            let terms = UseTerms { deadline: drawn.deadline, participants, item };
            self.chronicle.begins(self.now, (id, drawn.what), item);
            running.use_recipe(now, (id, drawn.what), began, terms);
            if let Some(dropped_after) = drawn.dropped_after {
                let end = Event::EndUse(client, id, Verdict::GiveBack);
                self.agenda.add(self.now + dropped_after, end);
            }
            let node = process.node;
            let who = self.name(node);
            self.tell(&who, || format!("use {id}: {drawn:?}, {item}"));
        }
        self.delete_left_behind(client, now);
        self.settle_client(client)
    }

    /// Deletes the entries and claims that the process before has left in a session that was handed
    /// over.
    fn delete_left_behind(&mut self, client: usize, now: Instant) {
        let newest = Host::newest(&self.hosts);
        let (Some(process), Some(book), Some(newest)) =
            (self.processes.get_mut(client), &self.uses, newest)
        else {
            return;
        };
        let Some(running) = process.client.as_mut().filter(|_| process.was_handed_over) else {
            return;
        };
        let Some(session) = running.session() else {
            return;
        };
        let own: Vec<NomineeId> = running.uses().map(|(id, _)| id).collect();
        let mut paths = book.books.double_barrier.entries_of(session, &own);
        let queues = book.books.queues.iter();
        paths.extend(queues.flat_map(|queue| queue.claims_of(session, &own, newest)));
        for path in paths {
            running.operate(now, &Chore::Delete(path));
        }
    }

    /// Ends a use, as a user that has what it wanted, or wants it no longer.
    pub(super) fn end_use(
        &mut self,
        client: usize,
        id: NomineeId,
        verdict: Verdict,
    ) -> Result<(), Broken> {
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        if process.condition == Condition::Paused {
            self.agenda.add(self.now + BRIEFLY, Event::EndUse(client, id, verdict));
            return Ok(());
        }
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            running.end_use(now, id, verdict);
        }
        self.settle_client(client)
    }

    /// Takes in the notices of a use.
    pub(super) fn observe_use(
        &mut self,
        client: usize,
        id: NomineeId,
        told: &Told,
    ) -> Result<(), Broken> {
        self.chronicle.told(self.now, id, told);
        // A notice at each look changes nothing.
        if !matches!(told, Told::Taker(_, _, TakerNotice::Waiting)) {
            self.note_change();
        }
        let Some(UseBook { books, rng, .. }) = &mut self.uses else {
            return Ok(());
        };
        let longest = self.plan.uses.map_or(BRIEFLY, |uses| uses.longest);
        let longest = if self.now < self.plan.calm_at { longest } else { longest.min(BRIEFLY) };
        let mut later = |verdict| {
            let longest = u64::try_from(longest.as_millis()).unwrap_or(0);
            let at = self.now + Duration::from_millis(rng.u64(0..=longest));
            self.agenda.add(at, Event::EndUse(client, id, verdict));
        };
        let (law, outcome) = match told {
            Told::Barrier(began, end) => (Law::NotTooEarly, books.barrier.ended(began.at, *end)),
            Told::DoubleBarrier(_, DoubleBarrierNotice::Inside) => {
                later(Verdict::GiveBack);
                (Law::NotTooEarly, books.double_barrier.is_inside(id))
            }
            Told::DoubleBarrier(session, DoubleBarrierNotice::Ended(end)) => {
                (Law::NotTooEarly, books.double_barrier.ended((id, *session), *end))
            }
            Told::DoubleBarrier(..) => return Ok(()),
            Told::Counter { op, floor, seen, end } => {
                let counted = books.counter.ended(*op, (*floor, *seen), *end);
                let process = self.processes.get_mut(client);
                let running = process.and_then(|process| process.client.as_mut());
                if let (Ok(number), Some(running)) = (&counted, running) {
                    running.has_counted(*number);
                }
                (Law::CountedOnce, counted.map(drop))
            }
            Told::CountInDoubt(op) => {
                books.counter.in_doubt(*op);
                return Ok(());
            }
            of_a_queue => {
                if let Told::Taker(_, _, TakerNotice::Claimed(_)) = of_a_queue {
                    let is_done = id.to_bytes().iter().fold(0_u8, |sum, byte| sum ^ byte) % 4 > 0;
                    later(if is_done { Verdict::Done } else { Verdict::GiveBack });
                }
                (Law::ItemsOnce, told_of_queue(&mut books.queues, of_a_queue))
            }
        };
        outcome.map_err(|detail| (law, detail))
    }

    /// Notes that a process is about to be gone: it will not hear of its uses.
    pub(super) fn leave_in_doubt(&mut self, client: usize) {
        let process = self.processes.get(client);
        let running = process.and_then(|process| process.client.as_ref());
        let told: Vec<(NomineeId, Told)> = running.into_iter().flat_map(Client::in_doubt).collect();
        for (id, told) in told {
            let observed = self.observe_use(client, id, &told);
            debug_assert!(observed.is_ok(), "what is in doubt breaks no law");
        }
    }

    /// Ends the meetings once all is well: participants leave, and the uses that go on are waits.
    pub(super) fn end_meetings(&mut self) {
        let Some(book) = &mut self.uses else {
            return;
        };
        for (client, process) in self.processes.iter().enumerate() {
            for (id, what) in process.client.iter().flat_map(Client::uses) {
                if let Use::DoubleBarrier(_) = what {
                    let at = self.now + Duration::from_millis(book.rng.u64(0..2_000));
                    self.agenda.add(at, Event::EndUse(client, id, Verdict::GiveBack));
                }
            }
        }
    }

    fn running(&self) -> impl Iterator<Item = (usize, NomineeId, Use)> {
        let clients = self.processes.iter().enumerate();
        let clients = clients.filter_map(|(at, process)| Some((at, process.client.as_ref()?)));
        clients.flat_map(|(at, client)| client.uses().map(move |(id, what)| (at, id, what)))
    }

    /// Returns why recipes are not settled: they are settled when all uses that go on wait for
    /// something that is not there.
    pub(super) fn unsettled_use(&self) -> Option<String> {
        let UseBook { books, .. } = self.uses.as_ref()?;
        if self.now < self.plan.calm_at + LATE * 2 {
            return Some("there are uses to come".to_owned());
        }
        for (client, _, what) in self.running() {
            let process = self.processes.get(client);
            let running = process.and_then(|process| process.client.as_ref());
            if !running.is_some_and(Client::is_connected) {
                return Some(format!("client {} is not connected", client + 1));
            }
            let waits_rightly = waits(what)
                && match what {
                    Use::Barrier(_) => books.barrier.is_set(),
                    Use::Take(which, ..) => {
                        books.queues.get(which.index()).is_none_or(QueueBook::is_empty)
                    }
                    _ => false,
                };
            if !waits_rightly {
                return Some(format!("client {} still wants {what:?}", client + 1));
            }
        }
        let left = books.ephemerals();
        (left > 0).then(|| format!("{left} entries and claims are left"))
    }

    /// Wakes all that wait, once all is settled: lifts the barrier, and puts an item for each taker that waits for
    /// one.
    pub(super) fn wake_all(&mut self) -> Result<bool, Broken> {
        let waiting: Vec<Use> = self.running().map(|(_, _, what)| what).collect();
        let Some(book) = &mut self.uses else {
            return Ok(false);
        };
        let mut chores = Vec::new();
        for what in &waiting {
            if let Use::Take(which, ..) = what {
                let item = book.next_item();
                self.chronicle.puts(self.now, *which, item);
                chores.push(Chore::Put(*which, item));
            }
        }
        if waiting.iter().any(|what| matches!(what, Use::Barrier(_))) {
            chores.push(Chore::Delete(BARRIER.to_owned()));
        }
        book.woken += u64::try_from(waiting.len()).unwrap_or(u64::MAX);
        self.give(&chores)?;
        Ok(!waiting.is_empty())
    }

    /// Returns a use that has not gone on although it can.
    pub(super) fn forgotten(&self) -> Option<String> {
        let (client, id, what) = self.running().next()?;
        Some(format!("client {} still wants {what:?} ({id})", client + 1))
    }

    /// Checks that everything is accounted for.
    pub(super) fn check_accounts(&self) -> Result<(), Broken> {
        let checked = self.uses.as_ref().map_or(Ok(()), |book| book.books.check_at_rest());
        checked.map_err(|detail| (Law::ItemsOnce, detail))
    }
}

/// Notes the notices of takers, and the outcomes of puts.
fn told_of_queue(queues: &mut [QueueBook; 2], told: &Told) -> Result<(), crate::recipes::Broken> {
    let (Told::Taker(which, ..)
    | Told::ClaimEnded(which, ..)
    | Told::Put(which, ..)
    | Told::ItemInDoubt(which, _)) = told
    else {
        return Ok(());
    };
    let Some(book) = queues.get_mut(which.index()) else {
        return Ok(());
    };
    match told {
        Told::Taker(_, session, notice) => book.told(*session, notice),
        Told::ClaimEnded(_, claim, end) => book.claim_ended(*claim, end),
        Told::Put(_, item, put) => book.put(*item, *put),
        Told::ItemInDoubt(_, item) => {
            book.in_doubt(*item);
            Ok(())
        }
        _ => Ok(()),
    }
}
