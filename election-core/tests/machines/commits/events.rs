//! Whatever comes in whatever order: no panic, one request in flight at most, and one end.

use election_core::children::Children;
use election_core::commit::{
    CommitSiteNotice, CommitTask, Decision, SiteName, TwoPhaseBegin, TwoPhaseCommit,
};
use election_core::{
    Applied, Change, Event, Failure, NomineeId, Phase, Recipe, Reply, SessionId, Stat, Ticket,
};
use proptest::prelude::*;
use proptest::sample::select;

const ID: NomineeId = NomineeId::from_bytes([1; 16]);

#[derive(Clone, Copy, Debug)]
enum Input {
    Connected(i64),
    Disconnected,
    Expired,
    Look,
    Withdraw,
    /// To the last command, or to one before it.
    Reply(Answer, u8),
    Changed(Change, u8),
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    NodeCreated,
    BarrierPassed,
    /// These of all names.
    Children(u16),
    Exists(i64),
    Deleted,
    Committed,
    Failed(Failure),
}

fn names() -> [String; 10] {
    let [ours, other] = [1, 2].map(|byte| NomineeId::from_bytes([byte; 16]));
    [
        format!("open-{ours}"),
        format!("committed-{ours}"),
        format!("aborted-{other}"),
        "invited-a".into(),
        "joined-a".into(),
        "live-a".into(),
        "commit-a".into(),
        "bound-a".into(),
        "invited-b".into(),
        "stray".into(),
    ]
}

fn any_input() -> impl Strategy<Value = Input> {
    let failures = select(vec![
        Failure::NoNode,
        Failure::NoAuth,
        Failure::Throttled,
        Failure::ConnectionLoss,
        Failure::Unreadable,
        Failure::Aborted { part: 0, code: -101 },
        Failure::Aborted { part: 1, code: -110 },
        Failure::Aborted { part: 1, code: -111 },
        Failure::Aborted { part: 0, code: -102 },
    ]);
    let answer = prop_oneof![
        1 => Just(Answer::NodeCreated),
        3 => Just(Answer::BarrierPassed),
        6 => any::<u16>().prop_map(Answer::Children),
        2 => (0..3_i64).prop_map(Answer::Exists),
        1 => Just(Answer::Deleted),
        4 => Just(Answer::Committed),
        3 => failures.prop_map(Answer::Failed),
    ];
    let changes = vec![Change::Created, Change::Deleted, Change::Children, Change::Lost];
    prop_oneof![
        2 => (1..3_i64).prop_map(Input::Connected),
        1 => Just(Input::Disconnected),
        1 => Just(Input::Expired),
        1 => Just(Input::Look),
        1 => Just(Input::Withdraw),
        16 => (answer, 0..3_u8).prop_map(|(answer, ago)| Input::Reply(answer, ago / 2)),
        3 => (select(changes), 0..3_u8).prop_map(|(change, ago)| Input::Changed(change, ago)),
    ]
}

fn any_task() -> impl Strategy<Value = CommitTask> {
    let site = SiteName::new("a").expect("a name");
    select(vec![
        CommitTask::Find,
        CommitTask::Join(site.clone()),
        CommitTask::Vote(site.clone(), Decision::Commit),
        CommitTask::Vote(site.clone(), Decision::Abort),
        CommitTask::Decide,
        CommitTask::Learn,
        CommitTask::Abort,
        CommitTask::Acknowledge(site),
        CommitTask::Finish,
    ])
}

/// A recipe, with what it has commanded and told.
struct Bench<R: Recipe> {
    recipe: R,
    tickets: Vec<Ticket>,
    /// That of the request that awaits its reply.
    in_flight: Option<Ticket>,
    ends: u32,
    is_end: fn(&R::Notice) -> bool,
}

impl<R: Recipe> Bench<R> {
    fn new(recipe: R, is_end: fn(&R::Notice) -> bool) -> Self {
        Self { recipe, tickets: Vec::new(), in_flight: None, ends: 0, is_end }
    }

    fn feed(&mut self, input: Input) {
        let ticket = |ago: u8| self.tickets.iter().rev().nth(usize::from(ago)).copied();
        let ticket = match input {
            Input::Reply(_, ago) | Input::Changed(_, ago) => ticket(ago),
            _ => None,
        };
        match input {
            Input::Connected(_) | Input::Disconnected | Input::Expired => self.in_flight = None,
            Input::Reply(..) if ticket.is_some() && ticket == self.in_flight => {
                self.in_flight = None;
            }
            _ => {}
        }
        let all = names();
        let mut listed = all.iter().enumerate().filter_map(|(place, name)| match input {
            Input::Reply(Answer::Children(some), _) => {
                (some & 1 << place != 0).then_some(name.as_str())
            }
            _ => None,
        });
        let mut parts = core::iter::empty::<Applied<'_>>();
        let output = match (input, ticket) {
            (Input::Connected(session), _) => {
                let session = SessionId::new(session);
                self.recipe.handle_event(Event::Connected { session })
            }
            (Input::Disconnected, _) => self.recipe.handle_event(Event::Disconnected),
            (Input::Expired, _) => self.recipe.handle_event(Event::SessionExpired),
            (Input::Look, _) => self.recipe.handle_event(Event::Look),
            (Input::Withdraw, _) => self.recipe.withdraw(),
            (Input::Changed(change, _), Some(ticket)) => {
                self.recipe.handle_event(Event::Changed { ticket, change })
            }
            (Input::Reply(answer, _), Some(ticket)) => {
                let result = match answer {
                    Answer::NodeCreated => Ok(Reply::NodeCreated),
                    Answer::BarrierPassed => Ok(Reply::BarrierPassed),
                    Answer::Children(_) => Ok(Reply::Children(Children::listed(&mut listed))),
                    Answer::Exists(owner) => Ok(Reply::Exists(Stat::new(owner, 1, 0))),
                    Answer::Deleted => Ok(Reply::Deleted),
                    Answer::Committed => Ok(Reply::Committed(&mut parts)),
                    Answer::Failed(failure) => Err(failure),
                };
                self.recipe.handle_event(Event::Reply { ticket, result })
            }
            _ => return,
        };
        self.ends += u32::from(output.notice.as_ref().is_some_and(self.is_end));
        if let Some(command) = output.command {
            assert_eq!(self.in_flight, None, "one request at a time");
            self.in_flight = Some(command.ticket);
            self.tickets.push(command.ticket);
        }
        let is_over = self.recipe.phase() == Phase::Over;
        assert_eq!(self.ends, u32::from(is_over), "one end, and then it is over");
    }
}

proptest! {
    #[test]
    fn a_party_takes_whatever_comes(
        task in any_task(),
        knows in any::<bool>(),
        inputs in prop::collection::vec(any_input(), 0..80),
    ) {
        let party = TwoPhaseCommit::new(task, knows.then_some(ID));
        let is_end = |told: &CommitSiteNotice| matches!(told, CommitSiteNotice::Ended(_));
        let mut bench = Bench::new(party, is_end);
        for input in inputs {
            bench.feed(input);
        }
    }

    #[test]
    fn a_beginner_takes_whatever_comes(inputs in prop::collection::vec(any_input(), 0..80)) {
        let sites = ["a", "b"].map(|site| SiteName::new(site).expect("a name"));
        let mut bench = Bench::new(TwoPhaseBegin::new(ID, sites).expect("two"), |_| true);
        for input in inputs {
            bench.feed(input);
        }
    }
}
