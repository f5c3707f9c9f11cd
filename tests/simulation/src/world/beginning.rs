//! The beginning of a world: its processes, and the first entries of its agenda.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use bytes::BytesMut;
use zk_embedded::{Config as ServerConfig, Instant, Standalone};
use zk_jute::Zxid;
use zk_session::{Limits, ReadOnlyServers, WhileDisconnected};

use super::held_machines::Stale;
use super::phase::Phase;
use super::process::Process;
use super::sharing::SlotBook;
use super::trees::Trees;
use super::trouble::Troubles;
use super::uses::UseBook;
use super::{Event, World};
use crate::agenda::Agenda;
use crate::checker::{Candidates, Conduct, Holders, Operated};
use crate::chronicle::Chronicle;
use crate::client::Settings;
use crate::clock::{Clock, Time};
use crate::ensemble::{EnsembleConfig, Member, ReadOnlyMode, Server};
use crate::keeper::KeeperLike;
use crate::links::{Links, NodeId};
use crate::network::Network;
use crate::outcome::Stats;
use crate::plan::Plan;
use crate::queue::Queue;
use crate::reasons::{Counters, Reasons};
use crate::round::{Round, Winners};
use crate::server::{Host, member_id};
use crate::story::{Recording, Story};

/// The user of a client's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Candidate,
    Operator,
}

impl<'p> World<'p> {
    pub(super) fn new(plan: &'p Plan, recording: Recording) -> Self {
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
            conduct: Conduct::new(most_calls, Reasons::new(plan.counters)),
            roles: vec![None; servers],
            applied: Zxid::ZERO,
            story: Story::new(recording),
            winners: Winners::default(),
            uses: UseBook::of(plan),
            trees: Trees::of(plan),
            slots: SlotBook::of(plan),
            stale: Stale::default(),
            operated: plan.operating.map(|operating| Operated::new(operating.lock_delay)),
            ends: BTreeMap::new(),
            delayed: BTreeSet::new(),
            stats: Stats::default(),
            chronicle: Chronicle::default(),
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
        if let Some(many) = plan.many {
            for (client, standing) in plan.nominees.iter().enumerate() {
                self.agenda.add(standing.from + many.every, Event::TendTree(client));
                self.agenda.add(standing.from + many.every / 2, Event::TendShare(client));
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
        silent_servers: plan.silent_servers,
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
    server.deviations = plan.like.map(KeeperLike::deviations).unwrap_or_default();
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
        member.set_touch_skew(plan.like.map_or(Duration::ZERO, |like| like.skew));
        member.set_read_only_mode(plan.read_only);
        Server::Member(Box::new(member))
    };
    Host::new(server, clock)
}
