//! The session: its inputs, its outputs, and its state.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;
use core::num::NonZeroUsize;

use bytes::BytesMut;
use zk_jute::{Frame, FrameSplitter, OpCode, SessionId, Zxid};

use crate::config::Config;
use crate::event::{Completion, ConnectionEnd, Event, Expiry, SessionEnd, TransportCommand};
use crate::family::ServerFamily;
use crate::lease::Lease;
use crate::requests::Requests;
use crate::sasl::SaslChallenge;
use crate::servers::{ServerIndex, Servers};
use crate::silence::Waits;
use crate::time::Instant;
use crate::watches::Watches;
use state::{Authenticating, Authentication, Closing, Granted, Identity, Live, State, Upkeep};

mod connection;
mod frames;
mod handover;
mod heartbeat;
mod sasl;
mod searching;
mod silence;
mod state;
mod submission;

pub use submission::Watching;

/// A ZooKeeper session over many connections. The [crate documentation](crate) has the loop that
/// drives it.
///
/// `R` is the type of the caller's tags for requests, `W` that for watches. Both come back in
/// [`Event`]s. A watch that stays comes back again and again, so its tag is cloned.
pub struct Session<R, W> {
    config: Config,
    rng: fastrand::Rng,
    servers: Servers,
    /// Attempts to connect since a server last answered in a session that it had accepted.
    attempts: u32,
    waits: Waits,
    began: Instant,
    state: State,
    identity: Identity,
    lease: Lease,
    /// The family of the server that accepted the last handshake.
    family: Option<ServerFamily>,
    upkeep: Upkeep,
    /// The zxid that a server must have applied before this session uses it.
    seen: Zxid,
    /// The highest zxid that the sessions before this one saw, until the reply to a write shows whether the
    /// ensemble still has it; zero from then on, and in a first session.
    seen_before: Zxid,
    /// The zxid up to which all watch events were delivered. An event may share its transaction
    /// with others that are still on their way, so only replies count.
    delivered: Zxid,
    requests: Requests<R>,
    watches: Watches<W>,
    authentications: Vec<Authentication>,
    transport: Option<TransportCommand>,
    /// For drivers that do not split frames themselves.
    splitter: FrameSplitter,
    /// A challenge that the SASL mechanism has not seen yet.
    challenge: Option<SaslChallenge>,
    probe: Option<ServerIndex>,
    events: VecDeque<Event<R, W>>,
}

impl<R, W: Clone> Session<R, W> {
    /// Creates a session that no server knows yet. The first attempt to connect begins at once.
    pub fn new(config: Config, seed: u64, now: Instant) -> Self {
        Self::beginning_as(Identity::New, config, seed, now)
    }

    /// Creates a session in place of one that has expired. The first attempt to connect begins at
    /// once if that one lived for [`Backoff::cap`](crate::Backoff::cap) at least; otherwise after
    /// the next wait. The waits continue those of `expired`, because a server can let one session
    /// after another expire, or grant timeouts that nothing can keep. Its first write shows whether the
    /// ensemble still has what `expired` saw: [`Event::RolledBack`].
    pub fn replacing(expired: &Self, config: Config, seed: u64, now: Instant) -> Self {
        let mut session = Self::new(config, seed, now);
        session.seen_before = expired.seen_before.max(expired.seen);
        session.attempts = expired.attempts_among(session.servers.count());
        session.waits = expired.waits;
        session.requests.inherit(&expired.requests);
        if now.saturating_since(expired.began) < session.config.backoff.cap {
            let until = now + session.next_delay();
            session.state = State::Waiting { until };
        }
        session
    }

