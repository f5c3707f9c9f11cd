//! The lease: until when no server can have expired the session.
//!
//! # Why the deadline holds, step by step
//!
//! ZooKeeper's leader ends sessions. It keeps a time of expiry for each session. A *touch* that
//! arrives sets it to the time of arrival plus the timeout that the touch carries. So a deadline is
//! the time at which something was sent that is known to have touched the session at the leader,
//! plus a timeout, less the margin.
//!
//! 1. **The timeout is the least ever granted.** A touch carries the timeout of the connection that
//!    it came by. A server that restarts, and a new ZooKeeper leader, start all clocks with the
//!    timeout of the session's *creation*, whatever was granted later. And a member that the
//!    session has left may hand over an old touch late, with its old timeout. None of these
//!    timeouts is less than the least one.
//! 2. **The proof is later than the touch.** A server's answer shows that the session was touched
//!    at that server. Later answers show that it was also touched at the leader: see [`Evidence`].
//!    They give the deadline by this leader ([`Proved::by_leader`]).
//! 3. **Under [`LeaseGrade::Quorum`] a commit comes after all that.** A leader that was deposed
//!    unawares goes on answering `sync`, and commits nothing. A connection has one leader behind
//!    it. So a commit that was asked for after the touch, on the same connection, shows that this
//!    leader still led; and a leader that comes after it starts the session's clock later still. So
//!    with each commit the deadline by the leader becomes the deadline ([`Proved::by_quorum`]), and
//!    one check proves a lease that `sync`s kept [ready](LeaseUpkeep::Ready). On another
//!    connection, which may have another leader behind it, only commits count.
//! 4. **A proof that comes in time extends the deadline at once.** The leader finds a session
//!    expired when its time has come, not before. As long as the last deadline has not passed, the
//!    touch met a live session.
//! 5. **A proof that comes late is tentative, until a check that was sent later is answered.** If
//!    the deadline has passed (or there was none), the leader may have taken the session out of its
//!    queue without having marked it closing yet (`SessionTrackerImpl.run`). In that moment a touch
//!    succeeds and changes nothing, the leader serves and even commits requests, and then closes
//!    the session nevertheless. Or it has marked the session, and a follower's `sync` is still
//!    answered. The moment is short: this rule suffices if the leader works off the sessions that
//!    expire together in less than [a twelfth of the timeout](SETTLING_PART). A check in a
//!    transaction that was sent that long after the tentative proof, and succeeded, met a session
//!    that was not closing. So the earlier touch counted, and so did every proof that came since,
//!    while the tentative deadline had not passed.
//! 6. **A connection's handshake** is checked against the leader and touches the session there;
//!    rules 2 to 5 apply to it as well. So a new connection drops a tentative proof of the old one.
//!    A quorum commits the handshake that makes a session, so it needs no further proof.
//! 7. **Errors prove nothing,** and neither does anything from a read-only server.
//!
//! [`LeaseGrade`] lists what this assumes of the clocks, the ensemble and its operators.

use core::time::Duration;

use crate::time::Instant;
use evidence::{Confirmed, Evidence};
pub(crate) use evidence::{Followup, HeartbeatKind};
pub use grade::{LeaseGrade, LeaseMargin};
pub use outlook::LeaseOutlook;
use outlook::RoundTrips;
pub use pace::HeartbeatPace;
pub use upkeep::LeaseUpkeep;

#[cfg(test)]
mod calls;
mod evidence;
mod grade;
mod outlook;
mod pace;
mod upkeep;

/// The part of the timeout that passes between the answer that completes a tentative proof and the
/// sending of its confirmation. It assumes that ZooKeeper's leader works through the sessions of
/// one bucket, which expire together, in less time.
const SETTLING_PART: u32 = 12;

/// The part of the timeout after which the next heartbeat follows a refusal: soon, since other
/// elections of the session rely on the same lease. Each further refusal in a row doubles it.
const RETRY_PART: u32 = 24;

/// How many heartbeats to simulate to find out whether a lease goes on. The first may prove
/// nothing, two more prove what came before them, and from the fourth on all are alike.
const HEARTBEATS_AHEAD: u32 = 4;

/// Three doublings make a third of the timeout, the interval of heartbeats that succeed.
const MOST_DOUBLINGS: u32 = 3;

/// The lease of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    grade: LeaseGrade,
    margin: LeaseMargin,
    pace: HeartbeatPace,
    /// The least timeout that was ever granted to the session.
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
    /// The least timeout that was granted to the session so far, by this handshake included.
    pub(crate) least_timeout: Duration,
}

