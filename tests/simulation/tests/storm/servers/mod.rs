//! The servers in virtual time: one on its own, or the ensemble of the simulation.

mod host;
mod lines;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use tokio::sync::Notify;
use tokio::time::{self, sleep_until};
use zk_embedded::{
    Config, ConnectionId, Database, Instant, Standalone, Throttling, Timestamp, Transmit,
};
use zk_jute::{OpCode, SessionId, Zxid};
use zk_simulation::ensemble::{EnsembleConfig, Member, MemberRole, PeerOutput, Server};

pub(crate) use self::host::Condition;
use self::host::{Clock, Host, RIGHT};
pub(crate) use self::lines::{Impairment, Line};
use self::lines::{Lines, Peer, member_id, place_of};
use crate::laws::{Laws, ledger};
use crate::locks::Lock;
use crate::others::OtherServers;
use crate::setting::{Release, Setting};
use crate::slots::ledgers_of_slots;

pub(crate) const TICK: Duration = Duration::from_millis(200);
const SHORTEST_TIMEOUT: Duration = TICK.saturating_mul(2);

const NOT_BEFORE_3_6: &[OpCode] = &[
    OpCode::ADD_WATCH,
    OpCode::SET_WATCHES2,
    OpCode::MULTI_READ,
    OpCode::GET_EPHEMERALS,
    OpCode::WHO_AM_I,
];

/// The servers, and the law that at each of them guarded writes come in the order of their tokens.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    core: Arc<Mutex<Core>>,
    /// Something may be due earlier than before.
    timer: Arc<Notify>,
}

#[derive(Debug)]
struct Core {
    hosts: Vec<Host>,
    /// The last transaction of each server that the laws have seen.
    seen: Vec<Option<Zxid>>,
    lines: Lines,
    laws: Laws,
    elections: usize,
}

impl Servers {
    pub(crate) fn start(laws: &Laws, setting: &Setting, mut rng: fastrand::Rng) -> Self {
        let config = config(setting);
        let origin = time::Instant::now();
        let hosts = (0..setting.servers).map(|place| {
            let rate = rng.u32(RIGHT / 100 * 98..=RIGHT / 100 * 102);
            let server = if setting.servers == 1 {
                let server = Standalone::new(Instant::ORIGIN, &config);
                Server::Alone(Box::new(server))
            } else {
                Server::Member(Box::new(member(place, setting, &config, rng.u64(..))))
            };
            Host::new(server, Clock { origin, rate })
        });
        let hosts: Vec<Host> = hosts.collect();
        let seen = vec![None; hosts.len()];
        let lines = Lines::new(setting.servers, rng.fork());
        let core = Core { hosts, seen, lines, laws: laws.clone(), elections: setting.elections };
        let servers = Self { core: Arc::new(Mutex::new(core)), timer: Arc::new(Notify::new()) };
        tokio::spawn(servers.clone().keep_time());
        servers
    }

    /// Returns the number of servers.
    pub(crate) fn count(&self) -> usize {
        self.core().hosts.len()
    }

    /// Returns the condition of a server; `None` if there is no such server.
    pub(crate) fn condition(&self, place: usize) -> Option<Condition> {
        self.core().hosts.get(place).map(Host::condition)
    }

    /// Returns once the process is not paused, unless there is none.
    pub(crate) async fn awake(&self, place: usize) {
        while self.condition(place) == Some(Condition::Paused) {
            let waits = self.core().hosts.get_mut(place).map(Host::wait);
            if let Some(waits) = waits {
                waits.notified().await;
            }
        }
    }

    /// Makes a connection; returns it, and the notifier of bytes to send.
    pub(crate) fn open(&self, place: usize) -> Option<(ConnectionId, Arc<Notify>)> {
        self.with(place, Host::open).flatten()
    }

    pub(crate) fn receive(&self, place: usize, id: ConnectionId, bytes: &[u8]) {
        self.with(place, |host| host.receive(id, bytes));
    }

    /// Takes the bytes to send.
    pub(crate) fn take(&self, place: usize, id: ConnectionId) -> (BytesMut, Transmit) {
        let taken = self.with(place, |host| host.take(id));
        taken.unwrap_or_else(|| (BytesMut::new(), Transmit::Close))
    }

    pub(crate) fn close(&self, place: usize, id: ConnectionId) {
        self.with(place, |host| host.close(id));
    }

