//! One nomination in the hub: its nominee, its watches, and what its holder is shown.

use core::task::Waker;
use std::sync::Arc;

use election_core::{CandidateName, Event, Nominee, Notice, Role as CoreRole, Token};
use tracing::{debug, info, warn};
use zk_jute::SessionId;
use zk_session::{Instant, LeaseOutlook, SessionEnd};

use super::answers::{Outcome, core_failure, created, list, react, read_reply};
use super::lists::Lists;
use super::perform::{Performer, Step, WatchSlots};
use super::stimulus::{Happening, Stimulus};
use super::{Session, Target, Tenure};
use crate::broadcast::{Receiver, Sender};
use crate::clock::Clock;
use crate::election::{EndReason, LostReason, Role, Status};
use crate::telemetry::ELECTION;

/// Names a nomination of a client; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NominationKey(pub(super) u64);

/// What a nomination has at hand while it takes a step.
pub(super) struct Surroundings<'h> {
    pub(super) session: &'h mut Session,
    pub(super) now: Instant,
    pub(super) lists: &'h mut Lists,
    /// To be woken once the hub's lock is released.
    pub(super) wakers: &'h mut Vec<Waker>,
}

#[derive(Debug)]
pub(crate) struct Nomination {
    key: NominationKey,
    clock: Clock,
    nominee: Nominee,
    pub(super) target: Arc<Target>,
    slots: WatchSlots,
    session: Option<SessionId>,
    leadership: Leadership,
    numbers: Numbers,
    status: Sender<Status>,
}

/// How many sequence numbers there are left below the election node, as the holder was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Plenty,
    /// It was warned.
    Few,
}

/// With fewer creates left than this, the operator is warned: a tenth of all. With a hundred of them a
/// second that is 24 days ahead.
const FEW_NUMBERS: u32 = 210_000_000;

/// A leadership is announced only while the lease is proved, and can be proved again in time: until
/// then another client may lead, although this one was promoted (by an event that lay waiting while
/// the process was paused), or the lease would lapse at once.
#[derive(Debug)]
enum Leadership {
    None,
    AwaitsLease {
        token: Token,
        /// As it was when the nominee was promoted, or of another kind since.
        outlook: LeaseOutlook,
    },
    Announced(Arc<Tenure>),
}

impl Nomination {
    pub(crate) fn new(
        key: NominationKey,
        clock: Clock,
        nominee: Nominee,
        target: Arc<Target>,
    ) -> (Self, Receiver<Status>) {
        let status = Sender::new(Status::new());
        let receiver = status.subscribe();
        let nomination = Self {
            key,
            clock,
            nominee,
            target,
            slots: WatchSlots::default(),
            session: None,
            leadership: Leadership::None,
            numbers: Numbers::Plenty,
            status,
        };
        (nomination, receiver)
    }

    /// The candidate whose check proves the lease, if the lease is needed.
    pub(super) fn heartbeat(&self) -> Option<&CandidateName> {
        self.nominee.heartbeat()
    }

    /// The leadership that was announced and is not over.
    pub(crate) fn tenure(&self) -> Option<Arc<Tenure>> {
        match &self.leadership {
            Leadership::Announced(tenure) => Some(Arc::clone(tenure)),
            Leadership::None | Leadership::AwaitsLease { .. } => None,
        }
    }

    fn is_announced(&self) -> bool {
        matches!(self.leadership, Leadership::Announced(_))
    }

    pub(super) fn awaits_lease(&self) -> bool {
        matches!(self.leadership, Leadership::AwaitsLease { .. })
    }

    /// Whether there is nothing left to do: it has ended, and left nothing behind that is still to be
    /// cleaned up.
    /// Whether a server had too much to do to look at what the nominee asked for.
    pub(super) fn waits_for_look(&self) -> bool {
        self.nominee.waits_for_look()
    }

    pub(super) fn is_over(&self) -> bool {
        self.has_ended() && !self.nominee.owes_cleanup()
    }