/// The mode of the server that the present connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerMode {
    ReadWrite,
    /// It has no leader, so its answers prove nothing.
    ReadOnly,
    /// It ends sessions by other rules than Apache ZooKeeper, so its answers prove nothing.
    NoProof,
}

#[derive(Clone, Copy, Debug)]
enum LeaseState {
    /// Nothing is proved, or the proof has lapsed.
    Unproved,
    /// A proof came when none was in force.
    Settling(Tentative),
    Proved(Proved),
}

/// Deadlines that are in force.
#[derive(Clone, Copy, Debug)]
struct Proved {
    /// The time by which the leader behind the connection counts, if it leads.
    by_leader: Instant,
    /// The time by which it counted at the last commit that was asked for later; no later than
    /// `by_leader`.
    by_quorum: Option<Instant>,
}

/// A deadline that counts once something sent late enough is answered.
#[derive(Clone, Copy, Debug)]
struct Tentative {
    deadline: Instant,
    settles_at: Instant,
}

impl Lease {
    pub(crate) const fn new(grade: LeaseGrade, margin: LeaseMargin, pace: HeartbeatPace) -> Self {
        Self {
            grade,
            margin,
            pace,
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

    /// Notes that a server has accepted a handshake, whatever happens to the connection then: the
    /// server's clock for the session starts again, with a timeout that may be shorter.
    ///
    /// The evidence goes with the connection. It need not while handshakes touch the session at the
    /// leader, as ZooKeeper's do: the drop guards against a server whose do not.
    pub(crate) fn accepted(&mut self, handshake: Handshake) {
        self.timeout = handshake.least_timeout;
        self.evidence = Evidence::NONE;
        let longest = self.deadline_after(handshake.sent_at);
        self.state = self
            .deadline()
            .map_or(LeaseState::Unproved, |deadline| LeaseState::proved(deadline.min(longest)));
    }

    /// Notes that the accepted handshake made the session. That is a write, so a quorum has
    /// committed it.
    pub(crate) fn begin(&mut self, handshake: Handshake) {
        self.connect(handshake);
        self.state = LeaseState::proved(self.deadline_after(handshake.sent_at));
    }

    /// Notes that the accepted handshake continued the session.
    pub(crate) fn resume(&mut self, now: Instant, handshake: Handshake) {
        self.connect(handshake);
        match self.grade {
            LeaseGrade::Contact | LeaseGrade::Advisory => self.prove(now, handshake.sent_at),
            LeaseGrade::Sync | LeaseGrade::Quorum => {
                self.evidence.handshake = Some(handshake.sent_at);
            }
        }
    }

    /// Notes that a read-only server accepted the session, or made one of its own. Earlier proofs
    /// stay, and nothing is added until a server of the ensemble answers.
    pub(crate) fn read_only(&mut self) {
        self.server = ServerMode::ReadOnly;
    }

    /// Notes that the server is of a family on which no lease holds. Earlier proofs go too: the sessions
    /// there end by other rules.
    pub(crate) fn no_proof(&mut self) {
        self.end();
        self.server = ServerMode::NoProof;
    }

    fn connect(&mut self, handshake: Handshake) {
        self.server = ServerMode::ReadWrite;
        let round_trip = handshake.answered_at.saturating_since(handshake.sent_at);
        self.round_trips = RoundTrips::begin(round_trip);
    }

    /// Notes that a request sent at `sent_at` was answered at `now`.
    #[inline]
    pub(crate) fn answered(&mut self, now: Instant, sent_at: Instant) {
        if self.grade.counts_any_answer() {
            self.round_trips.note_answer(now.saturating_since(sent_at));
            self.settle(now, sent_at);
            self.prove(now, sent_at);
        }
    }

    /// Notes that a ping sent at `sent_at` was answered at `now`, without an error.
    pub(crate) fn ping_answered(&mut self, now: Instant, sent_at: Instant) {
        if self.grade.counts_any_answer() {
            self.round_trips.note_heartbeat(now.saturating_since(sent_at));
        }
        self.answered(now, sent_at);
    }

    /// Notes that a heartbeat sent at `sent_at` was answered at `now` with success. While
    /// [`Lease::is_settling`], heartbeats are checks.
    pub(crate) fn heartbeat_answered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        kind: HeartbeatKind,
    ) -> Followup {
        let round_trip = now.saturating_since(sent_at);
        match (self.grade, kind) {
            // A leader's lease needs a commit.
            (LeaseGrade::Quorum, HeartbeatKind::Sync) => {
                self.round_trips.note_confirmation(round_trip);
            }
            _ => self.round_trips.note_heartbeat(round_trip),
        }
        // A closing session does not pass a check. (Under `Quorum` any heartbeat could settle, since
        // only a check vouches; under `Sync` it is the check that counts.)
        if kind == HeartbeatKind::Check {
            self.settle(now, sent_at);
        }
        if let Some(handshake) = self.evidence.handshake.take() {
            self.prove(now, handshake);
        }
        self.vouch(kind);
        self.evidence.heartbeat_answered(sent_at, kind, self.pace)
    }

    /// Notes that the confirmation of a heartbeat, sent at `sent_at`, was answered at `now` with
    /// success. Returns the kind of the heartbeat, if it still counts.
    pub(crate) fn confirmed(&mut self, now: Instant, sent_at: Instant) -> Option<HeartbeatKind> {
        self.round_trips.note_confirmation(now.saturating_since(sent_at));
        let Confirmed { kind, handed_over } = self.evidence.confirmed(now, self.timeout)?;
        if let Some(handed_over) = handed_over {
            self.prove(now, handed_over);
            self.vouch(kind);
        }
        Some(kind)
    }

    /// Notes that the confirmation of a heartbeat was refused, or not even sent.
    pub(crate) fn not_confirmed(&mut self) {
        self.evidence.not_confirmed();
    }

    /// Ends the lease with the session.
    pub(crate) fn end(&mut self) {
        self.state = LeaseState::Unproved;
    }

    /// Returns whether the lease lapses now: true once for each lapse.
    #[inline]
    pub(crate) fn lapses(&mut self, now: Instant) -> bool {
        let LeaseState::Proved(Proved { by_leader, by_quorum }) = self.state else {
            return false;
        };
        // Every request and every reply asks this. Mostly both deadlines lie ahead.
        if now < by_leader && by_quorum.is_none_or(|deadline| now < deadline) {
            return false;
        }
        let lapses = self.deadline().is_some_and(|deadline| deadline <= now);
        self.state = if by_leader <= now {
            LeaseState::Unproved
        } else {
            let by_quorum = by_quorum.filter(|deadline| now < *deadline);
            LeaseState::Proved(Proved { by_leader, by_quorum })
        };
        lapses
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match (self.state, self.grade) {
            (LeaseState::Proved(Proved { by_quorum, .. }), LeaseGrade::Quorum) => by_quorum,
            (LeaseState::Proved(Proved { by_leader, .. }), _) => Some(by_leader),
            (LeaseState::Unproved | LeaseState::Settling(_), _) => None,
        }
    }

    /// Returns whether a tentative proof waits for a check, which a closing session does not pass.
    pub(crate) const fn is_settling(&self) -> bool {
        matches!(self.state, LeaseState::Settling(_))
    }

    /// Returns when the next heartbeat is due, after one that was answered with success: as soon as
    /// it can prove more than that one, or settle a tentative proof.
    ///
    /// A heartbeat that only settles must be answered before the next proof is due. The session
    /// sends one heartbeat at a time, so otherwise that proof would come late, and at long round
    /// trips the lease would lapse, settle and lapse for ever. The heartbeat that proves settles,
    /// too.
    pub(crate) fn next_heartbeat(&self, now: Instant) -> Instant {
        let due = self.evidence.due_at(self.pace).unwrap_or(now).max(now);
        let settles_at = self.settles_at().map(|settles_at| settles_at.max(now));
        settles_at.filter(|at| *at + self.round_trips.expected() <= due).unwrap_or(due)
    }

    /// Returns how long after a refused heartbeat the next one is due, if this many were refused
    /// before it.
    pub(crate) fn retry_delay(&self, refusals: u32) -> Duration {
        self.timeout / RETRY_PART * (1 << refusals.min(MOST_DOUBLINGS))
    }

    /// Returns when a ping is due for the lease's sake, if `last_sent` is when anything was last
    /// sent.
    pub(crate) fn next_ping(&self, last_sent: Instant) -> Option<Instant> {
        match (self.grade, self.server) {
            (LeaseGrade::Contact | LeaseGrade::Advisory, ServerMode::ReadWrite) => {
                let due = last_sent + self.interval();
                // This holds however often the answers do not settle it.
                let soonest = last_sent + self.timeout / SETTLING_PART;
                Some(self.settles_at().map_or(due, |at| due.min(at.max(soonest))))
            }
            (
                LeaseGrade::Contact | LeaseGrade::Advisory | LeaseGrade::Sync | LeaseGrade::Quorum,
                _,
            ) => None,
        }
    }

    /// Returns whether the lease goes on if heartbeats (or pings) do, from `beats_from` on at the
    /// soonest, and at the measured round trips.
    pub(crate) fn outlook(&self, now: Instant, beats_from: Instant) -> LeaseOutlook {
        let timeout = self.timeout;
        let until = self.deadline().filter(|&until| now < until);
        let longest = match outlook::longest(self.grade, self.margin, self.pace, timeout) {
            Some(longest) => longest,
            // Pings come too rarely; the caller's requests may keep it.
            None if self.grade.counts_any_answer() => {
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

    /// Returns whether proofs come before `deadline`, and before the deadlines that they set, if
    /// heartbeats go out when they are due and every answer takes this long.
    fn is_proved_before(&self, deadline: Instant, now: Instant, round_trip: Duration) -> bool {
        let reserve = outlook::reserve(self.timeout, round_trip);
        let in_time = |sent_at: Instant, deadline| sent_at + reserve < deadline;
        if self.grade.counts_any_answer() {
            let lease = self.margin.shorten(self.timeout);
            let sent_at = Instant::since_origin(deadline.elapsed().saturating_sub(lease));
            return in_time(now.max(sent_at + self.interval()), deadline);
        }
        let (mut ahead, mut now) = (*self, now);
        ahead.state = LeaseState::proved(deadline);
        if ahead.evidence.awaits_confirmation() {
            now = now + round_trip;
            ahead.lapses(now); // An answer that comes later prolongs nothing.
            ahead.confirmed(now, now);
        }
        for _ in 0..HEARTBEATS_AHEAD {
            let sent_at = ahead.next_heartbeat(now);
            if !ahead.deadline().is_some_and(|deadline| in_time(sent_at, deadline)) {
                return false;
            }
            now = sent_at + round_trip;
            ahead.heartbeat_answered(now, sent_at, HeartbeatKind::Check);
            now = now + round_trip;
            ahead.confirmed(now, sent_at);
        }
        true
    }

    /// Returns the time between the answer to one heartbeat and the next. It is more than half a
    /// tick, since servers grant no less than two ticks.
    fn interval(&self) -> Duration {
        self.timeout / 3
    }

    fn settles_at(&self) -> Option<Instant> {
        match self.state {
            LeaseState::Settling(Tentative { settles_at, .. }) => Some(settles_at),
            LeaseState::Unproved | LeaseState::Proved(_) => None,
        }
    }

    /// Notes that something sent at `sent_at` was answered, in a session that is not closing.
    fn settle(&mut self, now: Instant, sent_at: Instant) {
        if let LeaseState::Settling(Tentative { deadline, settles_at }) = self.state
            && sent_at >= settles_at
        {
            self.state = if now < deadline {
                LeaseState::Proved(Proved { by_leader: deadline, by_quorum: None })
            } else {
                LeaseState::Unproved
            };
        }
    }

    /// Notes that the heartbeat answered last was sent after everything that is proved by the
    /// leader.
    fn vouch(&mut self, kind: HeartbeatKind) {
        if let (LeaseState::Proved(proved), HeartbeatKind::Check) = (&mut self.state, kind) {
            proved.by_quorum = Some(proved.by_leader);
        }
    }

    /// Extends the deadline. A ping that overtook the queue may prove more than a later answer.
    ///
    /// Evidence that comes too late proves nothing. No promise rests on that: each reader of a deadline
    /// compares it with the clock. It keeps a session from settling what has passed.
    fn prove(&mut self, now: Instant, sent_at: Instant) {
        let claimed = self.deadline_after(sent_at);
        if self.server != ServerMode::ReadWrite || claimed <= now {
            return;
        }
        self.state = match self.state {
            LeaseState::Proved(Proved { by_leader, by_quorum }) => {
                LeaseState::Proved(Proved { by_leader: by_leader.max(claimed), by_quorum })
            }
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

impl LeaseState {
    const fn proved(deadline: Instant) -> Self {
        Self::Proved(Proved { by_leader: deadline, by_quorum: Some(deadline) })
    }
}
