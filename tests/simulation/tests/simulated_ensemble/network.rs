//! Members, their messages to each other, and the times of arrival.

mod breakage;
mod trace;

use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeMap;

use zk_embedded::{Config, Database, Instant};
use zk_simulation::ensemble::{
    EnsembleConfig, Member, MemberId, MemberRole, PeerMessage, PeerOutput,
};

use self::trace::Trace;
use crate::agreement::Agreement;
use crate::client::{Client, ClientId};
use crate::wires::{Content, Link, Micros, Wires};

pub(crate) const TICK: Duration = Duration::from_millis(100);
pub(crate) const SYNC_LIMIT: u32 = 5;

pub(crate) struct Network {
    now: Micros,
    pub(crate) random: fastrand::Rng,
    servers: BTreeMap<MemberId, Server>,
    wires: Wires,
    pub(crate) clients: Vec<Client>,
    pub(crate) agreement: Agreement,
    /// Everything that the members said.
    pub(crate) said: Vec<(Duration, Link, PeerMessage)>,
    trace: Option<Trace>,
    /// The time at which the message was sent that a member is working on.
    working_on: Micros,
}

struct Server {
    member: Member,
    state: State,
    clock: Clock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// Its messages wait.
    Paused,
    /// Messages to it are lost.
    Crashed,
}

/// A member's own time.
#[derive(Clone, Copy)]
struct Clock {
    offset: Micros,
    /// In a thousandth of the true rate.
    rate: u64,
}

pub(crate) fn config(size: u8) -> EnsembleConfig {
    let server = Config::with_tick_time(TICK);
    EnsembleConfig { size, server, init_limit: 10, sync_limit: SYNC_LIMIT }
}

impl Clock {
    fn read(self, now: Micros) -> Instant {
        Instant::since_origin(Duration::from_micros(self.offset + now * self.rate / 1000))
    }

    /// Returns the time at which it will show `due`.
    fn when(self, due: Instant) -> Micros {
        let due = due.elapsed().as_nanos().div_ceil(1000);
        let due = u64::try_from(due).expect("not that late");
        (due.saturating_sub(self.offset) * 1000).div_ceil(self.rate)
    }
}

impl Network {
    /// Makes an ensemble with delays of about a millisecond, and exact clocks.
    pub(crate) fn new(size: u8, seed: u64) -> Self {
        Self::build(&config(size), seed, |_| 1000)
    }

    /// Does as [`Network::new`], with members of this configuration.
    pub(crate) fn of(config: &EnsembleConfig, seed: u64) -> Self {
        Self::build(config, seed, |_| 1000)
    }

    /// Makes an ensemble with clocks that are off by up to five in a hundred.
    pub(crate) fn with_bad_clocks(size: u8, seed: u64) -> Self {
        Self::with_rates(size, seed, 950..=1050)
    }

    /// Makes an ensemble with clocks whose rates are among these, in thousandths of the true one.
    pub(crate) fn with_rates(size: u8, seed: u64, rates: RangeInclusive<u64>) -> Self {
        Self::build(&config(size), seed, |random| random.u64(rates.clone()))
    }

    fn build(config: &EnsembleConfig, seed: u64, rate: impl Fn(&mut fastrand::Rng) -> u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut servers = BTreeMap::new();
        for id in (1..=config.size).map(MemberId) {
            let clock = Clock { offset: random.u64(0..1_000_000), rate: rate(&mut random) };
            let member = Member::new(id, config, random.u64(..), clock.read(0));
            servers.insert(id, Server { member, state: State::Running, clock });
        }
        let first = Database::first(&config.server).last_zxid();
        let mut network = Self {
            now: 0,
            random,
            servers,
            wires: Wires::new(),
            clients: Vec::new(),
            agreement: Agreement::from(first),
            said: Vec::new(),
            trace: None,
            working_on: 0,
        };
        network.ids().into_iter().for_each(|id| network.flush(id));
        network
    }

    pub(crate) fn ids(&self) -> Vec<MemberId> {
        self.servers.keys().copied().collect()
    }

