//! The machine of a client: a nominee, or a contender for a lock, seen as one.

use election_core::election::{NominationError, Nominee, Notice, Policy, Role};
use election_core::format::{Access, Format};
use election_core::lock::{
    Lock, LockEnd, LockFailure, LockNotice, LockOptions, LockState, WhenBusy,
};
use election_core::name::CandidateName;
use election_core::{
    Event, Hold, Incarnation, NomineeId, Output, Phase, Recipe, SessionId, Ticket, Znode,
};

use super::candidates::Kind;

/// A client's contest: an election or a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    Leadership(Policy),
    LeadershipIn(Format),
    Lock(LockOptions),
}

impl Wish {
    pub fn kind(self) -> Kind {
        match self {
            Self::Leadership(_) => Kind::Latch,
            Self::LeadershipIn(format) => Kind::of(format, Access::Exclusive),
            Self::Lock(LockOptions { format, access, .. }) => Kind::of(format, access),
        }
    }

    /// Whether it gives up where the lock is not free.
    pub fn is_impatient(self) -> bool {
        matches!(self, Self::Lock(LockOptions { when_busy: WhenBusy::GiveUp, .. }))
    }
}

/// A notice of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A notice that a nominee can give, too.
    Noticed(Notice),
    RevokeRequested,
    Downgraded,
    NotDowngraded(LockFailure),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    Nominee(Nominee),
    Lock(Lock),
}

impl Machine {
    /// Whether the machine, after its end in this session, asks for nothing and gives no notice, whatever happens.
    pub fn is_silent_after_its_end(&self, session: SessionId) -> bool {
        let next = SessionId::new(session.get() + 1);
        let events = [
            Event::Disconnected,
            Event::Connected { session },
            Event::LeaseLapsed,
            Event::Look,
            Event::SessionExpired,
            Event::Connected { session: next },
        ];
        let mut machine = self.clone();
        let outputs = events.map(|event| {
            let output = machine.handle_event(event);
            (output.command, output.notice) == (None, None)
        });
        let output = machine.withdraw();
        outputs.into_iter().all(|is_silent| is_silent)
            && (output.command, output.notice) == (None, None)
    }

    pub fn new(id: NomineeId, wish: Wish) -> Self {
        match wish {
            Wish::Leadership(policy) => Self::Nominee(Nominee::new(id, policy)),
            Wish::LeadershipIn(format) => {
                Self::Nominee(Nominee::new(id, Policy::default()).in_format(format))
            }
            Wish::Lock(options) => Self::Lock(Lock::new(id, options).expect("an access it offers")),
        }
    }

    /// Returns the machine of another process, which goes on with the session.
    pub fn returning(&self, wish: Wish) -> Self {
        match (self, wish) {
            (Self::Nominee(nominee), Wish::Leadership(policy)) => {
                Self::Nominee(Nominee::returning(nominee.id(), nominee.attempts(), policy))
            }
            (Self::Nominee(nominee), Wish::LeadershipIn(format)) => {
                let (id, attempts) = (nominee.id(), nominee.attempts());
                Self::Nominee(Nominee::returning(id, attempts, Policy::default()).in_format(format))
            }
            _ => panic!("a lock is not handed over"),
        }
    }

    pub fn role(&self) -> Role<'_> {
        match self {
            Self::Nominee(nominee) => nominee.role(),
            Self::Lock(lock) => match lock.state() {
                LockState::Connecting => Role::Connecting,
                LockState::Queueing => Role::Standing,
                LockState::Waiting { behind } => {
                    Role::Following { predecessor: behind, leader: behind }
                }
                LockState::Held { token } => Role::Leading { token },
                LockState::Suspended { token } => Role::Suspended { token },
                LockState::Leaving => Role::Leaving,
                LockState::Ended(end) => Role::Ended(end_of(end)),
            },
        }
    }

    /// Returns the kind of znode that the contender wants now.
    pub fn kind(&self, wish: Wish) -> Kind {
        match self {
            Self::Lock(lock) if lock.access() == Access::Shared => Kind::Read,
            _ => wish.kind(),
        }
    }

    /// Lets a writer go on as a reader.
    pub fn downgrade(&mut self) {
        match self {
            Self::Lock(lock) => lock.downgrade().expect("a writer that holds"),
            Self::Nominee(_) => panic!("a nominee is not downgraded"),
        }
    }

    pub fn is_lock(&self) -> bool {
        matches!(self, Self::Lock(_))
    }

    pub fn candidate(&self) -> Option<&CandidateName> {
        match self {
            Self::Nominee(nominee) => nominee.candidate(),
            Self::Lock(lock) => lock.znode(),
        }
    }

    pub fn owns(&self, name: &str) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.format().owns(nominee.id(), name),
            Self::Lock(lock) => lock.format().owns(lock.id(), name),
        }
    }

    pub fn foreign_child(&self) -> Option<&str> {
        match self {
            Self::Nominee(nominee) => nominee.foreign_child(),
            Self::Lock(lock) => lock.foreign_child(),
        }
    }

    pub fn incarnation(&self) -> Incarnation {
        match self {
            Self::Nominee(nominee) => nominee.incarnation(),
            Self::Lock(lock) => lock.incarnation(),
        }
    }
}

