//! Until when no server can have expired the session.
//!
//! # Why the deadline holds, step by step
//!
//! ZooKeeper's leader ends sessions. It keeps a time of expiry for each, and a *touch* that arrives
//! sets it to its arrival plus the timeout that the touch carries. So a deadline is the sending of
//! something that is known to have touched the session there, plus a timeout, less the margin.
//!
//! 1. **The timeout is the least ever granted.** A touch carries the timeout of the connection that
//!    it came by. A server that restarts, and a new ZooKeeper leader, start all clocks with the
//!    timeout of the session's *creation*, whatever was granted later. And a member that the
//!    session has left may hand over an old touch late, with the timeout of then. None of them can
//!    be less than the least.
//! 2. **The proof is later than the touch.** What a server answers shows that it was touched there;
//!    that the leader, too, was, later answers show: see [`Evidence`]. Under [`LeaseGrade::Quorum`]
//!    a quorum has committed one of them, so a leader that was deposed unawares cannot have given
//!    it; a new one starts the session's clock later than all this.
//! 3. **A proof that comes in time extends the deadline at once.** The leader finds a session
//!    expired when its time has come, not before: as long as the deadline before has not passed, the
//!    touch met a session that lived.
//! 4. **A proof that comes late is tentative, until a check that was sent later is answered.** If the
//!    deadline has passed (or there was none), the leader may have taken the session out of its
//!    queue already, without having marked it as closing yet (`SessionTrackerImpl.run`): in that
//!    moment a touch succeeds and changes nothing, requests are served and even committed, and the
//!    session is closed all the same. Or it has marked it, and a follower's `sync` is answered
//!    nevertheless. The moment is short: the leader works off the sessions that expire together in
//!    less than [a twelfth of the timeout](SETTLING_PART), or this rule does not suffice. A check in
//!    a transaction that was sent that long after the tentative proof, and succeeded, met a session
//!    that was not closing: the touch before counted, and so has every proof that came since, while
//!    the tentative deadline had not passed.
//! 5. **A connection's handshake** is checked against the leader and touches there; rules 2 to 4
//!    apply to it as well. So with a new connection a tentative proof of the old one is dropped. The
//!    handshake that makes a session is committed by a quorum, and needs no further proof.
//! 6. **Errors prove nothing,** and nothing that a read-only server says does.
//!
//! What this takes from the clocks, the ensemble and its operators is listed at [`LeaseGrade`].

use core::time::Duration;

use crate::time::Instant;
use evidence::Evidence;
pub(crate) use evidence::Followup;
pub use grade::{LeaseGrade, LeaseMargin};
pub use outlook::LeaseOutlook;
use outlook::RoundTrips;

mod evidence;
mod grade;
mod outlook;

/// This part of the timeout passes between the answer that completes a tentative proof and the
/// sending of what confirms it. It rests on a condition: ZooKeeper's leader works through all
/// sessions of one bucket, those that expire together, in less time.
const SETTLING_PART: u32 = 12;

/// After a refusal the next heartbeat comes this part of the timeout later: soon, since other
/// elections of the session rely on the same lease. Each further refusal in a row doubles it.
const RETRY_PART: u32 = 24;

/// Three doublings make a third of the timeout, the interval of heartbeats that succeed.
const MOST_DOUBLINGS: u32 = 3;

/// The lease of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    grade: LeaseGrade,
    margin: LeaseMargin,
    /// The least that was ever granted to the session.
    timeout: Duration,
    server: ServerMode,
    state: LeaseState,
    evidence: Evidence,
    round_trips: RoundTrips,
}

/// A handshake that a server has accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) sent_at: Instant,
    pub(crate) answered_at: Instant,
    /// The least timeout that was granted to the session so far, by this handshake too.
    pub(crate) least_timeout: Duration,
}

/// The mode of the server that the present connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerMode {
    ReadWrite,
    /// It has no leader, so nothing that it says proves anything.
    ReadOnly,
}

#[derive(Clone, Copy, Debug)]
enum LeaseState {
    /// Nothing is proved, or what was has lapsed.
    Unproved,
    /// A proof came when none was in force.
    Settling(Tentative),
    Until(Instant),
}

/// A deadline that counts once something that was sent late enough is answered.
#[derive(Clone, Copy, Debug)]
struct Tentative {
    deadline: Instant,
    settles_at: Instant,
}

impl Lease {
    pub(crate) const fn new(grade: LeaseGrade, margin: LeaseMargin) -> Self {
        Self {
            grade,
            margin,
            timeout: Duration::ZERO,
            server: ServerMode::ReadWrite,
            state: LeaseState::Unproved,
            evidence: Evidence::NONE,
            round_trips: RoundTrips::UNKNOWN,
        }
    }

    pub(crate) const fn grade(&self) -> LeaseGrade {
        self.grade
    }