    /// Returns all ordered pairs.
    pub(crate) fn pairs(&self) -> Vec<Link> {
        let ids = self.ids();
        let pairs = ids.iter().flat_map(|from| ids.iter().map(|to| (*from, *to)));
        pairs.filter(|(from, to)| from != to).collect()
    }

    /// Returns the time since the beginning.
    pub(crate) fn now(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    pub(crate) fn member(&self, id: MemberId) -> &Member {
        &self.servers[&id].member
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.servers.values().map(|server| &server.member)
    }

    /// Calls a running member with its own time, and carries away what it has to say.
    pub(crate) fn with<T>(
        &mut self,
        id: MemberId,
        call: impl FnOnce(&mut Member, Instant) -> T,
    ) -> T {
        let server = self.servers.get_mut(&id).expect("a member");
        let now = server.clock.read(self.now);
        let result = call(&mut server.member, now);
        self.flush(id);
        result
    }

    pub(crate) fn is_running(&self, id: MemberId) -> bool {
        self.servers[&id].state == State::Running
    }

    /// Returns the only member that serves as a leader, if there is one.
    pub(crate) fn leader(&self) -> Option<MemberId> {
        let leads = |member: &&Member| {
            member.role() == MemberRole::Leading
                && member.is_serving()
                && self.is_running(member.id())
        };
        let mut leaders = self.members().filter(leads).map(Member::id);
        leaders.next().filter(|_| leaders.next().is_none())
    }

    /// Returns the leader that all the others follow.
    pub(crate) fn settled(&self) -> Option<MemberId> {
        let leader = self.leader()?;
        let follows = |member: &Member| {
            member.is_serving()
                && (member.id() == leader || member.role() == MemberRole::Following(leader))
        };
        self.members().all(follows).then_some(leader)
    }

    /// Lets time pass until `condition` holds; fails after `bound`.
    pub(crate) fn wait<T>(
        &mut self,
        bound: Duration,
        what: &str,
        condition: impl Fn(&Self) -> Option<T>,
    ) -> T {
        let end = self.now + micros(bound);
        loop {
            if let Some(result) = condition(self) {
                return result;
            }
            assert!(self.step(end), "{what}: not within {bound:?}\n{}", self.story());
        }
    }

    /// Returns the last messages, and the state of the members.
    fn story(&self) -> String {
        let said = self.said.iter().skip(self.said.len().saturating_sub(60));
        let said =
            said.map(|(at, (from, to), text)| format!("{at:?} {} to {}: {text:?}\n", from.0, to.0));
        let ends = self.servers.values().map(|server| {
            let member = &server.member;
            format!("{:?} {:?} {:?}\n", member.id(), server.state, member.role())
        });
        said.chain(ends).collect()
    }

    pub(crate) fn settle(&mut self) -> MemberId {
        self.wait(TICK * 30, "a leader that all follow", Self::settled)
    }

    pub(crate) fn pass(&mut self, span: Duration) {
        let end = self.now + micros(span);
        while self.step(end) {}
    }

    /// Does the next thing that happens before `end`; `false` once that time has come.
    pub(crate) fn step_until(&mut self, end: Duration) -> bool {
        self.step(micros(end))
    }

    fn step(&mut self, end: Micros) -> bool {
        let is_awake = |id: MemberId| self.servers[&id].state != State::Paused;
        let arrival = self.wires.next_arrival(is_awake);
        let timeout = self.next_timeout();
        let at = arrival.map(|(at, _)| at).into_iter().chain(timeout.map(|(at, _)| at)).min();
        let Some(at) = at.filter(|at| *at < end) else {
            self.now = end;
            return false;
        };
        self.now = self.now.max(at);
        match (arrival, timeout) {
            (Some((arrives_at, link)), _) if arrives_at == at => self.deliver(link),
            (_, Some((_, id))) => self.with(id, Member::handle_timeout),
            (_, None) => unreachable!("one of them is due"),
        }
        true
    }

    fn next_timeout(&self) -> Option<(Micros, MemberId)> {
        let running = self.servers.iter().filter(|(_, server)| server.state == State::Running);
        let timeout = |(id, server): (&MemberId, &Server)| {
            Some((server.clock.when(server.member.poll_timeout()?), *id))
        };
        running.filter_map(timeout).min()
    }

    fn deliver(&mut self, link: Link) {
        let (from, to) = link;
        match self.wires.arrive(link) {
            Some(_) if self.servers[&to].state == State::Crashed => {}
            Some(Content::Message(sent_at, message)) => {
                self.arrives(link, sent_at, &message);
                self.with(to, |member, now| member.handle_peer(now, from, message));
            }
            Some(Content::Reset) => {
                self.with(to, |member, now| member.handle_peer_reset(now, from));
            }
            None => {}
        }
    }

    /// Carries away what a member has to say, to the others and to its clients.
    fn flush(&mut self, id: MemberId) {
        while let Some(output) = self.servers.get_mut(&id).and_then(|s| s.member.poll_peer()) {
            match output {
                PeerOutput::Send { to, message } => {
                    self.say((id, to), &message);
                    self.said.push((self.now(), (id, to), message.clone()));
                    self.wires.send(self.now, (id, to), message, &mut self.random);
                }
                PeerOutput::Reset { peer } => {
                    self.wires.end(self.now, (id, peer), &mut self.random);
                }
            }
        }
        self.look(id);
        self.serve_clients(id);
        self.agreement.observe(self.servers.values().map(|server| &server.member), id);
    }

    fn serve_clients(&mut self, id: MemberId) {
        loop {
            let server = self.servers.get_mut(&id).expect("a member");
            let Some(connection) = server.member.poll_ready() else {
                return;
            };
            let now = server.clock.read(self.now);
            let client = self.clients.iter_mut().find(|client| client.is_at(id, connection));
            if let Some(client) = client {
                client.take(&mut server.member, now);
            } else {
                server.member.close(connection);
            }
        }
    }
}

/// The acts of clients.
impl Network {
    /// Returns a client without a session, which lasts this many ticks.
    pub(crate) fn client(&mut self, ticks: u32) -> ClientId {
        let timeout = i32::try_from((TICK * ticks).as_millis()).expect("not that long");
        self.clients.push(Client::new(timeout));
        ClientId(self.clients.len() - 1)
    }

