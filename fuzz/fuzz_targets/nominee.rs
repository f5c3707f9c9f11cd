//! The election machine, fed any events in any order: answers to requests that it made and that it
//! did not, names that are none, watches that fire although it has set none. It never panics, it
//! asks for one thing at a time, and it ends once.

#![no_main]
#![forbid(unsafe_code)]

use arbitrary::Arbitrary;
use election_core::children::Children;
use election_core::election::{ElectionNode, NodeKind, Nominee, Notice, OnLoss, Policy, Role};
use election_core::{
    Applied, Change, Delete, Event, Failure, Hold, NomineeId, Op, Output, Phase, Recipe, Reply,
    SessionId, Stat, Ticket, Watch, Znode,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Script {
    /// Goes on for an earlier nominee.
    returns: bool,
    stands_again: bool,
    has_lock_delay: bool,
    creates_election_node: bool,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Connected {
        session: i8,
    },
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Deadline,
    Withdraw,
    /// Answers the last command, or an earlier one.
    Answer {
        age: u8,
        answer: Answer,
    },
    Changed {
        age: u8,
        change: Told,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Told {
    Created,
    Deleted,
    Data,
    Children,
    Lost,
}

impl From<Told> for Change {
    fn from(told: Told) -> Self {
        match told {
            Told::Created => Self::Created,
            Told::Deleted => Self::Deleted,
            Told::Data => Self::Data,
            Told::Children => Self::Children,
            Told::Lost => Self::Lost,
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Answer {
    Created(Name),
    NodeCreated,
    BarrierPassed,
    Children(Vec<Name>),
    Read {
        stat: AnyStat,
        data: Vec<u8>,
    },
    Exists(AnyStat),
    Written(AnyStat),
    Deleted,
    /// Creates under these names.
    Committed(Vec<Name>),
    Failed {
        code: i8,
    },
    Aborted {
        part: u8,
        code: i8,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct AnyStat {
    owner: i8,
    czxid: i8,
    version: i8,
}

impl From<AnyStat> for Stat {
    fn from(stat: AnyStat) -> Self {
        Self::new(stat.owner.into(), stat.czxid.into(), stat.version.into())
    }
}

/// A name that fits the election, or any.
#[derive(Arbitrary, Debug)]
enum Name {
    Candidate { nominee: u8, sequence: i32 },
    Any(String),
}

impl Name {
    fn text(&self) -> String {
        match self {
            Self::Candidate { nominee, sequence } => {
                format!(
                    "{}{sequence:010}",
                    id(*nominee % 3).candidate_prefix((*nominee / 3 % 4).into())
                )
            }
            Self::Any(name) => name.clone(),
        }
    }
}

fn id(nominee: u8) -> NomineeId {
    NomineeId::from_bytes([nominee; 16])
}

/// The requests so far, and how often the end was told.
#[derive(Default)]
struct Record {
    link: Link,
    tickets: Vec<Ticket>,
    /// The read that the last event led to, if it leaves a watch.
    watching: Option<Ticket>,
    ends: usize,
}

/// An answer may have taken the link down, so that it is up is not known.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Link {
    #[default]
    Down,
    PerhapsUp,
}

impl Record {
    fn note(&mut self, output: &Output<'_>) {
        self.watching = None;
        if let Some(command) = output.command {
            assert!(self.link == Link::PerhapsUp, "asked for without a link");
            let child = match command.op {
                Op::Delete(Delete { znode, .. }) | Op::Read { znode, .. } => Some(znode),
                _ => None,
            };
            match child {
                Some(Znode::Child(name)) => {
                    let name = name.text();
                    assert!(!name.is_empty() && !name.contains('/'), "not a child: {name:?}");
                }
                None => {}
                other => panic!("not a child: {other:?}"),
            }
            if matches!(command.op, Op::Read { watch: Watch::Own | Watch::Other, .. }) {
                self.watching = Some(command.ticket);
            }
            self.tickets.push(command.ticket);
        }
        assert!(self.ends == 0 || output.notice.is_none(), "something after the end");
        self.ends += usize::from(matches!(output.notice, Some(Notice::Ended(_))));
    }

    fn ticket(&self, age: u8) -> Option<Ticket> {
        self.tickets.iter().rev().nth(usize::from(age)).copied()
    }
}

fuzz_target!(|script: Script| {
    let policy = Policy {
        on_loss: if script.stands_again { OnLoss::StandAgain } else { OnLoss::End },
        election_node: if script.creates_election_node {
            ElectionNode::Create(NodeKind::Persistent)
        } else {
            ElectionNode::MustExist
        },
        lock_delay: core::time::Duration::from_secs(u64::from(script.has_lock_delay)),
    };
    let mut nominee = if script.returns {
        Nominee::returning(id(0), 1, policy)
    } else {
        Nominee::new(id(0), policy)
    };
    let mut record = Record::default();
    for step in &script.steps {
        match step {
            Step::Connected { .. } => record.link = Link::PerhapsUp,
            Step::Disconnected | Step::SessionExpired => record.link = Link::Down,
            _ => {}
        }
        take(&mut nominee, &mut record, step);
        let leads = nominee.hold() != Hold::None;
        assert_eq!(leads, matches!(nominee.role(), Role::Leading { .. } | Role::Suspended { .. }));
        assert!(!leads || nominee.heartbeat().is_some(), "a leader needs a lease");
        assert_eq!(matches!(nominee.role(), Role::Ended(_)), record.ends == 1);
        if let Some(ticket) = record.watching {
            assert!(nominee.awaits_change(ticket), "the watch of a read in flight is wanted");
        }
        let is_over = matches!(nominee.phase(), Phase::CleaningUp | Phase::Over);
        assert_eq!(is_over, record.ends == 1);
    }
});

fn take(nominee: &mut Nominee, record: &mut Record, step: &Step) {
    let names;
    let mut children;
    let mut applied;
    let event = match step {
        Step::Connected { session } => {
            Event::Connected { session: SessionId::new((*session).into()) }
        }
        Step::Disconnected => Event::Disconnected,
        Step::SessionExpired => Event::SessionExpired,
        Step::LeaseLapsed => Event::LeaseLapsed,
        Step::Look => Event::Look,
        Step::Deadline => Event::Deadline,
        Step::Withdraw => return record.note(&nominee.withdraw()),
        Step::Changed { age, change } => {
            let Some(ticket) = record.ticket(*age) else { return };
            let before = (!nominee.awaits_change(ticket)).then(|| nominee.clone());
            record.note(&nominee.handle_event(Event::Changed { ticket, change: (*change).into() }));
            if let Some(before) = before {
                assert_eq!(*nominee, before, "a change that is not awaited changes nothing");
            }
            return;
        }
        Step::Answer { age, answer } => {
            let Some(ticket) = record.ticket(*age) else { return };
            names = match answer {
                Answer::Created(name) => vec![name.text()],
                Answer::Children(names) | Answer::Committed(names) => {
                    names.iter().map(Name::text).collect()
                }
                _ => Vec::new(),
            };
            children = names.iter().map(String::as_str);
            applied = names.iter().map(|name| Applied::Created { name });
            let result = match answer {
                Answer::Created(_) => Ok(Reply::Created {
                    name: names.first().map_or("", String::as_str),
                    stat: None,
                }),
                Answer::NodeCreated => Ok(Reply::NodeCreated),
                Answer::BarrierPassed => Ok(Reply::BarrierPassed),
                Answer::Children(_) => Ok(Reply::Children(Children::listed(&mut children))),
                Answer::Read { stat, data } => Ok(Reply::Read { stat: (*stat).into(), data }),
                Answer::Exists(stat) => Ok(Reply::Exists((*stat).into())),
                Answer::Written(stat) => Ok(Reply::Written((*stat).into())),
                Answer::Deleted => Ok(Reply::Deleted),
                Answer::Committed(_) => Ok(Reply::Committed(&mut applied)),
                Answer::Failed { code } => Err(Failure::from_code((*code).into())),
                Answer::Aborted { part, code } => {
                    Err(Failure::Aborted { part: (*part).into(), code: (*code).into() })
                }
            };
            Event::Reply { ticket, result }
        }
    };
    record.note(&nominee.handle_event(event));
}
