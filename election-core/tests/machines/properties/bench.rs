//! Feeds one nominee with anything, and judges what it answers.

use election_core::children::Children;
use election_core::election::{Nominee, Notice, Policy, Role};
use election_core::{
    Applied, Change, Command, Event, Failure, NomineeId, Op, Output, Recipe, Reply, SessionId,
    Stat, Ticket, Token, Watch,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::contest::told::Told;

/// An event of which the bench fills in what only it knows, such as tickets.
#[derive(Clone, Debug)]
pub enum Input {
    Connected(i64),
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Deadline,
    Withdraw,
    /// The kind of reply that the command awaits.
    FittingReply {
        ours: bool,
        names: Vec<String>,
        token: i64,
    },
    Reply {
        ticket: Index,
        reply: AnyReply,
    },
    Changed {
        ticket: Index,
        change: Change,
    },
}

#[derive(Clone, Debug)]
pub enum AnyReply {
    Created(String),
    NodeCreated,
    BarrierPassed,
    Children(Vec<String>),
    Read(Stat),
    Exists(Stat),
    Written(Stat),
    Deleted,
    Committed(String),
    Failed(Failure),
}

pub fn any_input() -> impl Strategy<Value = Input> {
    let names = || prop::collection::vec(any_name(), 0..5);
    let change = prop_oneof![
        4 => Just(Change::Deleted),
        4 => Just(Change::Data),
        4 => Just(Change::Lost),
        1 => Just(Change::Created),
        1 => Just(Change::Children),
    ];
    prop_oneof![
        3 => (0..2_i64).prop_map(Input::Connected),
        1 => Just(Input::Disconnected),
        1 => Just(Input::SessionExpired),
        1 => Just(Input::LeaseLapsed),
        2 => Just(Input::Look),
        1 => Just(Input::Deadline),
        1 => prop::num::u8::ANY.prop_map(|n| if n < 60 { Input::Withdraw } else { Input::Disconnected }),
        20 => (prop::bool::weighted(0.8), names(), 1..4_i64)
            .prop_map(|(ours, names, token)| Input::FittingReply { ours, names, token }),
        6 => (any::<Index>(), any_reply()).prop_map(|(ticket, reply)| Input::Reply { ticket, reply }),
        4 => (any::<Index>(), change).prop_map(|(ticket, change)| Input::Changed { ticket, change }),
    ]
}

fn any_reply() -> impl Strategy<Value = AnyReply> {
    let stat = || {
        (prop::option::of(0..3_i64), 0..4_i64, any::<i32>())
            .prop_map(|(owner, token, version)| Stat::new(owner.unwrap_or(0), token, version))
    };
    let failure = prop_oneof![
        Just(Failure::NoNode),
        Just(Failure::NodeExists),
        Just(Failure::BadVersion),
        Just(Failure::NoAuth),
        Just(Failure::Throttled),
        Just(Failure::ConnectionLoss),
        any::<i32>().prop_map(Failure::Rejected),
        (0..4_usize, any::<i32>()).prop_map(|(part, code)| Failure::Aborted { part, code }),
        Just(Failure::Unreadable),
        Just(Failure::TooLarge),
    ];
    prop_oneof![
        any_name().prop_map(AnyReply::Created),
        Just(AnyReply::NodeCreated),
        Just(AnyReply::BarrierPassed),
        prop::collection::vec(any_name(), 0..5).prop_map(AnyReply::Children),
        stat().prop_map(AnyReply::Read),
        stat().prop_map(AnyReply::Exists),
        stat().prop_map(AnyReply::Written),
        Just(AnyReply::Deleted),
        any_name().prop_map(AnyReply::Committed),
        failure.prop_map(AnyReply::Failed),
    ]
}

fn any_name() -> impl Strategy<Value = String> {
    let own = format!("{}", ID.candidate_prefix(0));
    prop_oneof![
        4 => (0..4).prop_map(move |sequence| format!("{own}{sequence:010}")),
        1 => Just(format!("{}2147483647", ID.candidate_prefix(1))),
        4 => (0..4).prop_map(|sequence| format!("_c_other-latch-{sequence:010}")),
        1 => (0..4).prop_map(|sequence| format!("{:x<70}latch-{sequence:010}", "")),
        1 => ".{0,12}",
    ]
}

const ID: NomineeId = NomineeId::from_bytes([7; 16]);

/// The kind of a command, and whether its reply verifies the own znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Create,
    CreateElectionNode,
    Barrier,
    List,
    ReadOwn,
    ReadOther,
    Inspect,
    LookForEnd,
    Delete,
    /// A command that no nominee gives.
    Other,
}

/// Feeds a nominee and remembers what is needed to judge it.
pub struct Bench {
    nominee: Nominee,
    session: Option<SessionId>,
    issued: Vec<Ticket>,
    outstanding: Option<(Ticket, Kind)>,
    verified: Option<Token>,
    told: Told,
}

