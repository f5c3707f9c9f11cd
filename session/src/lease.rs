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
//!    that the leader, too, was, later answers show: see [`Evidence`]. What they show is the deadline
//!    by this leader ([`Proved::by_leader`]).
//! 3. **Under [`LeaseGrade::Quorum`] a commit comes after all that.** A leader that was deposed
//!    unawares goes on answering `sync`, and commits nothing. A connection has one leader behind it,
//!    so a commit that was asked for after the touch, on the same connection, shows that this leader
//!    led until then; and one that comes after it starts the session's clock later still. So with
//!    each commit the deadline by the leader becomes the deadline ([`Proved::by_quorum`]): a lease
//!    that `sync`s kept [ready](LeaseUpkeep::Ready) is proved by one check. By another connection,
//!    that is, maybe by another leader, only what was committed counts.
//! 4. **A proof that comes in time extends the deadline at once.** The leader finds a session
//!    expired when its time has come, not before: as long as the deadline before has not passed, the
//!    touch met a session that lived.
//! 5. **A proof that comes late is tentative, until a check that was sent later is answered.** If the
//!    deadline has passed (or there was none), the leader may have taken the session out of its
//!    queue already, without having marked it as closing yet (`SessionTrackerImpl.run`): in that
//!    moment a touch succeeds and changes nothing, requests are served and even committed, and the
//!    session is closed all the same. Or it has marked it, and a follower's `sync` is answered
//!    nevertheless. The moment is short: the leader works off the sessions that expire together in
//!    less than [a twelfth of the timeout](SETTLING_PART), or this rule does not suffice. A check in
//!    a transaction that was sent that long after the tentative proof, and succeeded, met a session
//!    that was not closing: the touch before counted, and so has every proof that came since, while
//!    the tentative deadline had not passed.
//! 6. **A connection's handshake** is checked against the leader and touches there; rules 2 to 5
//!    apply to it as well. So with a new connection a tentative proof of the old one is dropped. The
//!    handshake that makes a session is committed by a quorum, and needs no further proof.
//! 7. **Errors prove nothing,** and nothing that a read-only server says does.
//!
//! What this takes from the clocks, the ensemble and its operators is listed at [`LeaseGrade`].

use core::time::Duration;

use crate::time::Instant;
use evidence::{Confirmed, Evidence};
pub(crate) use evidence::{Followup, HeartbeatKind};
pub use grade::{LeaseGrade, LeaseMargin};
pub use outlook::LeaseOutlook;
use outlook::RoundTrips;
pub use pace::HeartbeatPace;
pub use upkeep::LeaseUpkeep;

mod evidence;
mod grade;
mod outlook;
mod pace;
mod upkeep;

/// This part of the timeout passes between the answer that completes a tentative proof and the
/// sending of what confirms it. It rests on a condition: ZooKeeper's leader works through all
/// sessions of one bucket, those that expire together, in less time.
const SETTLING_PART: u32 = 12;

/// After a refusal the next heartbeat comes this part of the timeout later: soon, since other
/// elections of the session rely on the same lease. Each further refusal in a row doubles it.
const RETRY_PART: u32 = 24;

/// How many heartbeats are looked at to say whether a lease goes on: the first may prove nothing, two
/// more prove what came before them, and from the fourth on all are alike.
const HEARTBEATS_AHEAD: u32 = 4;

/// Three doublings make a third of the timeout, the interval of heartbeats that succeed.
const MOST_DOUBLINGS: u32 = 3;

/// The lease of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    grade: LeaseGrade,
    margin: LeaseMargin,
    pace: HeartbeatPace,
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
    Proved(Proved),
}

/// Deadlines that are in force.
#[derive(Clone, Copy, Debug)]
struct Proved {
    /// What the leader behind the connection counts by, if it leads.
    by_leader: Instant,
    /// What it counted by at the last commit that was asked for later; no later than `by_leader`.
    by_quorum: Option<Instant>,
}

