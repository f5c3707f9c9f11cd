//! Whatever comes in whatever order: no panic, one request in flight at most, and one end.

use core::num::NonZeroU32;

use election_core::barrier::{
    Barrier, BarrierTask, DoubleBarrier, DoubleBarrierNotice, DoubleBarrierOptions, WhenUnderWay,
};
use election_core::children::Children;
use election_core::{
    Applied, Change, Event, Failure, NomineeId, Phase, Recipe, Reply, SessionId, Stat, Ticket,
};
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Copy, Debug)]
enum Input {
    Connected(i64),
    Disconnected,
    Expired,
    Look,
    Deadline,
    Withdraw,
    /// To the last command, or to one before it.
    Reply(Answer, u8),
    Changed(Change, u8),
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Created,
    NodeCreated,
    BarrierPassed,
    /// How many others.
    Children(u8),
    Exists(i64, i64),
    Deleted,
    Committed,
    Failed(Failure),
}

fn any_input() -> impl Strategy<Value = Input> {
    let aborted = |part, code| Failure::Aborted { part, code };
    let failures = select(vec![
        Failure::NoNode,
        Failure::NodeExists,
        Failure::NoAuth,
        Failure::BadVersion,
        Failure::Throttled,
        Failure::ConnectionLoss,
        Failure::Unreadable,
        Failure::Rejected(-111),
        aborted(0, -103),
        aborted(0, -101),
        aborted(1, -110),
        aborted(2, -101),
    ]);
    let answer = prop_oneof![
        Just(Answer::Created),
        Just(Answer::NodeCreated),
        Just(Answer::BarrierPassed),
        (0..3_u8).prop_map(Answer::Children),
        (0..3_i64, 1..4_i64).prop_map(|(owner, czxid)| Answer::Exists(owner, czxid)),
        Just(Answer::Deleted),
        Just(Answer::Committed),
        failures.prop_map(Answer::Failed),
    ];
    let changes = vec![Change::Created, Change::Deleted, Change::Data, Change::Lost];
    prop_oneof![
        2 => (1..3_i64).prop_map(Input::Connected),
        1 => Just(Input::Disconnected),
        1 => Just(Input::Expired),
        1 => Just(Input::Look),
        1 => Just(Input::Deadline),
        1 => Just(Input::Withdraw),
        12 => (answer, 0..3_u8).prop_map(|(answer, ago)| Input::Reply(answer, ago / 2)),
        3 => (select(changes), 0..3_u8).prop_map(|(change, ago)| Input::Changed(change, ago)),
    ]
}

/// A recipe, with what it has commanded and told.
struct Bench<R: Recipe> {
    recipe: R,
    tickets: Vec<Ticket>,
    ends: u32,
    is_end: fn(&R::Notice) -> bool,
}

impl<R: Recipe> Bench<R> {
    fn new(recipe: R, is_end: fn(&R::Notice) -> bool) -> Self {
        Self { recipe, tickets: Vec::new(), ends: 0, is_end }
    }

    fn ticket(&self, ago: u8) -> Option<Ticket> {
        self.tickets.iter().rev().nth(usize::from(ago)).copied()
    }

    fn feed(&mut self, input: Input) {
        let was_over = self.recipe.phase() == Phase::Over;
        let ticket = match input {
            Input::Reply(_, ago) | Input::Changed(_, ago) => self.ticket(ago),
            _ => None,
        };
        let all = ["00000000-0000-0000-0000-000000000001", "ffffffffffffffffffffffffffffffff"];
        let mut names = all.iter().copied();
        let mut parts = core::iter::empty::<Applied<'_>>();
        let event = match (input, ticket) {
            (Input::Connected(session), _) => Event::Connected { session: SessionId::new(session) },
            (Input::Disconnected, _) => Event::Disconnected,
            (Input::Expired, _) => Event::SessionExpired,
            (Input::Look, _) => Event::Look,
            (Input::Deadline, _) => Event::Deadline,
            (Input::Changed(change, _), Some(ticket)) => Event::Changed { ticket, change },
            (Input::Reply(answer, _), Some(ticket)) => {
                let result = match answer {
                    Answer::Created => Ok(Reply::Created { name: "barrier", stat: None }),
                    Answer::NodeCreated => Ok(Reply::NodeCreated),
                    Answer::BarrierPassed => Ok(Reply::BarrierPassed),
                    Answer::Children(count) => {
                        for _ in count..2 {
                            names.next();
                        }
                        Ok(Reply::Children(Children::listed(&mut names)))
                    }
                    Answer::Exists(owner, czxid) => Ok(Reply::Exists(Stat::new(owner, czxid, 0))),
                    Answer::Deleted => Ok(Reply::Deleted),
                    Answer::Committed => Ok(Reply::Committed(&mut parts)),
                    Answer::Failed(failure) => Err(failure),
                };
                Event::Reply { ticket, result }
            }
            (Input::Withdraw, _) => {
                let output = self.recipe.withdraw();
                let ended = output.notice.as_ref().is_some_and(self.is_end);
                let asked = output.command.map(|command| command.ticket);
                return self.took(was_over, asked, ended);
            }
            (Input::Reply(..) | Input::Changed(..), None) => return,
        };
        let output = self.recipe.handle_event(event);
        let ended = output.notice.as_ref().is_some_and(self.is_end);
        let asked = output.command.map(|command| command.ticket);
        self.took(was_over, asked, ended);
    }

    fn took(&mut self, was_over: bool, asked: Option<Ticket>, ended: bool) {
        self.ends += u32::from(ended);
        assert!(!was_over || self.recipe.phase() == Phase::Over, "it is over no more");
        assert!(!was_over || asked.is_none(), "it asks for something, and is over");
        let is_at_end = matches!(self.recipe.phase(), Phase::CleaningUp | Phase::Over);
        assert_eq!(self.ends, u32::from(is_at_end), "one end");
        if let Some(ticket) = asked {
            assert!(!self.tickets.contains(&ticket), "a ticket counts once");
            self.tickets.push(ticket);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_events_breaks_a_barrier(
        task in select(vec![
            BarrierTask::Set,
            BarrierTask::Lift,
            BarrierTask::Wait,
            BarrierTask::Ask,
        ]),
        inputs in prop::collection::vec(any_input(), 0..80),
    ) {
        let mut bench = Bench::new(Barrier::new(task), |_| true);
        for input in inputs {
            bench.feed(input);
        }
    }

    #[test]
    fn no_sequence_of_events_breaks_a_double_barrier(
        participants in 1..4_u32,
        inputs in prop::collection::vec(any_input(), 0..160),
    ) {
        let participants = NonZeroU32::new(participants).expect("one at least");
        let when_under_way = WhenUnderWay::Wait;
        let options = DoubleBarrierOptions { participants, when_under_way };
        let recipe = DoubleBarrier::new(NomineeId::from_bytes([7; 16]), options);
        let is_end = |notice: &_| matches!(notice, DoubleBarrierNotice::Ended(_));
        let mut bench = Bench::new(recipe, is_end);
        for input in inputs {
            bench.feed(input);
        }
    }
}