impl Bench {
    pub fn new(policy: Policy) -> Self {
        Self {
            nominee: Nominee::new(ID, policy),
            session: None,
            issued: Vec::new(),
            outstanding: None,
            verified: None,
            told: Told::NotLeading,
        }
    }

    pub fn feed(&mut self, input: Input) -> Result<(), TestCaseError> {
        match input {
            Input::Connected(session) => {
                let session = SessionId::new(session);
                self.link_lost();
                self.session = Some(session);
                self.step(Event::Connected { session })
            }
            Input::Disconnected => {
                self.link_lost();
                self.step(Event::Disconnected)
            }
            Input::SessionExpired => {
                self.link_lost();
                self.step(Event::SessionExpired)
            }
            Input::LeaseLapsed => self.step(Event::LeaseLapsed),
            Input::Look => self.step(Event::Look),
            Input::Deadline => self.step(Event::Deadline),
            Input::Withdraw => self.withdraw(),
            Input::FittingReply { ours, names, token } => self.fitting_reply(ours, names, token),
            Input::Reply { ticket, reply } => match self.issued(ticket) {
                Some(ticket) => self.reply(ticket, reply),
                None => Ok(()),
            },
            Input::Changed { ticket, change } => match self.issued(ticket) {
                Some(ticket) => self.change(ticket, change),
                None => Ok(()),
            },
        }
    }

    fn issued(&self, pick: Index) -> Option<Ticket> {
        (!self.issued.is_empty()).then(|| *pick.get(&self.issued))
    }

    fn link_lost(&mut self) {
        self.session = None;
        self.outstanding = None;
        self.verified = None;
    }

    fn withdraw(&mut self) -> Result<(), TestCaseError> {
        if self.told != Told::Ended {
            self.told = Told::NotLeading;
        }
        let output = Seen::of(&self.nominee.withdraw());
        self.judge(output)?;
        let before = self.nominee.clone();
        let again = Seen::of(&self.nominee.withdraw());
        prop_assert_eq!((again, &self.nominee), (Seen::default(), &before));
        Ok(())
    }

    fn fitting_reply(
        &mut self,
        ours: bool,
        mut names: Vec<String>,
        token: i64,
    ) -> Result<(), TestCaseError> {
        let (Some((ticket, kind)), Some(session)) = (self.outstanding, self.session) else {
            return Ok(());
        };
        let reply = match kind {
            Kind::Create => {
                let last = self.nominee.attempts().wrapping_sub(1);
                AnyReply::Created(format!("{}{token:010}", ID.candidate_prefix(last)))
            }
            Kind::CreateElectionNode => AnyReply::NodeCreated,
            Kind::Barrier => AnyReply::BarrierPassed,
            Kind::List => {
                names.extend(self.nominee.candidate().map(ToString::to_string).filter(|_| ours));
                AnyReply::Children(names)
            }
            Kind::ReadOwn | Kind::ReadOther | Kind::Inspect => {
                AnyReply::Read(Stat::new(if ours { session.get() } else { 0 }, 1, 0))
            }
            Kind::LookForEnd if ours => AnyReply::Exists(Stat::new(0, 1, 0)),
            Kind::LookForEnd => AnyReply::Failed(Failure::NoNode),
            Kind::Delete | Kind::Other => AnyReply::Deleted,
        };
        self.reply(ticket, reply)
    }

    fn reply(&mut self, ticket: Ticket, reply: AnyReply) -> Result<(), TestCaseError> {
        let awaited = self.outstanding.filter(|(outstanding, _)| *outstanding == ticket);
        let before = self.nominee.clone();
        if let Some((_, kind)) = awaited {
            self.outstanding = None;
            match &reply {
                AnyReply::Failed(Failure::ConnectionLoss) => self.link_lost(),
                AnyReply::Read(stat) if kind == Kind::ReadOwn && stat.owner == self.session => {
                    self.verified = Some(stat.token);
                }
                _ => {}
            }
        }
        let seen = match reply {
            AnyReply::Created(name) => {
                self.answer(ticket, Ok(Reply::Created { name: &name, stat: None }))
            }
            AnyReply::NodeCreated => self.answer(ticket, Ok(Reply::NodeCreated)),
            AnyReply::BarrierPassed => self.answer(ticket, Ok(Reply::BarrierPassed)),
            AnyReply::Children(names) => self.answer(
                ticket,
                Ok(Reply::Children(Children::listed(&mut names.iter().map(String::as_str)))),
            ),
            AnyReply::Read(stat) => self.answer(ticket, Ok(Reply::Read { stat, data: b"data" })),
            AnyReply::Exists(stat) => self.answer(ticket, Ok(Reply::Exists(stat))),
            AnyReply::Written(stat) => self.answer(ticket, Ok(Reply::Written(stat))),
            AnyReply::Deleted => self.answer(ticket, Ok(Reply::Deleted)),
            AnyReply::Committed(name) => {
                let applied = [Applied::Created { name: &name }, Applied::Deleted];
                self.answer(ticket, Ok(Reply::Committed(&mut applied.iter().copied())))
            }
            AnyReply::Failed(failure) => self.answer(ticket, Err(failure)),
        };
        if awaited.is_none() {
            prop_assert_eq!(&self.nominee, &before, "a stale reply changes nothing");
            prop_assert_eq!(seen.notice, None);
            prop_assert!(seen.command.is_none_or(|(ticket, _)| ticket.is_cleanup()));
        }
        self.judge(seen)
    }

