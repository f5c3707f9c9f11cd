//! One nomination of a client: its nominee, its watches, and the leadership that its holder is told
//! of.

use election_core::{
    CandidateName, Change, Event, Nominee, NomineeId, Notice, Policy, Role, Ticket, Token,
};
use zk_jute::Zxid;
use zk_jute::records::EventType;
use zk_session::{Completion, Instant};

use super::perform::{NotSent, Outcome, Performer, Step, WatchSlots};
use super::{Observed, Session};

/// Names a nomination of a client process; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NominationKey(pub(super) u64);

/// What makes a nomination take a step.
#[derive(Debug)]
pub(super) enum Stimulus {
    Happened(Happening),
    Completed { ticket: Ticket, step: Step, outcome: Result<Completion, zk_session::Failure> },
    Withdraw,
}

/// What happens to a nomination without being an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Connected(zk_jute::SessionId),
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Fired { ticket: Ticket, kind: EventType, zxid: Zxid },
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
            Self::Fired { ticket, kind: EventType::NODE_DELETED, .. } => {
                Event::Changed { ticket, change: Change::Deleted }
            }
            Self::Fired { ticket, .. } => Event::Changed { ticket, change: Change::Data },
            Self::NotSent((ticket, failure)) => Event::Reply { ticket, result: Err(failure) },
        }
    }
}

#[derive(Debug)]
pub(super) struct Nomination {
    key: NominationKey,
    pub(super) nominee: Nominee,
    slots: WatchSlots,
    leadership: Leadership,
}

/// A leadership is announced only while the lease is proved.
#[derive(Debug)]
enum Leadership {
    None,
    AwaitsLease(Token),
    Announced { token: Token, candidate: CandidateName },
}

/// What a nomination works on.
pub(super) struct Surroundings<'c> {
    pub(super) session: &'c mut Session,
    pub(super) now: Instant,
    pub(super) observed: &'c mut Vec<Observed>,
}

impl Nomination {
    pub(super) fn new(key: NominationKey, id: NomineeId, policy: Policy) -> Self {
        Self {
            key,
            nominee: Nominee::new(id, policy),
            slots: WatchSlots::default(),
            leadership: Leadership::None,
        }
    }

    /// The leadership that was announced and is not over.
    pub(super) fn announced(&self) -> Option<(Token, &CandidateName)> {
        match &self.leadership {
            Leadership::Announced { token, candidate } => Some((*token, candidate)),
            Leadership::None | Leadership::AwaitsLease(_) => None,
        }
    }

    pub(super) fn awaits_lease(&self) -> bool {
        matches!(self.leadership, Leadership::AwaitsLease(_))
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.nominee.role(), Role::Ended(_))
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.nominee.role(), Role::Leaving)
    }

    /// Takes in what happened, and submits what follows from it.
    pub(super) fn handle(&mut self, around: &mut Surroundings<'_>, stimulus: Stimulus) {
        match &stimulus {
            Stimulus::Happened(Happening::Disconnected | Happening::SessionExpired) => {
                self.slots.forget_all(around.session, around.now);
            }
            // Nobody has relied on the lease yet.
            Stimulus::Happened(Happening::LeaseLapsed) if self.announced().is_none() => return,
            Stimulus::Happened(Happening::Fired {
                ticket,
                kind: EventType::NODE_DELETED,
                zxid,
            }) => {
                self.note_wake_up(*ticket, *zxid, around.observed);
            }
            _ => {}
        }
        let mut next = Some(stimulus);
        while let Some(stimulus) = next.take() {
            let Outcome { notice, not_sent } = self.step(around, stimulus);
            if let Some(notice) = notice {
                self.heed(notice, around);
            }
            next = not_sent.map(|not_sent| Stimulus::Happened(Happening::NotSent(not_sent)));
        }
        if matches!(self.nominee.role(), Role::Leaving | Role::Ended(_)) {
            self.slots.forget_all(around.session, around.now);
            self.leadership = Leadership::None;
        }
    }

    /// Announces a leadership that waited for the lease, unless it is in doubt for another reason.
    pub(super) fn lease_proved(&mut self, around: &mut Surroundings<'_>) {
        if let (Leadership::AwaitsLease(token), Role::Leading { .. }) =
            (&self.leadership, self.nominee.role())
        {
            self.elected(*token, around);
        }
    }

    /// The session is closed or over: whatever was announced ends with it.
    pub(super) fn client_ends(&mut self) {
        self.leadership = Leadership::None;
    }

    fn note_wake_up(&self, ticket: Ticket, zxid: Zxid, observed: &mut Vec<Observed>) {
        if let Some((watched, candidate)) = &self.slots.watched
            && *watched == ticket
            && self.nominee.awaits_change(ticket)
        {
            let (nominee, candidate) = (self.nominee.id(), candidate.clone());
            observed.push(Observed::Woken { nominee, candidate, zxid });
        }
    }

    fn step(&mut self, around: &mut Surroundings<'_>, stimulus: Stimulus) -> Outcome {
        let Self { key, nominee, slots, .. } = self;
        let performer = Performer { session: around.session, now: around.now, key: *key, slots };
        match stimulus {
            Stimulus::Completed { ticket, step, outcome } => {
                performer.answer(nominee, (ticket, step), outcome)
            }
            Stimulus::Withdraw => {
                let output = nominee.withdraw();
                Outcome { notice: output.notice, not_sent: performer.carry_out(&output) }
            }
            Stimulus::Happened(happening) => performer.react(nominee, happening.event()),
        }
    }

    fn heed(&mut self, notice: Notice, around: &mut Surroundings<'_>) {
        around.observed.push(Observed::Notice { nominee: self.nominee.id(), notice });
        match notice {
            Notice::Elected(token) => self.elected(token, around),
            Notice::Lost(_) | Notice::Ended(_) => self.leadership = Leadership::None,
            Notice::Following
            | Notice::FollowingUnwatched
            | Notice::Suspended
            | Notice::Resumed(_)
            | Notice::Unseated(_) => {}
        }
    }

    fn elected(&mut self, token: Token, around: &mut Surroundings<'_>) {
        let secure = around.session.lease_is_secure(around.now);
        self.leadership = match self.nominee.candidate() {
            Some(candidate) if secure => {
                let nominee = self.nominee.id();
                let until = around.session.lease_deadline();
                around.observed.push(Observed::Announced { nominee, token, until });
                Leadership::Announced { token, candidate: candidate.clone() }
            }
            _ => Leadership::AwaitsLease(token),
        };
    }
}
