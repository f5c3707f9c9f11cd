//! The world: its processes, the events that are due, and its steps.

mod beginning;
mod deliver;
mod faults;
mod handover;
mod held_machines;
mod keepers;
mod lists;
mod locks;
mod operating;
mod operator;
mod phase;
mod process;
mod rounds;
mod servers;
mod sharing;
mod target;
mod traffic;
mod trees;
mod trouble;
mod users;
mod uses;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use bytes::BytesMut;
use election_core::NomineeId;
use zk_jute::Zxid;
use zk_session::ServerIndex;
use zk_session::lease::LeaseGrade;

use self::faults::Undo;
use self::held_machines::Stale;
use self::phase::Phase;
use self::process::Process;
use self::sharing::SlotBook;
use self::trees::Trees;
use self::trouble::Troubles;
use self::uses::UseBook;
use super::agenda::Agenda;
use super::checker::{Broken, Candidates, Conduct, Holders, Operated, Valid, name, queue_of};
use super::chronicle::Chronicle;
use super::client::Observed;
use super::clock::Time;
use super::ensemble::MemberRole;
use super::incident::Ban;
use super::links::NodeId;
use super::network::{Network, PipeId};
use super::outcome::{Law, Outcome, Stats, Violation};
use super::plan::Plan;
use super::queue::{Kind, Queue};
use super::round::{Round, Winners};
use super::server::{Condition, Host};
use super::slots::WorkEnds;
use super::story::{Recording, Story};
use super::uses::Verdict;

/// An entry of the agenda.
#[derive(Clone, Copy, Debug)]
enum Event {
    Deliver(PipeId),
    Wake(NodeId),
    Begin(usize),
    End(usize),
    /// A client stands in the elections that it is meant for.
    Stand(usize),
    /// A client nominates.
    Nominate(usize, Queue),
    /// A member's process ends, to be started again with other bounds on session timeouts.
    Reconfigure(NodeId),
    /// Its process starts again.
    Restart(NodeId),
    /// A client's leader writes, if there is one.
    Work(usize),
    /// A client's user calls.
    Call(usize),
    /// A server that a client has asked whether it takes writes answers, by its place in the list of
    /// then.
    Probed(usize, ServerIndex, NodeId),
    /// A client contends for a lock.
    Contend(usize),
    /// A contender is told to let go, or to give up.
    LetGo(usize, NomineeId),
    /// A client uses a barrier, a queue, or the counter.
    Use(usize),
    /// It has what it wanted, or wants it no longer.
    EndUse(usize, NomineeId, Verdict),
    /// A client writes to the tree that all keep.
    TendTree(usize),
    /// A client joins those that share slots, or leaves them; its works write.
    TendShare(usize),
    /// The user of a client ends the work on a slot.
    EndWork(usize, u32, WorkEnds),
    /// Somebody looks whether those make way that are asked to in a hand-over.
    CheckWay,
    /// Clients play a round.
    Play(Round),
    /// A nominee leaves, in the end.
    Leave(usize),
    /// Looks whether a phase is over.
    Look,
}

/// Many times what a run takes.
const MOST_STEPS: u64 = 2_000_000;

