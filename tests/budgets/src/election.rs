//! An election among clients without IO, with a server without IO, in a time of their own.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::sync::Arc;

use bytes::BytesMut;
use election_core::NomineeId;
use election_core::election::{Nominee, Policy};
use election_session::{Chroot, RecipeHost, RecipeKey, Settings, Site};
use zk_embedded::{ConnectionId, Standalone};
use zk_session::{Config, Instant, TransportCommand, ZnodePath};

use crate::Outcome;

/// Clients, each with a session and a nominee.
const CLIENTS: u8 = 20;
/// Longer than any change in an election takes.
const PATIENCE: usize = 1000;

type Host = RecipeHost<Nominee, (), ()>;

/// The part of the clients' work that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measured {
    Nothing,
    TakeOver,
    Join,
}

/// An election that has a leader.
#[derive(Debug)]
pub(crate) struct Election {
    now: Duration,
    server: Standalone,
    clients: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    host: Host,
    site: Arc<Site>,
    id: NomineeId,
    key: Option<RecipeKey>,
    connection: Option<ConnectionId>,
    input: BytesMut,
    output: BytesMut,
}

impl Election {
    pub(crate) fn new() -> Outcome<Self> {
        let now = Duration::ZERO;
        let site = Site::new(&"/election".parse::<ZnodePath>()?, &Chroot::default());
        let site = Arc::new(site);
        let clients = (0..CLIENTS).map(|number| Candidate::new(number, &site));
        let clients = clients.collect::<Outcome<_>>()?;
        let config = zk_embedded::Config::default();
        let server = Standalone::new(zk_embedded::Instant::since_origin(now), &config);
        let mut election = Self { now, server, clients };
        // Sessions as old as most are: none of them waits for its first proofs.
        election.settle(Measured::Nothing)?;
        for number in 0..election.clients.len() {
            election.on(number, Measured::Nothing, Candidate::stand);
            election.settle(Measured::Nothing)?;
        }
        let end = election.now + Duration::from_secs(60);
        while election.now < end {
            election.pass_time();
            election.settle(Measured::Nothing)?;
        }
        Ok(election)
    }

    /// Changes the leader: it withdraws, another nominee leads, the first one stands again.
    pub(crate) fn change_leader(&mut self, take_over: Measured, join: Measured) -> Outcome<()> {
        let leader = self.leader().ok_or("nominees, and no leader")?;
        self.on(leader, take_over, Candidate::withdraw);
        self.settle(take_over)?;
        let mut patience = 0..PATIENCE;
        while self.leader().is_none() {
            patience.next().ok_or("no successor")?;
            self.pass_time();
            self.settle(take_over)?;
        }
        self.on(leader, join, Candidate::stand);
        self.settle(join)
    }

    fn leader(&self) -> Option<usize> {
        let now = self.session_now();
        self.clients.iter().position(|client| client.leads(now))
    }

    /// Passes bytes on until there are none.
    fn settle(&mut self, measured: Measured) -> Outcome<()> {
        for _ in 0..PATIENCE {
            if !self.exchange(measured)? {
                return Ok(());
            }
        }
        Err("the clients and the server find no end".into())
    }

    /// Carries the bytes once, to and fro; whether there were any.
    fn exchange(&mut self, measured: Measured) -> Outcome<bool> {
        let mut has_moved = false;
        for number in 0..self.clients.len() {
            let Some(client) = self.clients.get_mut(number) else { break };
            if let Some(TransportCommand::Connect(_)) = client.host.poll_transport() {
                let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
                let now = zk_embedded::Instant::since_origin(self.now);
                client.connection = Some(self.server.open(now, peer)?);
                self.on(number, measured, |client, now| client.host.handle_opened(now));
                has_moved = true;
            }
            has_moved |= self.carry(number, measured);
        }
        Ok(has_moved)
    }

    fn carry(&mut self, number: usize, measured: Measured) -> bool {
        let now = zk_embedded::Instant::since_origin(self.now);
        let Some(client) = self.clients.get_mut(number) else { return false };
        let Some(connection) = client.connection else { return false };
        let sent = client.output.split();
        if !sent.is_empty() {
            self.server.receive(now, connection, &sent);
        }
        self.server.poll_transmit(now, connection, &mut client.input);
        let has_input = !client.input.is_empty();
        if has_input {
            self.on(number, measured, Candidate::take_in);
        }
        has_input || !sent.is_empty()
    }

    /// Goes on to the next moment at which anything is due.
    fn pass_time(&mut self) {
        let server = self.server.poll_timeout().map(zk_embedded::Instant::elapsed);
        let clients = self.clients.iter().filter_map(|client| client.host.poll_timeout());
        let next = clients.map(Instant::elapsed).chain(server).min();
        self.now = next.unwrap_or_default().max(self.now);
        self.server.handle_timeout(zk_embedded::Instant::since_origin(self.now));
        for number in 0..self.clients.len() {
            self.on(number, Measured::Nothing, |client, now| client.host.handle_timeout(now));
        }
    }

    fn session_now(&self) -> Instant {
        Instant::since_origin(self.now)
    }

    /// Lets a client take a step, and hand out and send what comes of it.
    fn on(
        &mut self,
        number: usize,
        measured: Measured,
        step: impl FnOnce(&mut Candidate, Instant),
    ) {
        let now = self.session_now();
        let Some(client) = self.clients.get_mut(number) else { return };
        match measured {
            Measured::Nothing => client.step(now, step),
            Measured::TakeOver => in_take_over(client, now, step),
            Measured::Join => in_join(client, now, step),
        }
    }
}

/// Steps the client; callgrind counts this function for a take-over.
#[inline(never)]
fn in_take_over(client: &mut Candidate, now: Instant, step: impl FnOnce(&mut Candidate, Instant)) {
    // Else the compiler may make one function of the two.
    core::hint::black_box(Measured::TakeOver);
    client.step(now, step);
}

/// Steps the client; callgrind counts this function for a join.
#[inline(never)]
fn in_join(client: &mut Candidate, now: Instant, step: impl FnOnce(&mut Candidate, Instant)) {
    core::hint::black_box(Measured::Join);
    client.step(now, step);
}

impl Candidate {
    fn new(number: u8, site: &Arc<Site>) -> Outcome<Self> {
        let config = Config::new(core::num::NonZeroUsize::MIN);
        let settings = Settings::new(config, u64::from(number));
        Ok(Self {
            host: RecipeHost::new(settings, Instant::ORIGIN)?,
            site: Arc::clone(site),
            id: NomineeId::from_bytes([number; 16]),
            key: None,
            connection: None,
            input: BytesMut::new(),
            output: BytesMut::new(),
        })
    }

    fn step(&mut self, now: Instant, step: impl FnOnce(&mut Self, Instant)) {
        step(self, now);
        while self.host.poll_event(now).is_some() {}
        self.host.poll_transmit(&mut self.output);
    }

    fn take_in(&mut self, now: Instant) {
        self.host.handle_bytes(now, &mut self.input, zk_jute::DEFAULT_MAX_FRAME);
    }

    fn stand(&mut self, now: Instant) {
        let nominee = Nominee::new(self.id, Policy::default());
        self.key = Some(self.host.stand(now, nominee, Arc::clone(&self.site)));
    }

    fn withdraw(&mut self, now: Instant) {
        if let Some(key) = self.key.take() {
            self.host.withdraw(now, key);
        }
    }

    fn leads(&self, now: Instant) -> bool {
        self.key.is_some_and(|key| self.host.held(now, key).is_some())
    }
}
