//! Until when no server can have expired the session.

use core::time::Duration;

use crate::time::Instant;

/// What a lease deadline rests on: which answers count as proof that ZooKeeper's leader, whose
/// clock ends sessions, knows that this one is alive (design, section 3.4).
///
/// All members of the ensemble must grant the same timeout, as they do unless their configurations
/// differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grade {
    /// Any answered request, pings included: the deadline is its send time plus the timeout.
    ///
    /// Holds with one server. In an ensemble the session's server answers by itself, and tells the
    /// leader with its answer to the leader's next ping. Cut off from the leader it goes on
    /// answering, while the leader's clock for the session runs out; and even if all members reach
    /// each other, a client that was silent for nearly the timeout may be answered too late for the
    /// leader to hear of it (the simulation shows both).
    Contact,
    /// Heartbeats that the ensemble's leader answers: a `sync`, in place of the ping.
    ///
    /// Holds also while the session's server is cut off from the leader. It does not hold while
    /// the leader is cut off from its quorum: it goes on answering, while the others elect a new
    /// one.
    Sync,
    /// Heartbeats that a quorum commits: a `multi` that checks a znode, in place of the ping.
    ///
    /// Holds under every failure of the ensemble and its network, as long as clocks run at rates
    /// within the [`Margin`].
    #[default]
    Quorum,
}

/// How much earlier than the server's clock the lease ends, to allow for clocks that do not run
/// at the same rate: a part of the session timeout. For the grades with heartbeats, up to a
/// [fifth](Margin::suits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Margin {
    percent: u8,
}

impl Margin {
    /// The whole timeout counts: only right if both clocks run at the same rate.
    pub const NONE: Self = Self { percent: 0 };

    /// This many hundredths of the timeout; more than 90 counts as 90.
    pub const fn percent(percent: u8) -> Self {
        Self { percent: if percent > 90 { 90 } else { percent } }
    }

    /// The part of the timeout, in hundredths.
    pub const fn as_percent(self) -> u8 {
        self.percent
    }

    /// Whether heartbeats can keep a lease of this grade alive. Their proof is at best a third of
    /// the timeout old, and the next one comes another third later; the rest is for the margin and
    /// for the answers to arrive.
    pub const fn suits(self, grade: Grade) -> bool {
        matches!(grade, Grade::Contact) || self.percent <= 20
    }

    /// What is left of `timeout`.
    pub(crate) fn shorten(self, timeout: Duration) -> Duration {
        timeout * u32::from(100 - self.percent) / 100
    }
}

/// A tenth.
impl Default for Margin {
    fn default() -> Self {
        Self::percent(10)
    }
}

/// The lease of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    grade: Grade,
    margin: Margin,
    timeout: Duration,
    server: Server,
    state: State,
    evidence: Evidence,
}

/// Whom the present connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    OfTheEnsemble,
    /// It has no leader, so nothing that it says proves anything.
    CutOff,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unproved,
    Until(Instant),
    Lapsed,
}

/// What the heartbeats of the present connection have shown. A connection has one leader behind
/// it: a server that changes its leader drops its clients.
///
/// A heartbeat touches the session at the server that it is sent to. That server hands its touches
/// to the leader in its answers to the leader's pings, which come every half tick, that is at least
/// once in a third of the timeout. So when a second heartbeat, sent that long after the answer to
/// the first, is answered by the leader, in order behind its pings, the server has handed the
/// first's touch over; and when a confirmation, sent after that answer, is answered by the leader
/// too, the touch has arrived, since what the server forwards arrives in order.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    /// When a handshake was sent that went on with a session: the leader was asked about it, and
    /// counts from then. Whether it still was the leader, a heartbeat shows.
    handshake: Option<Instant>,
    heartbeat: Option<Answered>,
    /// When the heartbeat was sent that the server has handed over.
    handed_over: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Answered {
    sent_at: Instant,
    answered_at: Instant,
}

/// What follows an answered heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followup {
    Confirm,
    Nothing,
}

impl Lease {
    pub(crate) const fn new(grade: Grade, margin: Margin) -> Self {
        let (timeout, evidence) = (Duration::ZERO, Evidence::NONE);
        let server = Server::OfTheEnsemble;
        Self { grade, margin, timeout, server, state: State::Unproved, evidence }
    }

    pub(crate) const fn grade(&self) -> Grade {
        self.grade
    }

    /// A handshake sent at `sent_at` made the session. That is a write: a quorum has committed it.
    pub(crate) fn begin(&mut self, sent_at: Instant, timeout: Duration) {
        self.timeout = timeout;
        self.server = Server::OfTheEnsemble;
        self.evidence = Evidence::NONE;
        self.state = State::Until(self.deadline_after(sent_at));
    }

    /// A read-only server accepted the session, or made one of its own. What was proved stays, and
    /// nothing is added until a server of the ensemble answers.
    pub(crate) fn cut_off(&mut self) {
        self.server = Server::CutOff;
        self.evidence = Evidence::NONE;
    }

