//! Clients contend for locks, hold them for a while, and let go.

use core::time::Duration;

use election_core::election::{Notice, Role};
use election_core::{NomineeId, Token};
use zk_session::Instant;

use super::{Event, World};
use crate::checker::{Broken, name, nominee_id, queue_of};
use crate::client::{Chore, Client, Observed};
use crate::locks::{Claim, InTheEnd};
use crate::outcome::Law;
use crate::queue::{Kind, PERMITS, Queue};
use crate::server::Condition;

/// Contenders of one client for all locks.
const MOST_CONTENDERS: usize = 6;

/// More than any deadline, of which contenders may hold back others.
const LONGEST_WAIT: Duration = Duration::from_secs(9);

/// How long a lock is held at most from the calm on: all get their turn in time.
const BRIEFLY: Duration = Duration::from_millis(200);

/// A contender has given up so long after its deadline.
const LATE: Duration = Duration::from_secs(1);

impl World<'_> {
    /// Lets a client contend once more; from the calm on, none does. It deletes the znodes that earlier processes
    /// have left in its session, until none is left.
    pub(super) fn contend(&mut self, client: usize) -> Result<(), Broken> {
        let Some(locks) = self.plan.locks else {
            return Ok(());
        };
        self.agenda.add(self.now + locks.every, Event::Contend(client));
        let claim = Claim::draw(&mut self.rng_of_locks);
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        let Some(running) = &mut process.client else {
            return Ok(());
        };
        // A process that comes late, also behind a pause, may be about to give up.
        let overdue = Instant::since_origin(now.elapsed().saturating_sub(LATE));
        let overdue = running.overdue(overdue).filter(|_| self.now > process.resumed_at + LATE);
        if let Some(contender) = overdue {
            return Err((
                Law::GaveUpAsTold,
                format!("{} waits past its deadline", name(contender)),
            ));
        }
        if let Some(session) = running.session() {
            for path in self.candidates.of(session, &process.left_behind) {
                running.operate(now, &Chore::Delete(path));
            }
        }
        if self.now < self.plan.calm_at && running.contenders().count() < MOST_CONTENDERS {
            process.nominees += 1;
            let id = nominee_id(client, process.nominees, claim.queue, claim.access);
            running.contend(now, id, claim);
            let node = process.node;
            if let Some(dropped_after) = claim.dropped_after {
                self.agenda.add(self.now + dropped_after, Event::LetGo(client, id));
            }
            let who = self.name(node);
            self.tell(&who, || format!("contends as {}: {claim:?}", name(id)));
        }
        self.settle_client(client)
    }

    /// Lets go, as the user of a contender that has what it wanted, or wants it no longer.
    pub(super) fn let_go(&mut self, client: usize, contender: NomineeId) -> Result<(), Broken> {
        let stays = self.plan.locks.is_some_and(|locks| locks.in_the_end == InTheEnd::Stay);
        if stays && self.now >= self.plan.calm_at {
            return Ok(());
        }
        let Some(process) = self.processes.get_mut(client) else {
            return Ok(());
        };
        if process.condition == Condition::Paused {
            let at = self.now + BRIEFLY;
            self.agenda.add(at, Event::LetGo(client, contender));
            return Ok(());
        }
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            running.let_go(now, contender);
        }
        self.settle_client(client)
    }

    /// Takes in the notices of contenders.
    pub(super) fn observe_locks(&mut self, client: usize, what: &Observed) -> Result<(), Broken> {
        match what {
            Observed::Notice { nominee, notice: Notice::Elected(token) }
                if queue_of(*nominee).kind() != Kind::Election =>
            {
                self.check_turn(*nominee, *token)?;
                // A lease that cannot be kept at this distance is not waited for.
                self.let_go_later(client, *nominee, self.longest);
            }
            Observed::Announced { nominee, .. } if queue_of(*nominee).kind() != Kind::Election => {
                self.let_go_later(client, *nominee, Duration::ZERO);
            }
            Observed::Notice { nominee, notice: Notice::Lost(_) }
                if queue_of(*nominee).kind() != Kind::Election =>
            {
                self.stats.locks.lost += 1;
            }
            Observed::HandedOver { contender } if queue_of(*contender).kind() != Kind::Election => {
                self.stats.locks.handed_over += 1;
            }
            Observed::TimedOut { .. } => self.stats.locks.gave_up += 1,
            Observed::FoundBusy { contender } => {
                self.stats.locks.gave_up += 1;
                let is_lock = queue_of(*contender) != Queue::SEMAPHORE;
                if is_lock && !self.candidates.has_queued(*contender) {
                    let detail = format!("{} found a free lock busy", name(*contender));
                    return Err((Law::GaveUpAsTold, detail));
                }
            }
            Observed::OutOfTerms { contender, what } => {
                return Err((Law::GaveUpAsTold, format!("{} {what}", name(*contender))));
            }
            _ => {}
        }
        Ok(())
    }

    fn let_go_later(&mut self, client: usize, contender: NomineeId, further: Duration) {
        let Some(locks) = self.plan.locks else {
            return;
        };
        let longest =
            if self.now < self.plan.calm_at { locks.longest } else { locks.longest.min(BRIEFLY) };
        let longest = u64::try_from(longest.as_millis()).unwrap_or(0);
        let held = Duration::from_millis(self.rng_of_locks.u64(0..=longest));
        self.agenda.add(self.now + held + further, Event::LetGo(client, contender));
    }

    /// Checks that a contender that gets its lock has its turn: none stands before it that excludes
    /// it, whatever list it was shown.
    fn check_turn(&self, contender: NomineeId, token: Token) -> Result<(), Broken> {
        if queue_of(contender) == Queue::SEMAPHORE {
            let before = self.candidates.permits_before(token);
            let detail = || format!("{} behind {before} of {PERMITS}", name(contender));
            return if before < PERMITS { Ok(()) } else { Err((Law::FirstInQueue, detail())) };
        }
        match self.candidates.rival_before(contender, token) {
            Some(rival) => {
                let detail = format!("{} while {rival} stands", name(contender));
                Err((Law::FirstInQueue, detail))
            }
            None => Ok(()),
        }
    }

    /// Returns why a lock is not settled: one is settled when those hold it whose turn it is, validly, all others
    /// wait each for the nearest contender that excludes it, and nothing is left of those that are gone.
    pub(super) fn unsettled_lock(&self, queue: Queue) -> Option<String> {
        let locks = self.plan.locks?;
        let mut clients = self.processes.iter().filter_map(|process| process.client.as_ref());
        if let Some(contender) = clients.find_map(Client::impatient) {
            return Some(format!("{} is to give up yet", name(contender)));
        }
        let (mut standing, mut holding, mut next) = (0, 0, 0);
        let clients = self.processes.iter().filter_map(|process| process.client.as_ref());
        let is_of = |contender: NomineeId| queue_of(contender) == queue;
        for (contender, role) in clients.flat_map(Client::nominees).filter(|(id, _)| is_of(*id)) {
            standing += 1;
            match role {
                Role::Leading { .. } => holding += 1,
                Role::Following { predecessor, .. }
                    if self.candidates.predecessor(contender) == Some(&*predecessor.text()) => {}
                // It has its turn, and no permit is free.
                Role::Standing if queue == Queue::SEMAPHORE => next += 1,
                other => return Some(format!("{} is {other:?}", name(contender))),
            }
        }
        let front = match queue {
            Queue::SEMAPHORE => PERMITS.min(standing),
            queue => self.candidates.front(queue),
        };
        if next > 1 || next > 0 && holding < front {
            return Some(format!("{next} are about to take a permit beside {holding}"));
        }
        let valid = self.processes.iter().flat_map(|process| process.valid(self.now));
        let valid = valid.filter(|(contender, _)| is_of(*contender)).count();
        let is_proved = valid == holding || valid < holding && self.is_told_to_wait(queue);
        if holding != front || !is_proved {
            let counted = format!("{holding} hold, {valid} of them validly, where {front} are to");
            return Some(format!("{counted}, of {standing}, in {queue}"));
        }
        let znodes = match queue {
            // Those that wait for their turn, and the next one by both.
            Queue::SEMAPHORE => {
                let znodes = self.candidates.count(queue) + self.candidates.count(Queue::TURNS);
                znodes.saturating_sub(next)
            }
            queue => self.candidates.count(queue),
        };
        if znodes != standing {
            return Some(format!("{standing} contenders have {znodes} znodes in {queue}"));
        }
        (locks.in_the_end == InTheEnd::Drain && standing > 0)
            .then(|| format!("{standing} contenders are left in {queue}"))
    }

    /// Returns how much longer it takes until all is settled: all contenders have their turn.
    pub(super) fn settling_time(&self) -> Duration {
        let turns = u32::try_from(self.plan.nominees.len() * MOST_CONTENDERS).unwrap_or(u32::MAX);
        // Where no lease can be kept, each holds the lock until its user has waited for one in vain.
        let waited = if self.plan.is_prompt() { Duration::ZERO } else { self.longest };
        let turn = BRIEFLY + waited + self.plan.latency * 8 + self.plan.lateness * 4;
        let locks = self.plan.locks.map(|locks| LONGEST_WAIT + locks.longest * 2 + turn * turns);
        self.plan.settling_time() + locks.unwrap_or_default()
    }

    /// Whether this znode is the first that excludes this contender: a reader does not know of the readers
    /// that keep a writer from its turn.
    pub(super) fn is_first(&self, of: NomineeId, znode: &str) -> bool {
        queue_of(of).kind() == Kind::Election
            || queue_of(of) == Queue::SEMAPHORE
            || self.candidates.first_rival(of) == Some(znode)
    }
}
