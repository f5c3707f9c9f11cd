//! Whatever comes in whatever order: no panic, one request in flight at most, and one end.

use election_core::group::{
    Member, MemberNotice, MemberOptions, NameOrigin, WhenEvicted, WhenTaken,
};
use election_core::{Change, Event, Failure, Phase, Recipe as _, Reply, SessionId, Stat, Ticket};
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Copy, Debug)]
enum Input {
    Connected(i64),
    Disconnected,
    Expired,
    Look,
    SetData,
    Withdraw,
    /// To the last command, or to one before it.
    Reply(Answer, u8),
    Changed(Change, u8),
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Created(i64),
    NodeCreated,
    BarrierPassed,
    Exists(i64, i64),
    Written(i64),
    Deleted,
    Failed(Failure),
}

fn any_input() -> impl Strategy<Value = Input> {
    let failures = select(vec![
        Failure::NoNode,
        Failure::NodeExists,
        Failure::NoAuth,
        Failure::BadVersion,
        Failure::Throttled,
        Failure::ConnectionLoss,
        Failure::Unreadable,
        Failure::Rejected(-111),
    ]);
    let answer = prop_oneof![
        (0..3_i64).prop_map(Answer::Created),
        Just(Answer::NodeCreated),
        Just(Answer::BarrierPassed),
        (0..3_i64, 1..4_i64).prop_map(|(owner, czxid)| Answer::Exists(owner, czxid)),
        (0..3_i64).prop_map(Answer::Written),
        Just(Answer::Deleted),
        failures.prop_map(Answer::Failed),
    ];
    let changes = vec![Change::Created, Change::Deleted, Change::Data, Change::Lost];
    prop_oneof![
        2 => (1..3_i64).prop_map(Input::Connected),
        1 => Just(Input::Disconnected),
        1 => Just(Input::Expired),
        1 => Just(Input::Look),
        1 => Just(Input::SetData),
        1 => Just(Input::Withdraw),
        12 => (answer, 0..3_u8).prop_map(|(answer, ago)| Input::Reply(answer, ago / 2)),
        3 => (select(changes), 0..3_u8).prop_map(|(change, ago)| Input::Changed(change, ago)),
    ]
}

struct Bench {
    member: Member<&'static str, Vec<u8>>,
    tickets: Vec<Ticket>,
    ends: u32,
}

impl Bench {
    fn feed(&mut self, input: Input) {
        let was_over = self.member.phase() == Phase::Over;
        let ago = match input {
            Input::Reply(_, ago) | Input::Changed(_, ago) => ago,
            _ => 0,
        };
        let ticket = self.tickets.iter().rev().nth(usize::from(ago)).copied();
        let event = match (input, ticket) {
            (Input::Connected(session), _) => Event::Connected { session: SessionId::new(session) },
            (Input::Disconnected, _) => Event::Disconnected,
            (Input::Expired, _) => Event::SessionExpired,
            (Input::Look, _) => Event::Look,
            (Input::SetData, _) => {
                self.member.set_data(vec![1]);
                Event::Deadline
            }
            (Input::Changed(change, _), Some(ticket)) => Event::Changed { ticket, change },
            (Input::Reply(answer, _), Some(ticket)) => {
                let result = match answer {
                    Answer::Created(owner) => {
                        Ok(Reply::Created { name: "x", stat: Some(Stat::new(owner, 5, 0)) })
                    }
                    Answer::NodeCreated => Ok(Reply::NodeCreated),
                    Answer::BarrierPassed => Ok(Reply::BarrierPassed),
                    Answer::Exists(owner, czxid) => Ok(Reply::Exists(Stat::new(owner, czxid, 0))),
                    Answer::Written(owner) => Ok(Reply::Written(Stat::new(owner, 5, 1))),
                    Answer::Deleted => Ok(Reply::Deleted),
                    Answer::Failed(failure) => Err(failure),
                };
                Event::Reply { ticket, result }
            }
            (Input::Withdraw, _) => {
                let output = self.member.withdraw();
                let ended = matches!(output.notice, Some(MemberNotice::Ended(_)));
                let asked = output.command.map(|command| command.ticket);
                return self.took(was_over, asked, ended);
            }
            (Input::Reply(..) | Input::Changed(..), None) => return,
        };
        let output = self.member.handle_event(event);
        let ended = matches!(output.notice, Some(MemberNotice::Ended(_)));
        let asked = output.command.map(|command| command.ticket);
        self.took(was_over, asked, ended);
    }

    fn took(&mut self, was_over: bool, asked: Option<Ticket>, ended: bool) {
        self.ends += u32::from(ended);
        assert!(!was_over || self.member.phase() == Phase::Over, "it is over no more");
        assert!(!was_over || asked.is_none(), "it asks for something, and is over");
        let is_at_end = matches!(self.member.phase(), Phase::CleaningUp | Phase::Over);
        assert_eq!(self.ends, u32::from(is_at_end), "one end");
        if let Some(ticket) = asked {
            assert!(!self.tickets.contains(&ticket), "a ticket counts once");
            self.tickets.push(ticket);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_events_breaks_a_member(
        name in select(vec![NameOrigin::Given, NameOrigin::Random]),
        when_taken in select(vec![WhenTaken::Wait, WhenTaken::GiveUp]),
        when_evicted in select(vec![WhenEvicted::Rejoin, WhenEvicted::End]),
        inputs in prop::collection::vec(any_input(), 0..120),
    ) {
        let options = MemberOptions { name, when_taken, when_evicted, ..MemberOptions::default() };
        let member = Member::new("x", Vec::new(), options);
        let mut bench = Bench { member, tickets: Vec::new(), ends: 0 };
        for input in inputs {
            bench.feed(input);
        }
    }
}