    /// A server has accepted a handshake, whatever becomes of the connection: its clock for the
    /// session starts again, with a timeout that may be shorter.
    pub(crate) fn accepted(&mut self, handshake: Handshake) {
        self.timeout = handshake.least_timeout;
        self.evidence = Evidence::NONE;
        self.state = match self.state {
            LeaseState::Until(deadline) => {
                LeaseState::Until(deadline.min(self.deadline_after(handshake.sent_at)))
            }
            LeaseState::Unproved | LeaseState::Settling(_) => LeaseState::Unproved,
        };
    }

    /// The accepted handshake made the session. That is a write: a quorum has committed it.
    pub(crate) fn begin(&mut self, handshake: Handshake) {
        self.connect(handshake);
        self.state = LeaseState::Until(self.deadline_after(handshake.sent_at));
    }

    /// The accepted handshake went on with the session.
    pub(crate) fn resume(&mut self, now: Instant, handshake: Handshake) {
        self.connect(handshake);
        match self.grade {
            LeaseGrade::Contact => self.prove(now, handshake.sent_at),
            LeaseGrade::Sync | LeaseGrade::Quorum => {
                self.evidence.handshake = Some(handshake.sent_at);
            }
        }
    }

    /// A read-only server accepted the session, or made one of its own. What was proved stays, and
    /// nothing is added until a server of the ensemble answers.
    pub(crate) fn read_only(&mut self) {
        self.server = ServerMode::ReadOnly;
    }

    fn connect(&mut self, handshake: Handshake) {
        self.server = ServerMode::ReadWrite;
        let round_trip = handshake.answered_at.saturating_since(handshake.sent_at);
        self.round_trips = RoundTrips::begin(round_trip);
    }

    /// A request sent at `sent_at` was answered at `now`.
    pub(crate) fn answered(&mut self, now: Instant, sent_at: Instant) {
        if self.grade == LeaseGrade::Contact {
            self.settle(now, sent_at);
            self.prove(now, sent_at);
        }
    }

    /// A ping sent at `sent_at` was answered at `now`, without an error.
    pub(crate) fn ping_answered(&mut self, now: Instant, sent_at: Instant) {
        if self.grade == LeaseGrade::Contact {
            self.round_trips.note_heartbeat(now.saturating_since(sent_at));
        }
        self.answered(now, sent_at);
    }

    /// A heartbeat sent at `sent_at` was answered at `now` with success. While
    /// [`Lease::is_settling`], heartbeats are checks.
    pub(crate) fn heartbeat_answered(&mut self, now: Instant, sent_at: Instant) -> Followup {
        self.round_trips.note_heartbeat(now.saturating_since(sent_at));
        self.settle(now, sent_at);
        if let Some(handshake) = self.evidence.handshake.take() {
            self.prove(now, handshake);
        }
        self.evidence.heartbeat_answered(now, sent_at)
    }

    /// The confirmation of a heartbeat, sent at `sent_at`, was answered at `now` with success.
    pub(crate) fn confirmed(&mut self, now: Instant, sent_at: Instant) {
        self.round_trips.note_confirmation(now.saturating_since(sent_at));
        if let Some(handed_over) = self.evidence.confirmed(now, self.timeout) {
            self.prove(now, handed_over);
        }
    }

    /// The confirmation of a heartbeat was refused, or not even sent.
    pub(crate) fn not_confirmed(&mut self) {
        self.evidence.not_confirmed();
    }

    /// The session is over.
    pub(crate) fn end(&mut self) {
        self.state = LeaseState::Unproved;
    }

