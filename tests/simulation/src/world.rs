//! The world: its processes, the events that are due, and its steps.

mod deliver;
mod faults;
mod handover;
mod lists;
mod locks;
mod operating;
mod operator;
mod phase;
mod process;
mod rounds;
mod servers;
mod target;
mod traffic;
mod trouble;
mod users;
mod uses;

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use bytes::BytesMut;
use election_core::NomineeId;
use zk_embedded::{Config as ServerConfig, Instant, Standalone};
use zk_jute::Zxid;
use zk_session::{LeaseGrade, Limits, ReadOnlyServers, ServerIndex, WhileDisconnected};

use self::faults::Undo;
use self::phase::Phase;
use self::process::Process;
use self::trouble::Troubles;
use self::uses::UseBook;
use super::agenda::Agenda;
use super::checker::{Broken, Candidates, Conduct, Holders, Operated, Valid, name, queue_of};
use super::client::{Observed, Settings};
use super::clock::{Clock, Time};
use super::ensemble::{EnsembleConfig, Member, MemberRole, ReadOnlyMode};
use super::incident::Ban;
use super::links::{Links, NodeId};
use super::network::{Network, PipeId};
use super::outcome::{Law, Outcome, Stats, Violation};
use super::plan::Plan;
use super::queue::{Kind, Queue};
use super::reasons::{Counters, Reasons};
use super::round::{Round, Winners};
use super::server::{Condition, Host, Server, member_id};
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
    /// Somebody looks whether those make way that are asked to in a hand-over.
    CheckWay,
    /// Clients play a round.
    Play(Round),
    /// A nominee leaves, in the end.
    Leave(usize),
    /// Looks whether a phase is over.
    Look,
}

/// The user of a client's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Candidate,
    Operator,
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
    /// In runs in which elections are operated.
    operated: Option<Operated>,
    /// How many reasons there are for an election to be ended.
    ends: BTreeMap<Queue, u32>,
    /// The nominees that wait for the lock delay, with their clients.
    delayed: BTreeSet<(usize, NomineeId)>,
    stats: Stats,
    observed: Vec<Observed>,
    buffer: BytesMut,
}