/// A deadline that counts once something that was sent late enough is answered.
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

    /// A server has accepted a handshake, whatever becomes of the connection: its clock for the
    /// session starts again, with a timeout that may be shorter.
    pub(crate) fn accepted(&mut self, handshake: Handshake) {
        self.timeout = handshake.least_timeout;
        self.evidence = Evidence::NONE;
        let longest = self.deadline_after(handshake.sent_at);
        self.state = self
            .deadline()
            .map_or(LeaseState::Unproved, |deadline| LeaseState::proved(deadline.min(longest)));
    }

    /// The accepted handshake made the session. That is a write: a quorum has committed it.
    pub(crate) fn begin(&mut self, handshake: Handshake) {
        self.connect(handshake);
        self.state = LeaseState::proved(self.deadline_after(handshake.sent_at));
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
    #[inline]
    pub(crate) fn answered(&mut self, now: Instant, sent_at: Instant) {
        if self.grade == LeaseGrade::Contact {
            self.round_trips.note_answer(now.saturating_since(sent_at));
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
    pub(crate) fn heartbeat_answered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        kind: HeartbeatKind,
    ) -> Followup {
        let round_trip = now.saturating_since(sent_at);
        match (self.grade, kind) {
            // What a leader's lease takes is a commit.
            (LeaseGrade::Quorum, HeartbeatKind::Sync) => {
                self.round_trips.note_confirmation(round_trip);
            }
            _ => self.round_trips.note_heartbeat(round_trip),
        }
        if kind == HeartbeatKind::Check {
            self.settle(now, sent_at);
        }
        if let Some(handshake) = self.evidence.handshake.take() {
            self.prove(now, handshake);
        }
        self.vouch(kind);
        self.evidence.heartbeat_answered(now, sent_at, kind, self.pace)
    }

    /// The confirmation of a heartbeat, sent at `sent_at`, was answered at `now` with success. The
    /// kind of the heartbeat, if it still counts.
    pub(crate) fn confirmed(&mut self, now: Instant, sent_at: Instant) -> Option<HeartbeatKind> {
        self.round_trips.note_confirmation(now.saturating_since(sent_at));
        let Confirmed { kind, handed_over } = self.evidence.confirmed(now, self.timeout)?;
        if let Some(handed_over) = handed_over {
            self.prove(now, handed_over);
            self.vouch(kind);
        }
        Some(kind)
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
    #[inline]
    pub(crate) fn lapses(&mut self, now: Instant) -> bool {
        let LeaseState::Proved(Proved { by_leader, by_quorum }) = self.state else {
            return false;
        };
        // Asked with every request and every reply: mostly both lie ahead.
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

    /// Whether a tentative proof waits for a check: one that a closing session does not pass.
    pub(crate) const fn is_settling(&self) -> bool {
        matches!(self.state, LeaseState::Settling(_))
    }

    /// When the next heartbeat is due, after one that was answered with success: once it can prove
    /// more than that one, or settle what is tentative.
    ///
    /// What only settles must be answered before the next proof is due. There is one heartbeat at a
    /// time, so that proof would come late, and at long round trips the lease would lapse, settle and
    /// lapse for ever. The heartbeat that proves settles, too.
    pub(crate) fn next_heartbeat(&self, now: Instant) -> Instant {
        let due = self.evidence.due_at(self.pace).unwrap_or(now).max(now);
        let settles_at = self.settles_at().map(|settles_at| settles_at.max(now));
        settles_at.filter(|at| *at + self.round_trips.expected() <= due).unwrap_or(due)
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
        let longest = match outlook::longest(self.grade, self.margin, self.pace, timeout) {
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

    /// Whether proofs come before `deadline`, and before the deadlines that they set, if heartbeats go
    /// out when they are due and every answer takes this long.
    fn is_proved_before(&self, deadline: Instant, now: Instant, round_trip: Duration) -> bool {
        let reserve = outlook::reserve(self.timeout, round_trip);
        let in_time = |sent_at: Instant, deadline| sent_at + reserve < deadline;
        if self.grade == LeaseGrade::Contact {
            let lease = self.margin.shorten(self.timeout);
            let sent_at = Instant::since_origin(deadline.elapsed().saturating_sub(lease));
            return in_time(now.max(sent_at + self.interval()), deadline);
        }
        let (mut ahead, mut now) = (*self, now);
        ahead.state = LeaseState::proved(deadline);
        if ahead.evidence.awaits_confirmation() {
            now = now + round_trip;
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

    /// Between the answer to one heartbeat and the next: more than half a tick, since servers grant
    /// no less than two.
    fn interval(&self) -> Duration {
        self.timeout / 3
    }

    fn settles_at(&self) -> Option<Instant> {
        match self.state {
            LeaseState::Settling(Tentative { settles_at, .. }) => Some(settles_at),
            LeaseState::Unproved | LeaseState::Proved(_) => None,
        }
    }

    /// Something sent at `sent_at` was answered, by a session that is not closing.
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

    /// The heartbeat that was answered last was sent after everything that is proved by the leader.
    fn vouch(&mut self, kind: HeartbeatKind) {
        if let (LeaseState::Proved(proved), HeartbeatKind::Check) = (&mut self.state, kind) {
            proved.by_quorum = Some(proved.by_leader);
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
