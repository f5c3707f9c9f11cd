//! One nomination in the hub: its nominee, its watches, and what its holder is shown.

use core::task::Waker;
use std::sync::Arc;

use bytes::Bytes;
use election_core::{
    CandidateName, Change, Event, Failure, Nominee, Notice, Reply, Role as CoreRole, Ticket, Token,
};
use tracing::{debug, info, warn};
use zk_jute::records::{CreateResponse, EventType, GetChildrenResponse, GetDataResponse, Stat};
use zk_jute::{Decode, SessionId};
use zk_session::{Completion, End, Instant};

use super::lists::{Listed, Lists};
use super::perform::{NotSent, Performer, Step, WatchSlots};
use super::{Session, Target, Tenure};
use crate::broadcast::{Receiver, Sender};
use crate::clock::Clock;
use crate::election::{EndReason, LostReason, Role, Status};
use crate::telemetry::ELECTION;

/// Names a nomination of a client; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NominationKey(pub(super) u64);

/// What makes a nomination take a step.
#[derive(Debug)]
pub(super) enum Stimulus {
    Happened(Happening),
    Completed { ticket: Ticket, step: Step, outcome: Result<Completion, zk_session::Failure> },
    Listed { ticket: Ticket, listed: Listed },
    Withdraw,
}

/// What happens to a nomination without being an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Connected(SessionId),
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Fired { ticket: Ticket, kind: EventType },
    NotSent(NotSent),
}

impl Happening {
    fn event<'a>(self) -> Event<'a> {
        match self {
            Self::Connected(id) => {
                Event::Connected { session: election_core::SessionId::new(id.get()) }
            }
            Self::Disconnected => Event::Disconnected,
            Self::SessionExpired => Event::SessionExpired,
            Self::LeaseLapsed => Event::LeaseLapsed,
            Self::Look => Event::Look,
            Self::Fired { ticket, kind: EventType::NODE_DELETED } => {
                Event::Changed { ticket, change: Change::Deleted }
            }
            Self::Fired { ticket, .. } => Event::Changed { ticket, change: Change::Data },
            Self::NotSent((ticket, failure)) => Event::Reply { ticket, result: Err(failure) },
        }
    }
}

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
    status: Sender<Status>,
}

/// A leadership is announced only while the lease is proved, and can be proved again in time: until
/// then another client may lead, although this one was promoted (by an event that lay waiting while
/// the process was paused), or the lease would lapse at once.
#[derive(Debug)]
enum Leadership {
    None,
    AwaitsLease(Token),
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
            Leadership::None | Leadership::AwaitsLease(_) => None,
        }
    }

    fn is_announced(&self) -> bool {
        matches!(self.leadership, Leadership::Announced(_))
    }

    pub(super) fn awaits_lease(&self) -> bool {
        matches!(self.leadership, Leadership::AwaitsLease(_))
    }

    /// Whether there is nothing left to do: it has ended, and left nothing behind that is still to be
    /// cleaned up.
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
        self.show(around);
        if self.has_ended() {
            self.retire(around.wakers);
        }
    }

    /// Announces a leadership that waited for the lease, unless it is in doubt for another reason:
    /// a handshake proves the lease, but not that the candidate still stands.
    pub(super) fn lease_proved(&mut self, mut around: Surroundings<'_>) {
        if let (Leadership::AwaitsLease(token), CoreRole::Leading { .. }) =
            (&self.leadership, self.nominee.role())
        {
            let token = *token;
            self.elected(token, &around);
            self.show(&mut around);
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.nominee.role(), CoreRole::Leaving)
    }

    /// The session is being closed: what is heard of the candidate from now on is its end by that.
    pub(super) fn client_closes(&mut self, wakers: &mut Vec<Waker>) {
        self.end_leadership(LostReason::ClientClosed(End::Closed), wakers);
        self.publish(Role::Leaving, wakers);
    }

    /// The client is over, and the nomination with it.
    pub(super) fn client_ended(&mut self, end: End, wakers: &mut Vec<Waker>) {
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
                self.end_leadership(cause.into(), around.wakers);
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

    fn elected(&mut self, token: Token, around: &Surroundings<'_>) {
        let Surroundings { session, now, .. } = around;
        let candidate = self.nominee.candidate().cloned();
        self.leadership = match candidate {
            Some(candidate) if session.lease_is_secure(*now) => {
                let election = &*self.target.path;
                let zk_session = self.session.map(tracing::field::display);
                let zxid = tracing::field::display(session.last_zxid());
                info!(
                    target: ELECTION,
                    election, nominee = %self.nominee.id(), candidate = candidate.as_str(),
                    session = zk_session, zxid, %token, "elected"
                );
                Leadership::Announced(Arc::new(Tenure::new(token, candidate)))
            }
            _ => Leadership::AwaitsLease(token),
        };
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
            CoreRole::Standing | CoreRole::Leading { .. } => Role::Standing,
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

/// What a step of the nominee led to.
#[derive(Debug, Default)]
struct Outcome {
    notice: Option<Notice>,
    not_sent: Option<NotSent>,
}

fn react<'a>(nominee: &'a mut Nominee, performer: Performer<'_>, event: Event<'a>) -> Outcome {
    let output = nominee.handle_event(event);
    Outcome { notice: output.notice, not_sent: performer.carry_out(&output) }
}

fn list(
    nominee: &mut Nominee,
    performer: Performer<'_>,
    ticket: Ticket,
    listed: Listed,
) -> Outcome {
    let body = match listed {
        Ok(body) => body,
        Err(failure) => {
            let result = Err(core_failure(failure));
            return react(nominee, performer, Event::Reply { ticket, result });
        }
    };
    let response = GetChildrenResponse::decode_prefix(&body);
    let mut names = response.ok().into_iter().flat_map(|response| response.children);
    let result = match response {
        Ok(_) => Ok(Reply::Children(&mut names)),
        Err(_) => Err(Failure::Unreadable),
    };
    react(nominee, performer, Event::Reply { ticket, result })
}

fn created(
    nominee: &mut Nominee,
    performer: Performer<'_>,
    ticket: Ticket,
    body: &Bytes,
) -> Outcome {
    let result = match CreateResponse::decode_prefix(body) {
        Ok(response) => Ok(Reply::Created { name: Target::name_of(response.path) }),
        Err(_) => Err(Failure::Unreadable),
    };
    react(nominee, performer, Event::Reply { ticket, result })
}

fn read_reply<'a>(step: Step, body: &Bytes) -> Result<Reply<'a>, Failure> {
    match step {
        Step::ElectionNode | Step::Ancestor => Ok(Reply::ElectionNodeCreated),
        // Whatever became of its check, a multi that is answered was committed.
        Step::Barrier => Ok(Reply::BarrierPassed),
        Step::Delete => Ok(Reply::Deleted),
        Step::Read => match GetDataResponse::decode_prefix(body) {
            Ok(response) => Ok(Reply::Read(core_stat(&response.stat))),
            Err(_) => Err(Failure::Unreadable),
        },
        Step::Create => Err(Failure::Unreadable),
    }
}

fn core_stat(stat: &Stat) -> election_core::Stat {
    let owner = stat.ephemeral_owner.get();
    election_core::Stat::new(owner, stat.czxid.get(), stat.version.get())
}

fn core_failure(failure: zk_session::Failure) -> Failure {
    match failure {
        zk_session::Failure::Refused(code) => Failure::from_code(code.get()),
        zk_session::Failure::ReplyTooLarge { .. } => Failure::Unreadable,
        zk_session::Failure::ConnectionLoss | zk_session::Failure::NotSent => {
            Failure::ConnectionLoss
        }
    }
}