pub(super) struct World<'p> {
    plan: &'p Plan,
    /// The longest session timeout of the plan.
    longest: Duration,
    now: Time,
    rng: fastrand::Rng,
    /// Of its own, so that locks change nothing that is drawn for elections.
    rng_of_locks: fastrand::Rng,
    rng_of_operating: fastrand::Rng,
    agenda: Agenda<Event>,
    network: Network,
    hosts: Vec<Host>,
    /// The processes that stand for election, and the operator's behind them.
    processes: Vec<Process>,
    phase: Phase,
    /// The end of each incident that lasts.
    undo: BTreeMap<usize, Vec<Undo>>,
    troubles: Troubles,
    /// The operations that the operator has forbidden.
    bans: Vec<(Queue, Ban)>,
    /// Elections whose node has no number left.
    exhausted: BTreeSet<Queue>,
    /// Of each queue.
    holders: [Holders; 7],
    /// The leaderships that are valid after a step.
    valid: Vec<Valid>,
    candidates: Candidates,
    conduct: Conduct,
    roles: Vec<Option<MemberRole>>,
    /// The last transaction of any member when the election was last looked at.
    applied: Zxid,
    story: Story,
    winners: Winners,
    /// In runs in which clients use barriers, queues and the counter.
    uses: Option<UseBook>,
    /// In runs in which clients keep a tree.
    trees: Option<Trees>,
    /// In runs in which clients share slots.
    slots: Option<SlotBook>,
    /// In runs in which elections are operated.
    operated: Option<Operated>,
    /// How many reasons there are for an election to be ended.
    ends: BTreeMap<Queue, u32>,
    /// The nominees that wait for the lock delay, with their clients.
    delayed: BTreeSet<(usize, NomineeId)>,
    /// In runs in which machines are held.
    stale: Stale,
    stats: Stats,
    chronicle: Chronicle,
    observed: Vec<Observed>,
    buffer: BytesMut,
}

/// Runs a plan to its end, or to the first law that is broken.
pub(super) fn run(plan: &Plan, recording: Recording) -> Outcome {
    let mut world = World::new(plan, recording);
    let violation = world.run();
    let World {
        mut stats,
        story,
        now,
        holders,
        candidates,
        winners,
        uses,
        trees,
        slots,
        operated,
        ..
    } = world;
    stats.operating = operated.map(|operated| operated.stats).unwrap_or_default();
    stats.uses = uses.map(|book| book.stats()).unwrap_or_default();
    stats.slots = slots.map(|book| book.stats()).unwrap_or_default();
    stats.trees = trees.map(|trees| trees.stats()).unwrap_or_default();
    stats.rounds = u64::try_from(winners.count()).unwrap_or(u64::MAX);
    stats.runs = 1;
    for (queue, holders) in Queue::ALL.into_iter().zip(&holders) {
        match queue.kind() {
            Kind::Election => stats.elections += holders.alone,
            Kind::Lock | Kind::SharedLock | Kind::Semaphore | Kind::Turn => {
                stats.locks.permits += holders.permits;
                stats.locks.alone += holders.alone;
                stats.locks.shared += holders.shared;
                stats.locks.together += holders.together;
            }
        }
    }
    stats.guarded_writes = candidates.guarded_writes();
    stats.virtual_time = now.since(Time::ORIGIN);
    Outcome { violation, stats, story }
}

