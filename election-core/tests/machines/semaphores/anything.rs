//! Events in any order at all, also those that no driver would feed.

use core::num::NonZeroU32;

use election_core::children::Children;
use election_core::lock::{LockNotice, WhenBusy};
use election_core::semaphore::{Semaphore, SemaphoreOptions};
use election_core::{
    Change, Command, Create, Event, Failure, Hold, NewZnode, NomineeId, Op, Output, Phase,
    Recipe as _, Reply, SessionId, Stat, Ticket,
};
use proptest::prelude::*;
use proptest::sample::Index;

/// What a contender asks for.
#[derive(Clone, Debug)]
enum Request {
    /// With the beginning of the name.
    Create(String),
    CreateHome,
    CreateNode,
    Barrier,
    List,
    Read,
    Delete,
}

impl Request {
    fn of(command: &Command<'_>) -> Self {
        match command.op {
            Op::Create(Create { znode: NewZnode::Grandchild { prefix, .. }, .. }) => {
                Self::Create(prefix.to_string())
            }
            Op::Create(_) => Self::CreateHome,
            Op::CreateNode => Self::CreateNode,
            Op::Barrier => Self::Barrier,
            Op::List { .. } => Self::List,
            // The look at a foreign child: only arbitrary replies cause one.
            Op::Read { .. } | Op::Exists { .. } => Self::Read,
            Op::Delete(_) => Self::Delete,
            other => panic!("no semaphore asks for {other:?}"),
        }
    }

    /// Whether a release may give up the request: a read of the own znode.
    const fn can_be_abandoned(&self) -> bool {
        matches!(self, Self::Read)
    }
}

#[derive(Clone, Debug)]
enum Input {
    Connected(i64),
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Deadline,
    Withdraw,
    /// The answer that the request in flight awaits, by the server's own number.
    Fitting {
        others: usize,
        token: i64,
    },
    Reply(Index, AnyReply),
    Changed(Index, Change),
}

#[derive(Clone, Debug)]
enum AnyReply {
    Created(String),
    NodeCreated,
    BarrierPassed,
    Children(Vec<String>),
    Read(Option<i64>, i64),
    Deleted,
    Failed(Failure),
}

const UUID: &str = "11111111-1111-1111-1111-1111111111";

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        (0x11..0x14_u8, 0..4_u32)
            .prop_map(|(last, at)| format!("_c_{UUID}{last:02x}-lease-{at:010}")),
        (0x11..0x14_u8, 0..4_u32)
            .prop_map(|(last, at)| format!("_c_{UUID}{last:02x}-lock-{at:010}")),
        Just(format!("_c_{UUID}11-lease-2147483647")),
        Just("x".repeat(70)),
        ".{0,12}",
    ]
}

fn any_reply() -> impl Strategy<Value = AnyReply> {
    let failure = prop_oneof![
        Just(Failure::NoNode),
        Just(Failure::NodeExists),
        Just(Failure::BadVersion),
        Just(Failure::NoAuth),
        Just(Failure::Throttled),
        Just(Failure::ConnectionLoss),
        Just(Failure::Rejected(-111)),
        Just(Failure::Unreadable),
        Just(Failure::TooLarge),
    ];
    prop_oneof![
        any_name().prop_map(AnyReply::Created),
        Just(AnyReply::NodeCreated),
        Just(AnyReply::BarrierPassed),
        prop::collection::vec(any_name(), 0..4).prop_map(AnyReply::Children),
        (prop::option::of(0..3_i64), 1..9_i64)
            .prop_map(|(owner, token)| AnyReply::Read(owner, token)),
        Just(AnyReply::Deleted),
        failure.prop_map(AnyReply::Failed),
    ]
}

fn any_input() -> impl Strategy<Value = Input> {
    let change = prop_oneof![
        Just(Change::Deleted),
        Just(Change::Children),
        Just(Change::Data),
        Just(Change::Lost)
    ];
    prop_oneof![
        4 => (1..3_i64).prop_map(Input::Connected),
        1 => Just(Input::Disconnected),
        1 => Just(Input::SessionExpired),
        1 => Just(Input::LeaseLapsed),
        2 => Just(Input::Look),
        1 => (0..6_u8).prop_map(|n| if n == 0 { Input::Deadline } else { Input::Look }),
        1 => (0..6_u8).prop_map(|n| if n == 0 { Input::Withdraw } else { Input::Look }),
        30 => (0..3_usize, 1..9_i64).prop_map(|(others, token)| Input::Fitting { others, token }),
        4 => (any::<Index>(), any_reply()).prop_map(|(at, reply)| Input::Reply(at, reply)),
        4 => (any::<Index>(), change).prop_map(|(at, change)| Input::Changed(at, change)),
    ]
}

/// One contender, and what it was seen to do.
struct Bench {
    semaphore: Semaphore,
    tickets: Vec<Ticket>,
    in_flight: Option<(Ticket, Request)>,
    session: i64,
    is_up: bool,
    has_ended: bool,
    created: u32,
}

impl Bench {
    fn feed(&mut self, event: Event<'_>) -> Result<(), TestCaseError> {
        let mut semaphore = self.semaphore.clone();
        let output = semaphore.handle_event(event);
        self.judge(&output)?;
        self.semaphore = semaphore;
        self.judge_state()
    }