    /// Opens the transport of a session to this member.
    pub(crate) fn transport(&mut self, member: MemberId) -> ClientId {
        let mut client = Client::transport();
        let server = self.servers.get_mut(&member).expect("a member");
        client.open(&mut server.member, server.clock.read(self.now));
        self.clients.push(client);
        self.flush(member);
        ClientId(self.clients.len() - 1)
    }

    /// Connects a client to another member, in its session if it has one.
    pub(crate) fn connect(&mut self, client: ClientId, member: MemberId) {
        self.disconnect(client);
        let server = self.servers.get_mut(&member).expect("a member");
        let now = server.clock.read(self.now);
        self.clients[client.0].connect(&mut server.member, now);
        self.flush(member);
    }

    pub(crate) fn disconnect(&mut self, client: ClientId) {
        if let Some((member, connection)) = self.clients[client.0].place() {
            self.clients[client.0].lose_connection();
            self.with(member, |member, _| member.close(connection));
        }
    }

    /// Returns a client with a session of ten ticks.
    pub(crate) fn established(&mut self, member: MemberId) -> ClientId {
        self.established_for(member, 10)
    }

    pub(crate) fn established_for(&mut self, member: MemberId, ticks: u32) -> ClientId {
        let id = self.client(ticks);
        self.connect(id, member);
        self.wait(TICK * 5, "a session", |network| network[id].session());
        id
    }

    pub(crate) fn receive(&mut self, client: ClientId, bytes: &[u8]) {
        if let Some((member, connection)) = self.clients[client.0].place()
            && self.is_running(member)
        {
            self.with(member, |member, now| member.receive(now, connection, bytes));
        }
    }
}

impl core::ops::Index<ClientId> for Network {
    type Output = Client;

    fn index(&self, id: ClientId) -> &Client {
        &self.clients[id.0]
    }
}

fn micros(span: Duration) -> Micros {
    u64::try_from(span.as_micros()).expect("not that long")
}