    /// Whether the lease lapses now: true once for each time that it does.
    pub(crate) fn lapses(&mut self, now: Instant) -> bool {
        match self.state {
            LeaseState::Until(deadline) if deadline <= now => {
                self.state = LeaseState::Unproved;
                true
            }
            LeaseState::Unproved | LeaseState::Settling(_) | LeaseState::Until(_) => false,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self.state {
            LeaseState::Until(deadline) => Some(deadline),
            LeaseState::Unproved | LeaseState::Settling(_) => None,
        }
    }

    /// Whether a tentative proof waits for a check: one that a closing session does not pass.
    pub(crate) const fn is_settling(&self) -> bool {
        matches!(self.state, LeaseState::Settling(_))
    }

    /// When the next heartbeat is due, after one that was answered with success: once it can prove
    /// more than that one, or settle what is tentative.
    pub(crate) fn next_heartbeat(&self, now: Instant) -> Instant {
        let due = self.evidence.pair.map_or(now, |pair| pair.ripe_at);
        self.settles_at().map_or(due, |settles_at| due.min(settles_at)).max(now)
    }

    /// How long after a refused heartbeat the next one is due, if so many were refused before it.
    pub(crate) fn retry_delay(&self, refusals: u32) -> Duration {
        self.timeout / RETRY_PART * (1 << refusals.min(MOST_DOUBLINGS))
    }

    /// When a ping is due for the lease's sake, if `last_sent` is when anything was last sent.
    pub(crate) fn next_ping(&self, last_sent: Instant) -> Option<Instant> {
        match (self.grade, self.server) {
            (LeaseGrade::Contact, ServerMode::ReadWrite) => {
                let due = last_sent + self.interval();
                // However often the answers do not settle it.
                let soonest = last_sent + self.timeout / SETTLING_PART;
                Some(self.settles_at().map_or(due, |at| due.min(at.max(soonest))))
            }
            (LeaseGrade::Contact | LeaseGrade::Sync | LeaseGrade::Quorum, _) => None,
        }
    }

    /// Whether the lease goes on if heartbeats (or pings) do, from `beats_from` on at the soonest,
    /// and at the round trips that were measured.
    pub(crate) fn outlook(&self, now: Instant, beats_from: Instant) -> LeaseOutlook {
        let timeout = self.timeout;
        let until = self.deadline().filter(|&until| now < until);
        let longest = match outlook::longest(self.grade, self.margin, timeout) {
            Some(longest) => longest,
            // Pings come too rarely; what the caller sends may keep it.
            None if self.grade == LeaseGrade::Contact => {
                return until
                    .map_or(LeaseOutlook::AwaitsProof, |until| LeaseOutlook::Secure { until });
            }
            None => Duration::ZERO,
        };
        let expected = self.round_trips.expected();
        match (self.round_trips.measured(), until) {
            (Some(round_trip), _) if round_trip >= longest => {
                LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest }
            }
            (_, Some(until))
                if expected < longest
                    && self.is_proved_before(until, beats_from.max(now), expected) =>
            {
                LeaseOutlook::Secure { until }
            }
            _ => LeaseOutlook::AwaitsProof,
        }
    }

    /// Whether proofs come before `deadline`, and before the deadlines that they set: the next one,
    /// and the one after that. From then on all are alike.
    fn is_proved_before(&self, deadline: Instant, now: Instant, round_trip: Duration) -> bool {
        let reserve = outlook::reserve(self.timeout, round_trip);
        let in_time = |sent_at: Instant, deadline| sent_at + reserve < deadline;
        if self.grade == LeaseGrade::Contact {
            let lease = self.margin.shorten(self.timeout);
            let sent_at = Instant::since_origin(deadline.elapsed().saturating_sub(lease));
            return in_time(now.max(sent_at + self.interval()), deadline);
        }
        let Evidence { handshake, pair, unconfirmed } = self.evidence;
        // When the heartbeats are sent that complete the next proof and the one after it, and what
        // the next one counts from. One that is on its way was sent earlier: so much the better.
        let (next, from, after_next) = if let Some(last) = unconfirmed {
            (now, last.handed_over, last.ripe_at(now + round_trip, self.timeout))
        } else {
            let next = pair.map_or(now, |pair| pair.ripe_at.max(now));
            let from = pair.map(|pair| pair.sent_at).or(handshake);
            (next, from, next + round_trip + self.interval())
        };
        let bridge = from.map(|sent_at| self.deadline_after(sent_at));
        in_time(after_next, deadline)
            || in_time(next, deadline)
                && bridge.is_some_and(|deadline| in_time(after_next, deadline))
    }

    /// Between the answer to one heartbeat and the next: more than half a tick, since servers grant
    /// no less than two.
    fn interval(&self) -> Duration {
        self.timeout / 3
    }

    fn settles_at(&self) -> Option<Instant> {
        match self.state {
            LeaseState::Settling(Tentative { settles_at, .. }) => Some(settles_at),
            LeaseState::Unproved | LeaseState::Until(_) => None,
        }
    }

    /// Something sent at `sent_at` was answered, by a session that is not closing.
    fn settle(&mut self, now: Instant, sent_at: Instant) {
        if let LeaseState::Settling(Tentative { deadline, settles_at }) = self.state
            && sent_at >= settles_at
        {
            self.state =
                if now < deadline { LeaseState::Until(deadline) } else { LeaseState::Unproved };
        }
    }

    /// Evidence that comes too late proves nothing, and a ping that overtook the queue may prove
    /// more than a later answer.
    fn prove(&mut self, now: Instant, sent_at: Instant) {
        let claimed = self.deadline_after(sent_at);
        if self.server == ServerMode::ReadOnly || claimed <= now {
            return;
        }
        self.state = match self.state {
            LeaseState::Until(current) => LeaseState::Until(current.max(claimed)),
            LeaseState::Settling(Tentative { deadline, settles_at }) if now < deadline => {
                LeaseState::Settling(Tentative { deadline: deadline.max(claimed), settles_at })
            }
            LeaseState::Unproved | LeaseState::Settling(_) => {
                let settles_at = now + self.timeout / SETTLING_PART;
                LeaseState::Settling(Tentative { deadline: claimed, settles_at })
            }
        };
    }

    fn deadline_after(&self, sent_at: Instant) -> Instant {
        sent_at + self.margin.shorten(self.timeout)
    }
}