    /// A handshake sent at `sent_at` went on with the session. From now on the servers use this
    /// timeout, which may be shorter than the one that the deadline came from.
    pub(crate) fn resume(&mut self, sent_at: Instant, timeout: Duration) {
        self.timeout = timeout;
        self.server = Server::OfTheEnsemble;
        self.evidence = Evidence { handshake: Some(sent_at), ..Evidence::NONE };
        let claimed = self.deadline_after(sent_at);
        self.state = match (self.grade, self.state) {
            (Grade::Contact, _) => State::Until(claimed),
            (Grade::Sync | Grade::Quorum, State::Until(proved)) => {
                State::Until(proved.min(claimed))
            }
            (Grade::Sync | Grade::Quorum, state) => state,
        };
    }

    /// A server has accepted the handshake sent at `sent_at`, whatever becomes of the connection:
    /// its clock for the session starts again, with a timeout that may be shorter.
    pub(crate) fn shorten(&mut self, sent_at: Instant, timeout: Duration) {
        self.timeout = timeout;
        if let State::Until(deadline) = self.state {
            self.state = State::Until(deadline.min(self.deadline_after(sent_at)));
        }
    }

    /// A request sent at `sent_at` was answered at `now`.
    pub(crate) fn answered(&mut self, now: Instant, sent_at: Instant) {
        if self.grade == Grade::Contact {
            self.prove(now, sent_at);
        }
    }

    /// A heartbeat sent at `sent_at` was answered at `now` with success.
    pub(crate) fn heartbeat_answered(&mut self, now: Instant, sent_at: Instant) -> Followup {
        if let Some(handshake) = self.evidence.handshake.take() {
            self.prove(now, handshake);
        }
        match self.evidence.heartbeat {
            Some(earlier) if sent_at < earlier.answered_at + self.interval() => Followup::Nothing,
            earlier => {
                self.evidence.heartbeat = Some(Answered { sent_at, answered_at: now });
                self.evidence.handed_over = earlier.map(|earlier| earlier.sent_at);
                if earlier.is_some() { Followup::Confirm } else { Followup::Nothing }
            }
        }
    }

    /// The confirmation of a heartbeat was answered at `now`.
    pub(crate) fn confirmed(&mut self, now: Instant) {
        if let Some(sent_at) = self.evidence.handed_over.take() {
            self.prove(now, sent_at);
        }
    }

    /// The session is over.
    pub(crate) fn end(&mut self) {
        self.state = State::Unproved;
    }

    /// Whether the lease lapses now: true once for each time that it does.
    pub(crate) fn lapses(&mut self, now: Instant) -> bool {
        match self.state {
            State::Until(deadline) if deadline <= now => {
                self.state = State::Lapsed;
                true
            }
            State::Unproved | State::Lapsed | State::Until(_) => false,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Until(deadline) => Some(deadline),
            State::Unproved | State::Lapsed => None,
        }
    }

    /// Whether the next evidence can come before the deadline, with a tenth of the timeout left
    /// for the answers to arrive.
    pub(crate) fn is_secure(&self, now: Instant) -> bool {
        let Some(deadline) = self.deadline() else {
            return false;
        };
        match self.grade {
            Grade::Contact => now < deadline,
            Grade::Sync | Grade::Quorum => self.next_proof(now) + self.timeout / 10 < deadline,
        }
    }

    /// When the next heartbeat can prove more than the last one did.
    fn next_heartbeat(&self, now: Instant) -> Instant {
        let last = self.evidence.heartbeat.map(|last| last.answered_at + self.interval());
        last.map_or(now, |due| due.max(now))
    }

    /// Between the answer to one heartbeat and the next: more than half a tick, since servers grant
    /// no less than two.
    pub(crate) fn interval(&self) -> Duration {
        self.timeout / 3
    }

    /// When the deadline can next be put off, if every answer comes at once.
    fn next_proof(&self, now: Instant) -> Instant {
        let next = self.next_heartbeat(now);
        let of_last = self.evidence.heartbeat.map(|last| self.deadline_after(last.sent_at));
        let worthwhile = of_last.is_some_and(|deadline| next + self.interval() < deadline);
        if worthwhile || self.evidence.handshake.is_some() { next } else { next + self.interval() }
    }

    /// Evidence that comes too late proves nothing, and a ping that overtook the queue may prove
    /// more than a later answer.
    fn prove(&mut self, now: Instant, sent_at: Instant) {
        if self.server == Server::CutOff {
            return;
        }
        let deadline = self.deadline_after(sent_at);
        match self.state {
            State::Until(current) if current >= deadline => {}
            State::Unproved | State::Lapsed | State::Until(_) if deadline > now => {
                self.state = State::Until(deadline);
            }
            State::Unproved | State::Lapsed | State::Until(_) => {}
        }
    }

    fn deadline_after(&self, sent_at: Instant) -> Instant {
        sent_at + self.margin.shorten(self.timeout)
    }
}

impl Evidence {
    const NONE: Self = Self { handshake: None, heartbeat: None, handed_over: None };
}