impl Recipe for Machine {
    type Notice = News;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, News> {
        match self {
            Self::Nominee(nominee) => {
                let Output { command, notice } = nominee.handle_event(event);
                Output { command, notice: notice.map(News::Noticed) }
            }
            Self::Lock(lock) => {
                let Output { command, notice } = lock.handle_event(event);
                Output { command, notice: notice.map(notice_of) }
            }
        }
    }

    fn withdraw(&mut self) -> Output<'_, News> {
        match self {
            Self::Nominee(nominee) => {
                let Output { command, notice } = nominee.withdraw();
                Output { command, notice: notice.map(News::Noticed) }
            }
            Self::Lock(lock) => {
                let Output { command, notice } = lock.withdraw();
                Output { command, notice: notice.map(notice_of) }
            }
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Nominee(nominee) => nominee.phase(),
            Self::Lock(lock) => lock.phase(),
        }
    }

    fn hold(&self) -> Hold {
        match self {
            Self::Nominee(nominee) => nominee.hold(),
            Self::Lock(lock) => lock.hold(),
        }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        match self {
            Self::Nominee(nominee) => nominee.heartbeat(),
            Self::Lock(lock) => lock.heartbeat(),
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.awaits_change(ticket),
            Self::Lock(lock) => lock.awaits_change(ticket),
        }
    }

    fn waits_for_look(&self) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.waits_for_look(),
            Self::Lock(lock) => lock.waits_for_look(),
        }
    }
}

fn notice_of(notice: LockNotice) -> News {
    News::Noticed(match notice {
        LockNotice::RevokeRequested => return News::RevokeRequested,
        LockNotice::Downgraded => return News::Downgraded,
        LockNotice::NotDowngraded(failure) => return News::NotDowngraded(failure),
        LockNotice::Waiting => Notice::Following,
        LockNotice::WaitingUnwatched => Notice::FollowingUnwatched,
        LockNotice::WaitingForPersistent => Notice::FollowingPersistent,
        LockNotice::Obstructed(obstacle) => Notice::Obstructed(obstacle),
        LockNotice::ForeignChild => Notice::ForeignChild,
        LockNotice::Acquired(token) => Notice::Elected(token),
        LockNotice::Suspended => Notice::Suspended,
        LockNotice::Resumed(token) => Notice::Resumed(token),
        LockNotice::Lost(cause) => Notice::Lost(cause),
        LockNotice::PlaceLost(cause) => Notice::CandidateLost(cause),
        LockNotice::Ended(end) => Notice::Ended(end_of(end)),
    })
}

fn end_of(end: LockEnd) -> election_core::election::End {
    use election_core::election::End;
    match end {
        LockEnd::Released(departure) => End::Resigned(departure),
        LockEnd::NotAcquired(_, departure) => End::Withdrawn(departure),
        LockEnd::Lost(cause) => End::Lost(cause),
        LockEnd::Failed(LockFailure::Concluded) => End::ElectionEnded,
        LockEnd::Failed(failure) => End::Failed(match failure {
            LockFailure::NoNode => NominationError::NoElectionNode,
            LockFailure::SequenceExhausted => NominationError::SequenceExhausted,
            LockFailure::UnexpectedName => NominationError::UnexpectedName,
            LockFailure::Rejected(code) => NominationError::Rejected(code),
            LockFailure::UnreadableReply => NominationError::UnreadableReply,
            LockFailure::TooLarge => NominationError::TooLarge,
            LockFailure::OtherFormat => NominationError::OtherFormat,
            _ => NominationError::UnexpectedReply,
        }),
    }
}