    /// Whether its holder was told that it has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.nominee.role(), CoreRole::Ended(_))
    }

    /// Takes in what happened, submits what follows from it, and shows the new status.
    pub(super) fn handle(&mut self, mut around: Surroundings<'_>, stimulus: Stimulus) {
        let around = &mut around;
        match stimulus {
            Stimulus::Happened(Happening::Connected(id)) => self.session = Some(id),
            Stimulus::Happened(Happening::Disconnected | Happening::SessionExpired) => {
                self.slots.forget_all(around.session, around.now);
            }
            // Nobody has relied on the lease yet.
            Stimulus::Happened(Happening::LeaseLapsed) if !self.is_announced() => return,
            Stimulus::Happened(_)
            | Stimulus::Completed { .. }
            | Stimulus::Listed { .. }
            | Stimulus::Withdraw => {}
        }
        let mut next = Some(stimulus);
        while let Some(stimulus) = next.take() {
            let Outcome { notice, not_sent } = self.step(around, stimulus);
            if let Some(notice) = notice {
                self.heed(notice, around);
            }
            next = not_sent.map(|not_sent| Stimulus::Happened(Happening::NotSent(not_sent)));
        }
        if matches!(self.nominee.role(), CoreRole::Leaving | CoreRole::Ended(_)) {
            self.slots.forget_all(around.session, around.now);
            self.end_leadership(LostReason::Resigned, around.wakers);
        }
        self.warn_of_last_numbers();
        self.show(around);
        if self.has_ended() {
            self.retire(around.wakers);
        }
    }

    /// Looks at the lease that a leadership waits for. It is announced unless it is in doubt for
    /// another reason: a handshake proves the lease, but not that the candidate still stands.
    pub(super) fn look_at_lease(&mut self, mut around: Surroundings<'_>) {
        if let (Leadership::AwaitsLease { token, .. }, CoreRole::Leading { .. }) =
            (&self.leadership, self.nominee.role())
        {
            let token = *token;
            self.elected(token, &around);
            self.show(&mut around);
        }
    }

    /// Once, and long before nobody can be elected any more.
    fn warn_of_last_numbers(&mut self) {
        if let (Numbers::Plenty, Some(candidate)) = (self.numbers, self.nominee.candidate())
            && candidate.sequence().remaining() < FEW_NUMBERS
        {
            let remaining = candidate.sequence().remaining();
            warn!(
                target: ELECTION,
                election = &*self.target.path, nominee = %self.nominee.id(),
                candidate = candidate.as_str(), remaining,
                "sequence numbers run out: hold the election at a fresh election node in time, or \
                 delete this one and create it again once it is empty"
            );
            self.numbers = Numbers::Few;
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.nominee.role(), CoreRole::Leaving)
    }

    /// The session is being closed: what is heard of the candidate from now on is its end by that.
    pub(super) fn client_closes(&mut self, wakers: &mut Vec<Waker>) {
        self.end_leadership(LostReason::ClientClosed(SessionEnd::Closed), wakers);
        self.publish(Role::Leaving, wakers);
    }

    /// The client is over, and the nomination with it.
    pub(super) fn client_ended(&mut self, end: SessionEnd, wakers: &mut Vec<Waker>) {
        if self.has_ended() {
            return;
        }
        self.end_leadership(LostReason::ClientClosed(end), wakers);
        info!(
            target: ELECTION, election = %self.target.path, nominee = %self.nominee.id(), %end,
            "nomination ended"
        );
        self.publish(Role::Ended(EndReason::ClientClosed(end)), wakers);
        self.retire(wakers);
    }

    /// The status is the last one.
    fn retire(&self, wakers: &mut Vec<Waker>) {
        self.status.end(wakers);
    }

    /// One step of the nominee. The borrow of its output ends here.
    fn step(&mut self, around: &mut Surroundings<'_>, stimulus: Stimulus) -> Outcome {
        let Self { key, nominee, target, slots, .. } = self;
        let Surroundings { session, now, lists, .. } = around;
        let performer = Performer { session, now: *now, key: *key, target, slots, lists };
        match stimulus {
            Stimulus::Completed { step: Step::Ancestor, .. } => Outcome::default(),
            Stimulus::Listed { ticket, listed } => list(nominee, performer, ticket, listed),
            Stimulus::Completed { ticket, step: Step::Create, outcome: Ok(completion) } => {
                created(nominee, performer, ticket, &completion.body)
            }
            Stimulus::Completed { ticket, step, outcome } => {
                let result = outcome
                    .map_err(core_failure)
                    .and_then(|completion| read_reply(step, &completion.body));
                react(nominee, performer, Event::Reply { ticket, result })
            }
            Stimulus::Withdraw => {
                let output = nominee.withdraw();
                Outcome { notice: output.notice, not_sent: performer.carry_out(&output) }
            }
            Stimulus::Happened(happening) => react(nominee, performer, happening.event()),
        }
    }

    fn heed(&mut self, notice: Notice, around: &mut Surroundings<'_>) {
        let election = &*self.target.path;
        let nominee = self.nominee.id();
        let candidate = self.nominee.candidate().map(CandidateName::as_str);
        let zk_session = self.session.map(tracing::field::display);
        let zxid = tracing::field::display(around.session.last_zxid());
        match notice {
            Notice::Following => {
                debug!(
                    target: ELECTION, election, %nominee, candidate, session = zk_session, zxid,
                    "following"
                );
            }
            Notice::FollowingUnwatched => {
                warn!(
                    target: ELECTION, election, %nominee, candidate, session = zk_session, zxid,
                    "following a predecessor that may not be read: its end shows at the next look"
                );
            }
            Notice::Elected(token) => self.elected(token, around),
            Notice::Suspended => {
                warn!(
                    target: ELECTION, election, %nominee, candidate, session = zk_session, zxid,
                    "suspended"
                );
            }
            Notice::Resumed(token) => {
                info!(
                    target: ELECTION,
                    election, %nominee, candidate, session = zk_session, zxid, %token,
                    "resumed"
                );
            }
            Notice::Lost(cause) => {
                warn!(
                    target: ELECTION, election, %nominee, session = zk_session, zxid, %cause,
                    "leadership lost"
                );
                self.end_leadership(LostReason::of_cause(cause), around.wakers);
            }
            Notice::Unseated(cause) => {
                warn!(
                    target: ELECTION, election, %nominee, session = zk_session, zxid, %cause,
                    "candidate lost"
                );
            }
            Notice::Ended(end) => {
                info!(
                    target: ELECTION, election, %nominee, session = zk_session, zxid, ?end,
                    "nomination ended"
                );
                self.end_leadership(LostReason::of(end), around.wakers);
            }
        }
    }

    /// The nominee is promoted: it is elected if the lease can be relied on.
    fn elected(&mut self, token: Token, around: &Surroundings<'_>) {
        let Surroundings { session, now, .. } = around;
        let outlook = session.lease_outlook(*now);
        let candidate = self.nominee.candidate().cloned();
        match (outlook, candidate) {
            (LeaseOutlook::Secure { .. }, Some(candidate)) => {
                let election = &*self.target.path;
                let zk_session = self.session.map(tracing::field::display);
                let zxid = tracing::field::display(session.last_zxid());
                info!(
                    target: ELECTION,
                    election, nominee = %self.nominee.id(), candidate = candidate.as_str(),
                    session = zk_session, zxid, %token, "elected"
                );
                self.leadership = Leadership::Announced(Arc::new(Tenure::new(token, candidate)));
            }
            (outlook, _) => self.await_lease(token, outlook),
        }
    }

    /// What was known stays, unless it is of another kind now: a status is no meter.
    fn await_lease(&mut self, token: Token, outlook: LeaseOutlook) {
        if let Leadership::AwaitsLease { outlook: known, .. } = &self.leadership
            && core::mem::discriminant(known) == core::mem::discriminant(&outlook)
        {
            return;
        }
        if let LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest } = outlook {
            warn!(
                target: ELECTION,
                election = &*self.target.path, nominee = %self.nominee.id(),
                session = self.session.map(tracing::field::display),
                ?round_trip, ?timeout, ?longest,
                "promoted, but not elected: answers take too long for a lease to be kept; \
                 a longer session timeout helps, or a smaller margin, or a nearer server"
            );
        }
        self.leadership = Leadership::AwaitsLease { token, outlook };
    }

    fn end_leadership(&mut self, reason: LostReason, wakers: &mut Vec<Waker>) {
        if let Leadership::Announced(tenure) =
            core::mem::replace(&mut self.leadership, Leadership::None)
        {
            tenure.end(reason, wakers);
        }
    }

    fn show(&self, around: &mut Surroundings<'_>) {
        let announced = self.is_announced();
        let role = match self.nominee.role() {
            CoreRole::Suspended { token } if announced => {
                Role::Suspended { token, valid_until: self.valid_until(around.session) }
            }
            CoreRole::Leading { token } if announced => Role::Leading { token },
            CoreRole::Leading { .. } => match &self.leadership {
                Leadership::AwaitsLease { outlook, .. } => {
                    Role::AwaitingLease { outlook: *outlook }
                }
                Leadership::None | Leadership::Announced(_) => Role::Standing,
            },
            CoreRole::Standing => Role::Standing,
            CoreRole::Connecting | CoreRole::Suspended { .. } => Role::Connecting,
            CoreRole::Following { predecessor, leader } => {
                Role::Following { predecessor: predecessor.clone(), leader: leader.clone() }
            }
            CoreRole::Leaving => Role::Leaving,
            CoreRole::Ended(end) => Role::Ended(EndReason::of(end)),
        };
        self.publish(role, around.wakers);
    }

    fn valid_until(&self, session: &Session) -> Option<tokio::time::Instant> {
        session.lease_deadline().map(|deadline| self.clock.to_tokio(deadline))
    }

    fn publish(&self, role: Role, wakers: &mut Vec<Waker>) {
        let new =
            Status { role, candidate: self.nominee.candidate().cloned(), session: self.session };
        self.status.show(new, wakers);
    }
}