    pub(crate) fn drop_connections(&self, place: usize) {
        self.with(place, Host::drop_connections);
    }

    /// Turns a server from one condition to another; whether it was in the former.
    pub(crate) fn turn(&self, place: usize, from: Condition, to: Condition) -> bool {
        let mut core = self.core();
        let Some(host) = core.hosts.get_mut(place).filter(|host| host.is(from)) else {
            return false;
        };
        match (from, to) {
            (_, Condition::Down) => host.crash(),
            (Condition::Down, _) => host.restart(),
            (_, to) => host.turn(to),
        }
        if to == Condition::Down {
            for other in (0..core.hosts.len()).filter(|other| *other != place) {
                core.lines.lose(Line { from: place, to: other });
            }
        }
        core.settle(place);
        drop(core);
        self.timer.notify_one();
        true
    }

    /// Shuts a server down in order: the sessions of its clients end, if it is a server that ends them, and its process
    /// does. Whether it was running.
    pub(crate) fn shut_down(&self, place: usize) -> bool {
        if self.condition(place) != Some(Condition::Running) {
            return false;
        }
        let sessions = self.with(place, Host::shut_down).unwrap_or_default();
        self.end_sessions(&sessions);
        self.turn(place, Condition::Running, Condition::Down)
    }

    /// Ends these sessions, by the member that leads.
    pub(crate) fn end_sessions(&self, sessions: &[SessionId]) {
        self.with(self.leader().unwrap_or(0), |host| host.end_sessions(sessions));
    }

    /// Lets the clock by which the leader ends sessions go forward.
    pub(crate) fn step_wall_clock(&self, step: Duration) {
        self.with(self.leader().unwrap_or(0), |host| host.step_wall_clock(step));
    }

    /// Sets the clock of the day of a server, by what it would have shown when the run began.
    pub(crate) fn set_wall_clock_at_origin(&self, place: usize, time: Timestamp) {
        self.with(place, |host| host.set_wall_clock_at_origin(time));
    }

    /// Returns the server that leads, or believes that it does.
    pub(crate) fn leader(&self) -> Option<usize> {
        let mut core = self.core();
        let mut hosts = core.hosts.iter_mut();
        hosts.position(|host| {
            let is_running = host.is(Condition::Running);
            let member = host.member().filter(|_| is_running);
            member.is_some_and(|member| member.role() == MemberRole::Leading && member.is_serving())
        })
    }

    pub(crate) fn impair(&self, line: Line, impairment: Impairment) {
        self.core().lines.impair(line, impairment);
    }

    pub(crate) fn repair(&self, line: Line, impairment: Impairment) {
        self.core().lines.repair(line, impairment);
        self.timer.notify_one();
    }

    /// Breaks the connection between two members.
    pub(crate) fn lose(&self, line: Line) {
        self.core().lines.lose(line);
        self.timer.notify_one();
    }

    pub(crate) fn set_throttling(&self, place: usize, throttling: Throttling) {
        self.with(place, |host| host.set_throttling(throttling));
    }

    pub(crate) fn set_longest_timeout(&self, place: usize, longest: Duration) {
        self.with(place, |host| host.set_longest_timeout(longest));
    }

    /// Mends everything that was broken.
    pub(crate) fn heal(&self) {
        self.core().lines.repair_all();
        for place in 0..self.count() {
            self.set_throttling(place, Throttling::Off);
            for from in [Condition::Paused, Condition::Down] {
                self.turn(place, from, Condition::Running);
            }
        }
        self.timer.notify_one();
    }