    fn answer(&mut self, ticket: Ticket, result: Result<Reply<'_>, Failure>) -> Seen {
        Seen::of(&self.nominee.handle_event(Event::Reply { ticket, result }))
    }

    fn change(&mut self, ticket: Ticket, change: Change) -> Result<(), TestCaseError> {
        let awaited = self.nominee.awaits_change(ticket);
        let before = self.nominee.clone();
        let seen = Seen::of(&self.nominee.handle_event(Event::Changed { ticket, change }));
        if !awaited {
            prop_assert_eq!(&self.nominee, &before, "a stale change changes nothing");
            prop_assert_eq!(seen, Seen::default());
        }
        self.judge(seen)
    }

    fn step(&mut self, event: Event<'_>) -> Result<(), TestCaseError> {
        let seen = Seen::of(&self.nominee.handle_event(event));
        self.judge(seen)
    }

    fn judge(&mut self, seen: Seen) -> Result<(), TestCaseError> {
        if let Some((ticket, kind)) = seen.command {
            prop_assert!(self.session.is_some(), "{:?} while the link is down", kind);
            prop_assert_ne!(kind, Kind::Other);
            if ticket.is_cleanup() {
                prop_assert_eq!(kind, Kind::Delete);
            } else {
                // The reply to a read of the own znode matters no more to a nominee that leaves.
                let is_abandoned = |(_, read): &(Ticket, Kind)| {
                    (*read, kind, self.nominee.role())
                        == (Kind::ReadOwn, Kind::Delete, Role::Leaving)
                };
                let awaited = self.outstanding.filter(|outstanding| !is_abandoned(outstanding));
                prop_assert_eq!(awaited, None, "one at a time");
                prop_assert!(!self.issued.contains(&ticket), "a ticket is used once");
                self.outstanding = Some((ticket, kind));
                let watches = matches!(kind, Kind::ReadOwn | Kind::ReadOther);
                prop_assert_eq!(self.nominee.awaits_change(ticket), watches, "of {:?}", kind);
            }
            self.issued.push(ticket);
        }
        if let Some(notice) = seen.notice {
            self.told = self.told.after(notice, self.verified).map_err(TestCaseError::fail)?;
        }
        let agrees = match self.nominee.role() {
            Role::Leading { .. } => self.told == Told::Leading,
            Role::Suspended { .. } => self.told == Told::Suspended,
            Role::Ended(_) => self.told == Told::Ended && self.outstanding_is_void(),
            _ => self.told == Told::NotLeading,
        };
        prop_assert!(agrees, "{:?}, but told {:?}", self.nominee.role(), self.told);
        Ok(())
    }

    /// Whether the reply that was outstanding at the end may still come, and causes no new request.
    fn outstanding_is_void(&self) -> bool {
        let mut nominee = self.nominee.clone();
        let session = SessionId::new(99);
        Seen::of(&nominee.handle_event(Event::Connected { session })) == Seen::default()
    }
}

/// An output, without its borrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    command: Option<(Ticket, Kind)>,
    notice: Option<Notice>,
}

impl Seen {
    fn of(output: &Output<'_>) -> Self {
        let command = output.command.map(|Command { ticket, op }| {
            let kind = match op {
                Op::Create(_) => Kind::Create,
                Op::CreateNode => Kind::CreateElectionNode,
                Op::Barrier => Kind::Barrier,
                Op::List { .. } => Kind::List,
                Op::Read { watch: Watch::Own, .. } => Kind::ReadOwn,
                Op::Read { watch: Watch::Other, .. } => Kind::ReadOther,
                Op::Read { watch: Watch::None, .. } => Kind::Inspect,
                Op::Delete(_) => Kind::Delete,
                Op::Exists { watch: Watch::None, .. } => Kind::LookForEnd,
                Op::Exists { .. } | Op::Write(_) | Op::Multi(_) => Kind::Other,
            };
            (ticket, kind)
        });
        Self { command, notice: output.notice }
    }
}