    fn judge(&mut self, output: &Output<'_, LockNotice>) -> Result<(), TestCaseError> {
        if let Some(notice) = output.notice {
            prop_assert!(!self.has_ended, "{:?} after the end", notice);
            self.has_ended = matches!(notice, LockNotice::Ended(_));
        }
        let Some(command) = output.command else { return Ok(()) };
        let request = Request::of(&command);
        prop_assert!(self.is_up, "{:?} without a link", request);
        if !command.ticket.is_cleanup() {
            prop_assert!(!self.tickets.contains(&command.ticket), "{} again", command.ticket);
            let is_free = self.in_flight.as_ref().is_none_or(|(_, other)| other.can_be_abandoned());
            prop_assert!(is_free, "{:?} beside {:?}", request, self.in_flight);
            self.tickets.push(command.ticket);
            self.in_flight = Some((command.ticket, request));
        }
        Ok(())
    }

    fn judge_state(&self) -> Result<(), TestCaseError> {
        let semaphore = &self.semaphore;
        let is_over = matches!(semaphore.phase(), Phase::CleaningUp | Phase::Over);
        prop_assert_eq!(is_over, self.has_ended);
        if semaphore.hold() != Hold::None {
            prop_assert!(semaphore.znode().is_some() && semaphore.heartbeat().is_some());
        }
        Ok(())
    }

    fn put(&mut self, input: Input) -> Result<(), TestCaseError> {
        match input {
            Input::Connected(session) => {
                (self.is_up, self.session, self.in_flight) = (true, session, None);
                self.feed(Event::Connected { session: SessionId::new(session) })
            }
            Input::Disconnected => {
                (self.is_up, self.in_flight) = (false, None);
                self.feed(Event::Disconnected)
            }
            Input::SessionExpired => {
                (self.is_up, self.in_flight) = (false, None);
                self.feed(Event::SessionExpired)
            }
            Input::LeaseLapsed => self.feed(Event::LeaseLapsed),
            Input::Look => self.feed(Event::Look),
            Input::Deadline => self.feed(Event::Deadline),
            Input::Withdraw => {
                let mut semaphore = self.semaphore.clone();
                let output = semaphore.withdraw();
                self.judge(&output)?;
                self.semaphore = semaphore;
                self.judge_state()
            }
            Input::Fitting { others, token } => self.fit(others, token),
            Input::Reply(at, reply) => {
                if self.tickets.is_empty() {
                    return Ok(());
                }
                let ticket = *at.get(&self.tickets);
                self.reply(ticket, &reply)
            }
            Input::Changed(at, change) => {
                if self.tickets.is_empty() {
                    return Ok(());
                }
                let ticket = *at.get(&self.tickets);
                self.feed(Event::Changed { ticket, change })
            }
        }
    }

    fn fit(&mut self, others: usize, token: i64) -> Result<(), TestCaseError> {
        let Some((ticket, request)) = self.in_flight.clone() else {
            return Ok(());
        };
        let others =
            ["x".to_owned(), format!("_c_{UUID}99-lock-0000000000")].into_iter().take(others);
        let own = self.semaphore.znode().into_iter().chain(self.semaphore.turn_znode());
        let own = own.map(ToString::to_string);
        let reply = match request {
            Request::Create(prefix) => {
                self.created += 1;
                AnyReply::Created(format!("{prefix}{:010}", self.created))
            }
            Request::CreateHome => AnyReply::Created("home".to_owned()),
            Request::CreateNode => AnyReply::NodeCreated,
            Request::Barrier => AnyReply::BarrierPassed,
            Request::List => AnyReply::Children(own.chain(others).collect()),
            Request::Read => AnyReply::Read(Some(self.session), token / 8),
            Request::Delete => AnyReply::Deleted,
        };
        self.reply(ticket, &reply)
    }

    fn reply(&mut self, ticket: Ticket, reply: &AnyReply) -> Result<(), TestCaseError> {
        if self.in_flight.as_ref().is_some_and(|(awaited, _)| *awaited == ticket) {
            self.in_flight = None;
            if let AnyReply::Failed(Failure::ConnectionLoss) = reply {
                self.is_up = false;
            }
        } else if let AnyReply::Failed(Failure::ConnectionLoss) = reply {
            // Of one that is awaited no more.
            return Ok(());
        }
        let stat = |owner: Option<i64>, token: i64| Stat::new(owner.unwrap_or(0), token, 0);
        let mut names;
        let result = match reply {
            AnyReply::Created(name) => {
                Ok(Reply::Created { name, stat: Some(stat(Some(self.session), 1)) })
            }
            AnyReply::NodeCreated => Ok(Reply::NodeCreated),
            AnyReply::BarrierPassed => Ok(Reply::BarrierPassed),
            AnyReply::Children(children) => {
                names = children.iter().map(String::as_str);
                Ok(Reply::Children(Children::listed(&mut names)))
            }
            AnyReply::Read(owner, token) => {
                Ok(Reply::Read { stat: stat(*owner, *token), data: &[] })
            }
            AnyReply::Deleted => Ok(Reply::Deleted),
            AnyReply::Failed(failure) => Err(*failure),
        };
        self.feed(Event::Reply { ticket, result })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// No panic, one request in flight, one end and nothing told after it, and nothing held without a
    /// znode.
    #[test]
    fn no_sequence_of_events_breaks_a_semaphore(
        inputs in prop::collection::vec(any_input(), 0..150),
        permits in 1..3_u32,
        is_tried in any::<bool>(),
    ) {
        let when_busy = if is_tried { WhenBusy::GiveUp } else { WhenBusy::Wait };
        let permits = NonZeroU32::new(permits).expect("a permit");
        let options = SemaphoreOptions { when_busy, ..SemaphoreOptions::new(permits) };
        let mut bench = Bench {
            semaphore: Semaphore::new(NomineeId::from_bytes([0x11; 16]), options),
            tickets: Vec::new(),
            in_flight: None,
            session: 1,
            is_up: false,
            has_ended: false,
            created: 0,
        };
        for input in inputs {
            bench.put(input)?;
        }
    }
}