    fn beginning_as(identity: Identity, config: Config, seed: u64, now: Instant) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        Self {
            servers: Servers::new(config.servers, &mut rng),
            rng,
            attempts: 0,
            waits: Waits::new(now),
            began: now,
            state: State::Waiting { until: now },
            identity,
            lease: Lease::new(config.grade, config.margin, config.pace),
            family: None,
            upkeep: Upkeep::Idle,
            seen: Zxid::ZERO,
            seen_before: Zxid::ZERO,
            delivered: Zxid::ZERO,
            requests: Requests::new(config.limits),
            watches: Watches::new(),
            authentications: Vec::new(),
            transport: None,
            splitter: FrameSplitter::default(),
            challenge: None,
            probe: None,
            events: VecDeque::new(),
            config,
        }
    }

    /// Reports that the transport of [`TransportCommand::Connect`] is open.
    pub fn handle_opened(&mut self, now: Instant) {
        self.check_lease(now);
        if let State::Opening { server, .. } = self.state {
            self.send_handshake();
            let give_up_at = now + self.attempt_timeout();
            self.state = State::Handshaking { server, sent_at: now, give_up_at };
        }
    }

    /// Reports a frame, or its payload.
    ///
    /// If a frame is longer than the driver keeps, the driver reads past it and reports its head.
    /// If it is the reply to a request, only that request fails, with
    /// [`Failure::ReplyTooLarge`](crate::Failure::ReplyTooLarge). Any other frame of that length
    /// ends the connection.
    pub fn handle_frame(&mut self, now: Instant, frame: impl Into<Frame>) {
        let picked = self.handle_frame_picking(now, frame, Err::<Infallible, R>);
        debug_assert!(picked.is_none(), "nothing is picked");
    }

    /// Takes in a frame as [`handle_frame`](Self::handle_frame) does. The answer to a request with a tag that `pick`
    /// takes is handed out at once, if the request succeeded and no event waits before it; anything else is
    /// left to [`poll_event`](Self::poll_event).
    ///
    /// Almost all frames bring such an answer, and the way through the queue costs as much as the rest.
    #[inline]
    pub fn handle_frame_picking<T>(
        &mut self,
        now: Instant,
        frame: impl Into<Frame>,
        pick: impl FnOnce(R) -> Result<T, R>,
    ) -> Option<(T, Completion)> {
        self.check_lease(now);
        match (&mut self.state, frame.into()) {
            (State::Live(_), Frame::Whole(frame)) => {
                self.hear(now);
                self.handle_live_frame(now, frame, pick)
            }
            (State::Live(_), Frame::Oversized(frame)) => {
                self.hear(now);
                self.handle_oversized_reply(now, &frame);
                None
            }
            (_, frame) => {
                self.handle_early_frame(now, frame);
                None
            }
        }
    }

    /// Handles a frame where no connection is established.
    #[cold]
    fn handle_early_frame(&mut self, now: Instant, frame: Frame) {
        match (self.state, frame) {
            (State::Handshaking { server, sent_at, .. }, Frame::Whole(frame)) => {
                self.handle_handshake(now, server, sent_at, &frame);
            }
            (State::Authenticating(exchange), Frame::Whole(frame)) => {
                self.handle_sasl_frame(now, exchange, frame);
            }
            (State::Handshaking { .. } | State::Authenticating(_), Frame::Oversized(frame)) => {
                self.connection_ended(now, ConnectionEnd::too_long(&frame));
            }
            (
                State::Waiting { .. } | State::Opening { .. } | State::Live(_) | State::Ended(_),
                _,
            ) => {}
        }
    }

    /// Reports bytes from the transport: takes every complete frame from the front of `input`, and
    /// leaves the rest for the next call. For drivers that do not split frames themselves.
    ///
    /// A negative length ends the connection, and clears `input`. Frames above `max_frame` are read
    /// past.
    pub fn handle_bytes(&mut self, now: Instant, input: &mut BytesMut, max_frame: usize) {
        loop {
            match self.splitter.next(input, max_frame) {
                Ok(Some(frames)) => frames.for_each(|frame| self.handle_frame(now, frame)),
                Ok(None) if input.is_empty() => return,
                Ok(None) => return self.handle_progress(now),
                Err(error) => {
                    input.clear();
                    self.check_lease(now);
                    self.connection_ended(now, ConnectionEnd::Protocol(error.into()));
                    return;
                }
            }
        }
    }

    /// Reports that the transport could not be opened, failed, or was closed by the other side.
    pub fn handle_closed(&mut self, now: Instant) {
        self.check_lease(now);
        self.connection_ended(now, ConnectionEnd::Closed);
    }

    /// Does what is due at `now`. Call it at [`Session::poll_timeout`]; calling it earlier does no
    /// harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.check_lease(now);
        match self.state {
            State::Waiting { until } if until <= now => self.open(now),
            State::Opening { give_up_at, .. }
            | State::Handshaking { give_up_at, .. }
            | State::Authenticating(Authenticating { give_up_at, .. })
                if give_up_at <= now =>
            {
                self.connection_ended(now, ConnectionEnd::TimedOut);
            }
            State::Live(live) => self.handle_live_timeout(now, live),
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Authenticating(_)
            | State::Ended(_) => {}
        }
        if self.dead_at().is_some_and(|dead_at| dead_at <= now) {
            self.end(SessionEnd::Expired(Expiry::Unreachable));
        }
    }

    /// Returns when to call [`Session::handle_timeout`] next; `None` once the session has ended.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let state = match self.state {
            State::Waiting { until } => until,
            State::Opening { give_up_at, .. }
            | State::Handshaking { give_up_at, .. }
            | State::Authenticating(Authenticating { give_up_at, .. }) => give_up_at,
            State::Live(ref live) => {
                let others = [
                    self.heartbeat_at(live),
                    self.ping_at(live),
                    live.search_at(),
                    live.give_up_at(),
                    self.unanswered_at(live),
                    self.overdue_at(live),
                ];
                earliest(live.silent_at(), others)
            }
            State::Ended(_) => return None,
        };
        Some(earliest(state, [self.lease.deadline(), self.dead_at()]))
    }

    /// Replaces the list of servers. From now on indices mean places in the new list. The session
    /// shuffles it, and begins a new round of attempts at the present step of the backoff.
    ///
    /// An attempt without an open transport begins anew, with the new list. An attempt that waits
    /// for the handshake's answer goes on, so a list that changes often does not keep a session
    /// from connecting. A connection goes on too, and is not moved to the new servers. A driver
    /// that names the server of [`Event::ConnectFailed`] has to remember which server it opened a
    /// transport to.
    pub fn handle_servers(&mut self, now: Instant, count: NonZeroUsize) {
        self.check_lease(now);
        let round = self.round();
        self.servers = Servers::new(count, &mut self.rng);
        self.attempts = round.saturating_mul(self.servers.count().get());
        self.search_anew(now);
        if matches!(self.state, State::Opening { .. }) {
            self.open(now);
        }
    }

    /// Returns a command for the transport, if there is one.
    pub fn poll_transport(&mut self) -> Option<TransportCommand> {
        self.transport.take()
    }

    /// Appends the bytes to send to `output`. Both may be empty.
    pub fn poll_transmit(&mut self, output: &mut BytesMut) {
        self.requests.drain_into(output);
    }

    /// Frees unused memory, as after a burst of requests.
    pub fn shrink_to_fit(&mut self) {
        self.requests.shrink_to_fit();
        self.events.shrink_to_fit();
        self.watches.shrink_to_fit();
    }

    /// Returns whether [`poll_event`](Self::poll_event) has an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next event, oldest first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event<R, W>> {
        self.events.pop_front()
    }

    /// Returns until when no server can have expired the session, less the margin. It rests on the
    /// [`LeaseGrade`](crate::lease::LeaseGrade), and on [heartbeats](Session::keep_lease) if there are
    /// any. `None` before the first connection, and once the deadline has passed.
    pub fn lease_deadline(&self) -> Option<Instant> {
        self.lease.deadline()
    }

    /// Returns the session's id, once a server has granted it. A read-only server grants one of its
    /// own, which the next connection replaces.
    pub fn id(&self) -> Option<SessionId> {
        match &self.identity {
            Identity::New => None,
            Identity::Local { session } | Identity::Granted(Granted { session, .. }) => {
                Some(*session)
            }
        }
    }

    /// Returns how the session ended, once it has.
    pub fn ended(&self) -> Option<SessionEnd> {
        match self.state {
            State::Ended(end) => Some(end),
            State::Waiting { .. }
            | State::Opening { .. }
            | State::Handshaking { .. }
            | State::Authenticating(_)
            | State::Live(_) => None,
        }
    }

    /// Returns the highest zxid of any reply or event.
    pub fn last_zxid(&self) -> Zxid {
        self.seen
    }

    /// Returns the family of the server that the session is connected to, or was last; `None` before the
    /// first connection.
    pub fn server_family(&self) -> Option<ServerFamily> {
        self.family
    }

    /// Returns whether requests can be sent now.
    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Live(Live { closing: Closing::NotAsked, .. }))
    }

    /// Returns whether a server has answered this operation with `Unimplemented`, or two connections in a
    /// row have ended over it, to a server that is not Apache ZooKeeper. The session does not send it any more, since each attempt costs a
    /// connection.
    pub fn is_unsupported(&self, operation: OpCode) -> bool {
        self.requests.is_refused(operation)
    }

    /// Returns whether the next request would be refused with
    /// [`SubmitError::Full`](crate::SubmitError::Full).
    pub fn is_full(&self) -> bool {
        self.requests.are_full()
    }

    /// Returns the bytes of requests that wait to be sent.
    pub fn queued_bytes(&self) -> usize {
        self.requests.queued_bytes()
    }
}

/// Returns the earliest moment. It is a plain loop because each wake-up of a driver calls it.
fn earliest<const N: usize>(first: Instant, others: [Option<Instant>; N]) -> Instant {
    let mut earliest = first;
    for other in others {
        if let Some(other) = other
            && other < earliest
        {
            earliest = other;
        }
    }
    earliest
}

impl<R, W: Clone> fmt::Debug for Session<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("state", &self.state)
            .field("last_zxid", &self.seen)
            .field("lease_deadline", &self.lease.deadline())
            .field("in_flight", &self.requests.in_flight())
            .finish_non_exhaustive()
    }
}