    /// Reads from the server that has seen most.
    pub(crate) fn show<T>(&self, read: impl FnOnce(&Database) -> T) -> Option<T> {
        let core = self.core();
        let newest = core.hosts.iter().max_by_key(|host| host.database().last_zxid());
        newest.map(|host| read(host.database()))
    }

    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        let sessions = |data: &Database| data.sessions().map(|(session, _)| session).collect();
        self.show(sessions).unwrap_or_default()
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let children = |data: &Database| {
            let znode = data.znode(path);
            znode.into_iter().flat_map(|znode| znode.children().map(str::to_owned)).collect()
        };
        self.show(children).unwrap_or_default()
    }

    /// Returns the last transaction of each server.
    pub(crate) fn zxids(&self) -> Vec<Zxid> {
        self.core().hosts.iter().map(|host| host.database().last_zxid()).collect()
    }

    fn with<T>(&self, place: usize, work: impl FnOnce(&mut Host) -> T) -> Option<T> {
        let mut core = self.core();
        let result = work(core.hosts.get_mut(place)?);
        core.settle(place);
        drop(core);
        self.timer.notify_one();
        Some(result)
    }

    async fn keep_time(self) {
        loop {
            let due = self.core().do_what_is_due();
            tokio::select! {
                biased;
                () = self.timer.notified() => {}
                () = sleep_until(due.unwrap_or_else(time::Instant::now)), if due.is_some() => {}
            }
        }
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// Gives when there is more to do.
    fn do_what_is_due(&mut self) -> Option<time::Instant> {
        let now = time::Instant::now();
        for place in 0..self.hosts.len() {
            let Some(host) = self.hosts.get_mut(place) else {
                continue;
            };
            if host.is(Condition::Running) && host.next_timeout().is_some_and(|at| at <= now) {
                host.handle_timeout();
                self.settle(place);
            }
        }
        while let Some((line, peer)) = self.lines.arrived(|place| takes(&self.hosts, place)) {
            self.arrive(line, peer);
        }
        let arrives = self.lines.next_at(|place| takes(&self.hosts, place));
        let running = self.hosts.iter().filter(|host| host.is(Condition::Running));
        running.filter_map(Host::next_timeout).chain(arrives).min()
    }

    fn arrive(&mut self, line: Line, peer: Peer) {
        let Some(host) = self.hosts.get_mut(line.to) else {
            return;
        };
        if host.is(Condition::Running) {
            host.hear(line.from, peer);
            self.settle(line.to);
        } else if matches!(peer, Peer::Message(_)) {
            // The machine says that there is no such process.
            self.lines.reset(line.back());
        }
    }

    /// Carries a server's messages after its step, and checks the laws if it shows another state.
    fn settle(&mut self, place: usize) {
        let (Some(host), Some(seen)) = (self.hosts.get_mut(place), self.seen.get_mut(place)) else {
            return;
        };
        for output in host.settle() {
            match output {
                PeerOutput::Send { to, message } => {
                    self.lines.send(Line { from: place, to: place_of(to) }, message);
                }
                PeerOutput::Reset { peer } => {
                    self.lines.reset(Line { from: place, to: place_of(peer) });
                }
            }
        }
        let shown = Some(host.database().last_zxid());
        if *seen == shown {
            return;
        }
        *seen = shown;
        self.laws.recipes_show(host.database());
        self.laws.operated_shows(host.database());
        self.laws.slots_show(host.database());
        self.laws.job_shows(host.database());
        self.laws.well_shows(host.database());
        self.laws.tree_stands(place, host.database());
        let of_locks = Lock::ALL.into_iter().map(Lock::ledger);
        for election in (0..self.elections.max(1)).chain(of_locks).chain(ledgers_of_slots()) {
            if let Some(ledger) = host.database().znode(&ledger(election)) {
                let data = ledger.data().unwrap_or_default();
                self.laws.ledger_shows((place, election), data);
            }
        }
    }
}

/// Whether something arrives there, if only to be turned away.
fn takes(hosts: &[Host], place: usize) -> bool {
    hosts.get(place).is_some_and(|host| !host.is(Condition::Paused))
}

fn config(setting: &Setting) -> Config {
    let mut config = Config::with_tick_time(TICK);
    config.session_timeouts = SHORTEST_TIMEOUT..=setting.longest_at_first;
    config.expiry_pace = setting.expiry_pace;
    config.deviations = setting.others.map(OtherServers::deviations).unwrap_or_default();
    if setting.release == Release::Before36 {
        config.deviations.without = NOT_BEFORE_3_6;
    }
    config
}

fn member(place: usize, setting: &Setting, server: &Config, seed: u64) -> Member {
    let config = EnsembleConfig {
        size: u8::try_from(setting.servers).unwrap_or(u8::MAX),
        server: server.clone(),
        init_limit: setting.sync_limit * 2,
        sync_limit: setting.sync_limit,
    };
    let mut member = Member::new(member_id(place), &config, seed, Instant::ORIGIN);
    member.set_touch_loss(setting.touch_loss);
    member.set_touch_skew(setting.others.map_or(Duration::ZERO, OtherServers::skew));
    member
}
