//! The real session on the ensemble, with a lease that it keeps in force.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::VecDeque;

use bytes::BytesMut;
use zk_jute::records::SetDataRequest;
use zk_jute::{OpCode, Version};
use zk_session::lease::LeaseUpkeep;
use zk_session::{Config, Instant, Session, TransportCommand};
use zk_simulation::ensemble::MemberId;

use crate::client::ClientId;
use crate::network::{Network, TICK};

/// The least timeout that a lease allows: two ticks of the ensemble.
pub(crate) const TIMEOUT: Duration = TICK.saturating_mul(2);

/// In a trace no request takes no time: one that is sent at a swap of the touch table comes behind it.
const LEAST_DELAY: Duration = Duration::from_micros(1);

/// A session at one member. Its clock shows the true time.
pub(crate) struct Leased {
    pub(crate) session: Session<(), ()>,
    transport: ClientId,
    up: Way,
    down: Way,
    /// The number of the caller's write that is under way.
    write: Option<i32>,
}

/// The bytes on their way in one direction. They arrive in order.
#[derive(Default)]
struct Way {
    delay: Duration,
    in_flight: VecDeque<Sent>,
}

struct Sent {
    at: Duration,
    arrives_at: Duration,
    bytes: BytesMut,
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
        let (grade, pace, timeout) = (config.grade, config.pace, config.session_timeout);
        network.note_run(format_args!("run {grade:?} {pace:?} {}", timeout.as_micros()));
        let now = Instant::since_origin(network.now());
        let mut session = Session::new(config, seed, now);
        session.handle_timeout(now);
        assert!(matches!(session.poll_transport(), Some(TransportCommand::Connect(_))));
        let transport = network.transport(member);
        session.handle_opened(now);
        let (up, down) = (Way::default(), Way::default());
        let mut leased = Self { session, transport, up, down, write: None };
        leased.transmit(network);
        leased
    }

    /// Keeps the lease in force from now on.
    pub(crate) fn keep(&mut self, network: &mut Network) {
        let now = Instant::since_origin(network.now());
        self.session.keep_lease(now, LeaseUpkeep::InForce { znode: "/" }).expect("short");
        self.transmit(network);
    }

    /// Writes, as a caller does, unless a write of its is under way.
    pub(crate) fn write(&mut self, network: &mut Network) {
        if self.write.is_some() || !self.session.is_connected() {
            return;
        }
        let now = Instant::since_origin(network.now());
        let write = SetDataRequest { path: "/", data: Some(b"written"), version: Version::ANY };
        if self.session.submit(now, (), &write).is_ok() {
            self.transmit(network);
        }
    }

    /// Connects to another member, and sends its handshake.
    pub(crate) fn connect_to(&mut self, network: &mut Network, member: MemberId) {
        network.disconnect(self.transport);
        (self.up, self.down, self.write) = (Way::default(), Way::default(), None);
        network.note(format_args!("breaks"));
        self.session.handle_closed(Instant::since_origin(network.now()));
        while !matches!(self.session.poll_transport(), Some(TransportCommand::Connect(_))) {
            // Unless it takes the session for expired.
            let Some(due) = self.session.poll_timeout() else {
                return assert!(self.session.ended().is_some());
            };
            let wait = whole_micros(due.elapsed()).saturating_sub(network.now());
            network.pass(wait);
            self.session.handle_timeout(Instant::since_origin(network.now()));
            network.note(format_args!("clock {}", self.proof()));
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
        if let Some(sent) = self.up.arrived(network.now()) {
            self.reach(network, &sent, "");
        }
        if let Some(Sent { mut bytes, .. }) = self.down.arrived(network.now()) {
            for frame in frames(&bytes) {
                let mut one = bytes.split_to(4 + frame.len());
                self.session.handle_bytes(now, &mut one, usize::MAX);
                assert!(one.is_empty(), "a whole frame");
                self.note_answer(network, &frame);
            }
        }
        if self.session.poll_timeout().is_some_and(|due| due <= now) {
            self.session.handle_timeout(now);
            network.note(format_args!("clock {}", self.proof()));
        }
        while self.session.poll_event().is_some() {}
    }

    fn transmit(&mut self, network: &mut Network) {
        let now = network.now();
        self.down.send(now, network.clients[self.transport.0].take_received());
        let mut bytes = BytesMut::new();
        self.session.poll_transmit(&mut bytes);
        self.write = write_in(&bytes).or(self.write);
        let least = if network.is_traced() { LEAST_DELAY } else { Duration::ZERO };
        self.up.delay = self.up.delay.max(least);
        self.up.send(now, bytes);
    }
}