impl World<'_> {
    fn run(&mut self) -> Option<Violation> {
        loop {
            let (at, event) = self.agenda.pop()?;
            self.now = at;
            self.stats.events += 1;
            let result = self.step(event).and_then(|()| self.check_leaders());
            let result = result.and_then(|()| self.check_progress());
            let is_over = matches!(self.phase, Phase::Over);
            let result = result.and_then(|()| if is_over { self.judge() } else { Ok(()) });
            if let Err((law, detail)) = result {
                self.tell("LAW", || format!("{law}: {detail}"));
                return Some(Violation { at, law, detail });
            }
            if is_over {
                return None;
            }
        }
    }

    fn step(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::Deliver(pipe) => self.deliver(pipe)?,
            Event::Wake(node) => self.wake(node)?,
            Event::Begin(index) => self.incident_begins(index)?,
            Event::End(index) => self.incident_ends(index)?,
            Event::Stand(client) if self.now < self.plan.calm_at => self.stand(client)?,
            Event::Nominate(client, queue) if self.now < self.plan.calm_at => {
                self.nominate(client, queue)?;
            }
            Event::Stand(_) | Event::Nominate(..) => {}
            Event::Reconfigure(node) => self.reconfigure(node),
            Event::Restart(node) => self.restart(node)?,
            Event::Work(client) => self.work(client)?,
            Event::Call(client) => self.call(client)?,
            Event::Probed(client, server, node) => self.probed(client, server, node)?,
            Event::Contend(client) => self.contend(client)?,
            Event::LetGo(client, contender) => self.let_go(client, contender)?,
            Event::Use(client) => self.use_recipe(client)?,
            Event::EndUse(client, id, verdict) => self.end_use(client, id, verdict)?,
            Event::TendTree(client) => self.tend_tree(client)?,
            Event::TendShare(client) => self.tend_share(client)?,
            Event::EndWork(client, slot, ends) => self.end_work(client, slot, ends)?,
            Event::CheckWay => self.check_way()?,
            Event::Play(round) => self.play(round)?,
            Event::Leave(client) => self.leave(client)?,
            Event::Look => self.look()?,
        }
        while let Some((at, pipe)) = self.network.due.pop() {
            self.agenda.add(at, Event::Deliver(pipe));
        }
        Ok(())
    }

    /// Checks the leaders. Paused processes count too, with their next act. A leader that lost its
    /// candidate to an operator does not: but under `Quorum`, no evidence of its lease can be later
    /// than that.
    fn check_leaders(&mut self) -> Result<(), Broken> {
        let (now, candidates) = (self.now, &self.candidates);
        self.valid.clear();
        for process in &self.processes {
            let valid = process.valid(now).map(|(nominee, token)| Valid { nominee, token });
            let valid: Vec<Valid> = valid.collect();
            for (nominee, token) in process.held(now) {
                if !valid.contains(&Valid { nominee, token }) {
                    return Err((Law::HeldIsValid, name(nominee)));
                }
            }
            if valid.is_empty() || !process.is_valid_had_the_clock_gone_on(now) {
                continue;
            }
            for one in valid {
                let Some(evicted_at) = candidates.evicted_at(one.token) else {
                    self.valid.push(one);
                    continue;
                };
                // No event reports a candidate that no client may read: its nominee has to look.
                let look = if candidates.is_hidden(one.token) {
                    self.plan.look_every * 2
                } else {
                    Duration::ZERO
                };
                if self.plan.grade == LeaseGrade::Quorum && now > evicted_at + self.longest + look {
                    let detail = format!("{}, longer than its session timeout", name(one.nominee));
                    return Err((Law::EvictionHeard, detail));
                }
            }
        }
        if self.plan.is_advisory() {
            return self.check_advisory();
        }
        for (queue, holders) in Queue::ALL.into_iter().zip(&mut self.holders) {
            let of_it = self.valid.iter().filter(|valid| queue_of(valid.nominee) == queue);
            holders.check(of_it.copied())?;
        }
        self.check_slots()?;
        self.check_stale()
    }

    /// Has the history of the run judged by a checker that others wrote.
    fn judge(&mut self) -> Result<(), Broken> {
        let Some(newest) = Host::newest(&self.hosts) else { return Ok(()) };
        let judged = self.chronicle.judge(self.now, newest);
        self.stats.histories = judged.map_err(|detail| (Law::Linearizable, detail))?;
        Ok(())
    }

    fn check_progress(&self) -> Result<(), Broken> {
        if self.stats.events < MOST_STEPS {
            return Ok(());
        }
        Err((Law::Progress, format!("{MOST_STEPS} steps")))
    }

    fn operator(&self) -> usize {
        self.processes.len().saturating_sub(1)
    }

    fn tell(&mut self, who: &str, what: impl FnOnce() -> String) {
        self.story.tell(self.now, || (who.to_owned(), what()));
    }
}

impl World<'_> {
    fn host(&mut self, node: NodeId) -> Option<&mut Host> {
        self.hosts.get_mut(node.0)
    }

    /// Returns the number of the client that has this process.
    fn client_of(&self, node: NodeId) -> Option<usize> {
        node.0.checked_sub(self.hosts.len()).filter(|client| *client < self.processes.len())
    }

    fn condition(&self, node: NodeId) -> Condition {
        match (self.hosts.get(node.0), self.client_of(node)) {
            (Some(host), _) => host.condition,
            (None, Some(client)) => {
                self.processes.get(client).map_or(Condition::Down, |process| process.condition)
            }
            (None, None) => Condition::Down,
        }
    }
}
