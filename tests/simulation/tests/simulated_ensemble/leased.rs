//! The real session on the ensemble, with a lease that it keeps in force.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::VecDeque;

use bytes::BytesMut;
use zk_session::{Config, Instant, LeaseUpkeep, Session, TransportCommand};
use zk_simulation::ensemble::MemberId;

use crate::client::ClientId;
use crate::network::{Network, TICK};

/// The least timeout that a lease allows: two ticks of the ensemble.
pub(crate) const TIMEOUT: Duration = TICK.saturating_mul(2);

/// A session at one member. Its clock shows the true time.
pub(crate) struct Leased {
    pub(crate) session: Session<(), ()>,
    transport: ClientId,
    up: Way,
    down: Way,
}

/// The bytes on their way in one direction. They arrive in order.
#[derive(Default)]
struct Way {
    delay: Duration,
    in_flight: VecDeque<(Duration, BytesMut)>,
}

impl Leased {
    /// Connects a session that asks for two ticks, unless `set` says otherwise, and keeps its lease in
    /// force.
    pub(crate) fn connect(
        network: &mut Network,
        member: MemberId,
        seed: u64,
        set: impl FnOnce(&mut Config),
    ) -> Self {
        let mut leased = Self::idle(network, member, seed, set);
        leased.keep(network);
        leased
    }

    /// Connects a session that does nothing for its lease yet.
    pub(crate) fn idle(
        network: &mut Network,
        member: MemberId,
        seed: u64,
        set: impl FnOnce(&mut Config),
    ) -> Self {
        let mut config = Config::new(NonZeroUsize::MIN);
        config.session_timeout = TIMEOUT;
        set(&mut config);
        let now = Instant::since_origin(network.now());
        let mut session = Session::new(config, seed, now);
        session.handle_timeout(now);
        let transport = network.transport(member);
        session.handle_opened(now);
        let mut leased = Self { session, transport, up: Way::default(), down: Way::default() };
        leased.transmit(network);
        leased
    }

    /// Keeps the lease in force from now on.
    pub(crate) fn keep(&mut self, network: &mut Network) {
        let now = Instant::since_origin(network.now());
        self.session.keep_lease(now, LeaseUpkeep::InForce { znode: "/" }).expect("short");
        self.transmit(network);
    }

    /// Connects to another member, and sends its handshake.
    pub(crate) fn connect_to(&mut self, network: &mut Network, member: MemberId) {
        network.disconnect(self.transport);
        (self.up, self.down) = (Way::default(), Way::default());
        self.session.handle_closed(Instant::since_origin(network.now()));
        while !matches!(self.session.poll_transport(), Some(TransportCommand::Connect(_))) {
            let due = self.session.poll_timeout().expect("it wants to connect");
            let wait = whole_micros(due.elapsed()).saturating_sub(network.now());
            network.pass(wait);
            self.session.handle_timeout(Instant::since_origin(network.now()));
        }
        self.transport = network.transport(member);
        self.session.handle_opened(Instant::since_origin(network.now()));
        self.transmit(network);
        self.take_in(network);
    }

    /// Ends the process: nothing is sent any more.
    pub(crate) fn leave(&self, network: &mut Network) {
        network.disconnect(self.transport);
    }

    /// Returns the time until which the lease is proved.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.session.lease_deadline().map(Instant::elapsed)
    }

    /// Sets how long the bytes take that are sent from now on, up to the server and down.
    pub(crate) fn set_delays(&mut self, up: Duration, down: Duration) {
        (self.up.delay, self.down.delay) = (up, down);
    }

    /// Does the next thing that happens before `end`, in the network or here; `false` once that
    /// time has come.
    pub(crate) fn step(&mut self, network: &mut Network, end: Duration) -> bool {
        let end = whole_micros(end);
        let due = self.session.poll_timeout().map(Instant::elapsed);
        let next = [due, self.up.next(), self.down.next()].into_iter().flatten().min();
        let next = whole_micros(next.unwrap_or(end)).clamp(network.now(), end);
        let has_happened = network.step_until(next);
        if !has_happened {
            self.take_in(network);
        }
        self.transmit(network);
        has_happened || network.now() < end
    }

    pub(crate) fn pass(&mut self, network: &mut Network, span: Duration) {
        let end = network.now() + span;
        while self.step(network, end) {}
    }

    fn take_in(&mut self, network: &mut Network) {
        let now = Instant::since_origin(network.now());
        if let Some(bytes) = self.up.arrived(network.now()) {
            network.receive(self.transport, &bytes);
        }
        if let Some(mut bytes) = self.down.arrived(network.now()) {
            self.session.handle_bytes(now, &mut bytes, usize::MAX);
            assert!(bytes.is_empty(), "whole frames");
        }
        if self.session.poll_timeout().is_some_and(|due| due <= now) {
            self.session.handle_timeout(now);
        }
        while self.session.poll_event().is_some() {}
    }

    fn transmit(&mut self, network: &mut Network) {
        let now = network.now();
        self.down.send(now, network.clients[self.transport.0].take_received());
        let mut bytes = BytesMut::new();
        self.session.poll_transmit(&mut bytes);
        self.up.send(now, bytes);
    }
}

impl Way {
    fn send(&mut self, now: Duration, bytes: BytesMut) {
        if !bytes.is_empty() {
            let last = self.in_flight.back().map_or(Duration::ZERO, |(at, _)| *at);
            self.in_flight.push_back(((now + self.delay).max(last), bytes));
        }
    }

    fn next(&self) -> Option<Duration> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    fn arrived(&mut self, now: Duration) -> Option<BytesMut> {
        self.next().filter(|at| *at <= now)?;
        self.in_flight.pop_front().map(|(_, bytes)| bytes)
    }
}

/// Returns the next moment of the network, which counts in microseconds.
fn whole_micros(span: Duration) -> Duration {
    Duration::from_micros(u64::try_from(span.as_nanos().div_ceil(1000)).expect("not that long"))
}