/// The trace of what it sends and gets.
impl Leased {
    /// Lets what is on its way up arrive now, and its touch be lost: the server has just swapped its
    /// table. Returns whether anything was.
    pub(crate) fn lose_touch(&mut self, network: &mut Network) -> bool {
        let now = network.now();
        let Some(sent) = self.up.in_flight.pop_front() else {
            return false;
        };
        let place = network[self.transport].place();
        // The touch that is lost is that of the first request.
        let is_alone = request_in(&sent.bytes).is_some() && write_in(&sent.bytes).is_none();
        let Some((member, _)) = place.filter(|_| is_alone) else {
            self.up.in_flight.push_front(sent);
            return false;
        };
        network.with(member, |member, _| member.lose_next_touch());
        self.reach(network, &Sent { arrives_at: now, ..sent }, " lost");
        true
    }

    /// Whether the server has closed the connection, or the session has given it up.
    pub(crate) fn is_dropped(&mut self, network: &Network) -> bool {
        network[self.transport].is_closed() || self.session.poll_transport().is_some()
    }

    pub(crate) fn member(&self, network: &Network) -> Option<MemberId> {
        network[self.transport].member()
    }

    fn reach(&self, network: &mut Network, sent: &Sent, touch: &str) {
        let Some((member, _)) = network[self.transport].place() else {
            return;
        };
        let request = request_in(&sent.bytes);
        if request.is_none() && !self.session.is_connected() {
            network.note_handshake(member, sent.at);
        }
        network.receive(self.transport, &sent.bytes);
        if let Some(request) = request {
            let micros = sent.at.as_micros();
            network.note(format_args!("request {} {request} {micros}{touch}", member.0));
        }
        if write_in(&sent.bytes).is_some() {
            network.note(format_args!("write {} {}", member.0, sent.at.as_micros()));
        }
    }

    fn note_answer(&mut self, network: &mut Network, frame: &[u8]) {
        let proof = self.proof();
        // A reply begins with its number, a zxid and an error; what answers a handshake with a zero.
        let word = |at: usize| {
            frame.get(at..at + 4).map(|word| i32::from_be_bytes(word.try_into().expect("4")))
        };
        match (word(0), word(12)) {
            (Some(0), _) if self.session.is_connected() => {
                let member = network[self.transport].place().map_or(0, |(member, _)| member.0);
                network.note(format_args!("connected {member} {proof}"));
            }
            (Some(xid), Some(error)) if xid > 0 => {
                let what = match self.write.take_if(|write| *write == xid) {
                    Some(_) => "written",
                    None => "answer",
                };
                let result = if error == 0 { "success" } else { "refusal" };
                network.note(format_args!("{what} {result} {proof}"));
            }
            _ => {}
        }
    }

    /// Returns the deadline of the lease, in microseconds.
    fn proof(&self) -> String {
        self.deadline().map_or("none".to_owned(), |deadline| deadline.as_micros().to_string())
    }
}

/// Returns the kind of the request among these frames that can prove something.
fn request_in(bytes: &[u8]) -> Option<&'static str> {
    frames(bytes).iter().find_map(|frame| {
        let word = |at: usize| {
            frame.get(at..at + 4).map(|word| i32::from_be_bytes(word.try_into().expect("4")))
        };
        // A handshake begins with a zero.
        match (word(0)? > 0, word(4).map(OpCode::new)) {
            (true, Some(OpCode::SYNC)) => Some("sync"),
            (true, Some(OpCode::MULTI)) => Some("check"),
            _ => None,
        }
    })
}

/// Returns the number of the caller's write among these frames.
fn write_in(bytes: &[u8]) -> Option<i32> {
    frames(bytes).iter().find_map(|frame| {
        let word = |at: usize| {
            frame.get(at..at + 4).map(|word| i32::from_be_bytes(word.try_into().expect("4")))
        };
        let xid = word(0).filter(|xid| *xid > 0)?;
        (word(4).map(OpCode::new) == Some(OpCode::SET_DATA)).then_some(xid)
    })
}

fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (frame, rest) =
            rest.split_at(usize::try_from(i32::from_be_bytes(*length)).expect("sound"));
        frames.push(frame.to_vec());
        bytes = rest;
    }
    frames
}

impl Way {
    fn send(&mut self, now: Duration, bytes: BytesMut) {
        if !bytes.is_empty() {
            let last = self.in_flight.back().map_or(Duration::ZERO, |sent| sent.arrives_at);
            let arrives_at = (now + self.delay).max(last);
            self.in_flight.push_back(Sent { at: now, arrives_at, bytes });
        }
    }

    fn next(&self) -> Option<Duration> {
        self.in_flight.front().map(|sent| sent.arrives_at)
    }

    fn arrived(&mut self, now: Duration) -> Option<Sent> {
        self.next().filter(|at| *at <= now)?;
        self.in_flight.pop_front()
    }
}

/// Returns the next moment of the network, which counts in microseconds.
fn whole_micros(span: Duration) -> Duration {
    Duration::from_micros(u64::try_from(span.as_nanos().div_ceil(1000)).expect("not that long"))
}