/// Runs a plan to its end, or to the first law that is broken.
pub(super) fn run(plan: &Plan, recording: Recording) -> Outcome {
    let mut world = World::new(plan, recording);
    let violation = world.run();
    let World { mut stats, story, now, holders, candidates, winners, uses, operated, .. } = world;
    stats.operating = operated.map(|operated| operated.stats).unwrap_or_default();
    stats.uses = uses.map(|book| book.stats()).unwrap_or_default();
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

impl<'p> World<'p> {
    fn new(plan: &'p Plan, recording: Recording) -> Self {
        let mut rng = fastrand::Rng::with_seed(plan.seed ^ 0x5eed_0f7e_3071_d000);
        let servers = usize::from(plan.servers);
        let clients = plan.nominees.len();
        let links = Links::new(servers, clients + 1, plan.latency, rng.u64(..));
        let network = Network::new(links);
        let hosts = (0..servers).map(|node| host(plan, NodeId(node), &mut rng)).collect();
        let mut process = |number: usize, user| {
            let settings = settings(plan, number, user, rng.u64(..));
            let mut clocks = fastrand::Rng::with_seed(rng.u64(..));
            let clock = Clock::draw(&mut clocks, plan.drift);
            Process::new(NodeId(servers + number), settings, clock)
        };
        let mut processes: Vec<_> =
            (0..clients).map(|number| process(number, User::Candidate)).collect();
        processes.push(process(clients, User::Operator));
        let users = core::iter::repeat_n(User::Candidate, clients).chain([User::Operator]);
        let most_calls = users.map(|user| most_calls(plan, user)).collect();
        let mut world = Self {
            plan,
            longest: plan.longest(),
            now: Time::ORIGIN,
            rng_of_locks: fastrand::Rng::with_seed(plan.seed ^ 0x10c5_0f7e_3071_d000),
            rng_of_operating: fastrand::Rng::with_seed(plan.seed ^ 0x09e7_a7e5_0000),
            agenda: Agenda::new(),
            network,
            hosts,
            processes,
            phase: Phase::Incidents,
            undo: BTreeMap::new(),
            troubles: Troubles::new(clients),
            bans: Vec::new(),
            exhausted: BTreeSet::new(),
            holders: Queue::ALL.map(Holders::new),
            valid: Vec::new(),
            candidates: Candidates::new(),
            conduct: Conduct::new(most_calls, Reasons::of(&plan.incidents, plan.counters)),
            roles: vec![None; servers],
            applied: Zxid::ZERO,
            story: Story::new(recording),
            winners: Winners::default(),
            uses: UseBook::of(plan),
            operated: plan.operating.map(|operating| Operated::new(operating.lock_delay)),
            ends: BTreeMap::new(),
            delayed: BTreeSet::new(),
            stats: Stats::default(),
            observed: Vec::new(),
            buffer: BytesMut::new(),
            rng,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let plan = self.plan;
        for node in 0..self.hosts.len() {
            self.agenda.add(Time::ORIGIN, Event::Wake(NodeId(node)));
        }
        for (client, standing) in plan.nominees.iter().enumerate() {
            self.agenda.add(standing.from, Event::Stand(client));
            if let Some(interval) = plan.work_every {
                self.agenda.add(standing.from + interval, Event::Work(client));
            }
            if let Some(calls) = &plan.calls {
                self.agenda.add(standing.from + calls.every, Event::Call(client));
            }
        }
        if let Some(locks) = plan.locks {
            for (client, standing) in plan.nominees.iter().enumerate() {
                self.agenda.add(standing.from + locks.every, Event::Contend(client));
            }
        }
        if let Some(uses) = plan.uses {
            for (client, standing) in plan.nominees.iter().enumerate() {
                self.agenda.add(standing.from + uses.every, Event::Use(client));
            }
        }
        for (index, incident) in plan.incidents.iter().enumerate() {
            self.agenda.add(incident.at, Event::Begin(index));
        }
        if plan.operating.is_some() {
            self.agenda.add(Time::ORIGIN, Event::CheckWay);
        }
        if let Some(rounds) = plan.rounds {
            self.agenda.add(Time::ORIGIN + rounds.every, Event::Play(Round(0)));
        }
        self.agenda.add(plan.calm_at, Event::Look);
        let operator = self.operator();
        self.start_process(operator);
        self.create_resources();
    }

    fn run(&mut self) -> Option<Violation> {
        loop {
            let (at, event) = self.agenda.pop()?;
            self.now = at;
            self.stats.events += 1;
            let result = self.step(event).and_then(|()| self.check_leaders());
            let result = result.and_then(|()| self.check_progress());
            if let Err((law, detail)) = result {
                self.tell("LAW", || format!("{law}: {detail}"));
                return Some(Violation { at, law, detail });
            }
            if matches!(self.phase, Phase::Over) {
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
        let longest = self.longest;
        for process in &self.processes {
            for (nominee, token) in process.held(now) {
                if !process.valid(now).any(|valid| valid == (nominee, token)) {
                    return Err((Law::HeldIsValid, name(nominee)));
                }
            }
            for (nominee, token) in process.valid(now) {
                let evicted_at = candidates.evicted_at(token);
                // No event reports a candidate that no client may read: its nominee has to look.
                let look = if candidates.is_hidden(token) {
                    self.plan.look_every * 2
                } else {
                    Duration::ZERO
                };
                if self.plan.grade == LeaseGrade::Quorum
                    && evicted_at.is_some_and(|at| now > at + longest + look)
                {
                    let detail = format!("{}, longer than its session timeout", name(nominee));
                    return Err((Law::EvictionHeard, detail));
                }
            }
        }
        self.valid.clear();
        let valid = self.processes.iter().flat_map(|process| process.valid(now));
        let valid = valid.filter(|(_, token)| candidates.evicted_at(*token).is_none());
        self.valid.extend(valid.map(|(nominee, token)| Valid { nominee, token }));
        for (queue, holders) in Queue::ALL.into_iter().zip(&mut self.holders) {
            let of_it = self.valid.iter().filter(|valid| queue_of(valid.nominee) == queue);
            holders.check(of_it.copied())?;
        }
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

/// Returns the settings of the client with this number.
fn settings(plan: &Plan, number: usize, user: User, seed: u64) -> Settings {
    let standing = plan.nominees.get(number);
    let servers = NonZeroUsize::new(plan.servers.into());
    Settings {
        servers: servers.unwrap_or(NonZeroUsize::MIN),
        timeout: standing.map_or(plan.timeout, |standing| standing.timeout),
        grade: plan.grade,
        heartbeats: plan.heartbeats,
        keep_ready: plan.keep_ready,
        while_disconnected: match (user, &plan.calls) {
            (User::Candidate, Some(calls)) => calls.while_disconnected,
            (User::Candidate, None) => WhileDisconnected::Refuse,
            (User::Operator, _) => WhileDisconnected::Queue,
        },
        read_only_servers: match (user, plan.read_only) {
            (User::Candidate, ReadOnlyMode::On) => ReadOnlyServers::Accept,
            // The operator's acts have to be done.
            (User::Candidate, ReadOnlyMode::Off) | (User::Operator, _) => ReadOnlyServers::Refuse,
        },
        most_calls: most_calls(plan, user),
        look_every: plan.look_every,
        seed,
    }
}

/// Returns how many calls of a user may be in flight.
fn most_calls(plan: &Plan, user: User) -> usize {
    match (user, &plan.calls) {
        (User::Candidate, Some(calls)) => calls.most,
        (User::Candidate | User::Operator, _) => Limits::default().max_in_flight,
    }
}

fn host(plan: &Plan, node: NodeId, rng: &mut fastrand::Rng) -> Host {
    let clock = Clock::draw(rng, plan.drift);
    let now = Instant::since_origin(clock.reading(Time::ORIGIN));
    let mut server = ServerConfig::with_tick_time(plan.tick);
    server.seed = rng.u64(..);
    server.limits.max_client_connections = 0;
    server.session_timeouts = plan.tick * 2..=plan.tick * plan.most_ticks;
    server.expiry_pace = plan.pace;
    server.counter_end = plan.counter_end;
    if let Counters::Before(left) = plan.counters {
        for queue in Queue::ELECTIONS {
            let added = server.first_znodes.add(queue.node(), i32::MAX - left);
            debug_assert!(added.is_ok(), "a path that is as valid as any");
        }
    }
    let server = if plan.servers == 1 {
        Server::Alone(Box::new(Standalone::new(now, &server)))
    } else {
        let config = EnsembleConfig {
            size: plan.servers,
            server,
            init_limit: plan.init_limit,
            sync_limit: plan.sync_limit,
        };
        let mut member = Member::new(member_id(node), &config, rng.u64(..), now);
        member.set_touch_loss(plan.touch_loss);
        member.set_read_only_mode(plan.read_only);
        Server::Member(Box::new(member))
    };
    Host::new(server, clock)
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
