//! Every order of events for changes to one counter: small enough for a test of the module.

extern crate alloc;
extern crate std;
use alloc::collections::VecDeque;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use std::collections::HashSet;

use super::*;
use crate::event::Stat;
use crate::id::SessionId;

/// A write, and what it expects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Request {
    Read,
    CreateNode,
    Create(Vec<u8>),
    Write(i32, Vec<u8>),
}

/// The data and version of a znode, if it exists.
type Znode = Option<(Vec<u8>, i32)>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Client {
    change: CounterChange,
    is_up: bool,
    request: Option<(Ticket, Request)>,
    in_doubt: Option<Request>,
    end: Option<CounterEnd>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    znode: Znode,
    has_parent: bool,
    clients: Vec<Client>,
    losses: u8,
    /// A write of another kind, which takes no care.
    foreign: u8,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Connect(usize),
    Execute(usize),
    /// It is executed, and the reply lost.
    Lose(usize),
    Drop(usize),
    Apply(usize),
    ForeignAdds,
}

impl World {
    fn new(ops: &[CounterOp], znode: Znode, has_parent: bool, losses: u8, foreign: u8) -> Self {
        let client = |op: &CounterOp| Client {
            change: CounterChange::new(CounterFormat::Decimal, *op),
            is_up: false,
            request: None,
            in_doubt: None,
            end: None,
        };
        Self { znode, has_parent, clients: ops.iter().map(client).collect(), losses, foreign }
    }

    fn value(&self) -> i64 {
        let data = self.znode.as_ref().map_or(&[][..], |(data, _)| data);
        CounterFormat::Decimal.parse(data).unwrap().unwrap_or(0)
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (i, client) in self.clients.iter().enumerate() {
            if client.in_doubt.is_some() {
                steps.push(Step::Apply(i));
            }
            match (&client.end, client.is_up) {
                (Some(_), _) => {}
                (None, false) => steps.push(Step::Connect(i)),
                (None, true) => {
                    steps.push(Step::Execute(i));
                    if self.losses > 0 {
                        steps.extend([Step::Lose(i), Step::Drop(i)]);
                    }
                }
            }
        }
        if self.foreign > 0 {
            steps.push(Step::ForeignAdds);
        }
        steps
    }

    fn write<'a>(&mut self, request: &Request) -> Result<Reply<'a>, Failure> {
        let stat = Stat::new(0, 1, 0);
        match (request, &mut self.znode) {
            (Request::CreateNode, znode) => {
                self.has_parent = true;
                znode.get_or_insert((Vec::new(), 0));
                Ok(Reply::NodeCreated)
            }
            (Request::Create(_), _) if !self.has_parent => Err(Failure::NoNode),
            (Request::Create(_), Some(_)) => Err(Failure::NodeExists),
            (Request::Create(data), znode) => {
                *znode = Some((data.clone(), 0));
                Ok(Reply::Created { name: "counter", stat: None })
            }
            (Request::Write(..), None) => Err(Failure::NoNode),
            (Request::Write(expected, _), Some((_, version))) if expected != version => {
                Err(Failure::BadVersion)
            }
            (Request::Write(_, new), Some((data, version))) => {
                (*data, *version) = (new.clone(), *version + 1);
                Ok(Reply::Written(stat))
            }
            (Request::Read, _) => panic!("it is a read"),
        }
    }

    fn feed(&mut self, i: usize, event: Event<'_>) {
        let client = &mut self.clients[i];
        let output = client.change.handle_event(event);
        client.request = output.command.map(|command| (command.ticket, owned(&command.op)));
        client.end = client.end.or(output.notice);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                self.clients[i].is_up = true;
                self.feed(i, Event::Connected { session: SessionId::new(1) });
            }
            Step::Execute(i) => {
                let (ticket, request) = self.clients[i].request.take().unwrap();
                // By now, the server has executed every earlier request, or never will.
                if request != Request::Read {
                    self.clients[i].in_doubt = None;
                }
                let znode = self.znode.clone();
                let written = (request != Request::Read).then(|| self.write(&request));
                let result = match (written, &znode) {
                    (Some(written), _) => written,
                    (None, None) => Err(Failure::NoNode),
                    (None, Some((data, version))) => {
                        let version = Version::new(*version);
                        let stat = Stat::new(0, 1, version.get());
                        Ok(Reply::Read { stat, data })
                    }
                };
                self.feed(i, Event::Reply { ticket, result });
            }
            Step::Lose(i) | Step::Drop(i) => {
                self.losses -= 1;
                let (_, request) = self.clients[i].request.take().unwrap();
                if request != Request::Read {
                    if let Step::Lose(_) = step {
                        let _ = self.write(&request);
                    } else {
                        self.clients[i].in_doubt = Some(request);
                    }
                }
                self.clients[i].is_up = false;
                self.feed(i, Event::Disconnected);
            }
            Step::Apply(i) => {
                let request = self.clients[i].in_doubt.take().unwrap();
                let _ = self.write(&request);
            }
            Step::ForeignAdds => {
                self.foreign -= 1;
                let after = (self.value() + 100).to_string().into_bytes();
                let version = self.znode.as_ref().map_or(0, |(_, version)| version + 1);
                (self.znode, self.has_parent) = (Some((after, version)), true);
            }
        }
    }

    /// Checks the count: each change was made once if it ended as made, at most once if its end is unknown, and
    /// otherwise not at all.
    fn check_rest(&self, begin: i64, foreign: u8) {
        let (mut least, mut most) = (begin + 100 * i64::from(foreign), 0);
        for client in &self.clients {
            match (client.end.unwrap(), client.change.op) {
                (CounterEnd::Changed { before, after }, CounterOp::Add(number)) => {
                    assert_eq!(after, before + number);
                    least += number;
                }
                (CounterEnd::Unknown { .. }, CounterOp::Add(number)) => most += number,
                (CounterEnd::Value(_), CounterOp::Get) => {}
                (end, op) => panic!("{op:?} ends by {end:?}"),
            }
        }
        let value = self.value();
        assert!((least..=least + most).contains(&value), "{value}: {least} and {most}");
    }
}

fn owned(op: &Op<'_>) -> Request {
    let bytes = |payload| match payload {
        Payload::Bytes(bytes) => Vec::from(bytes),
        other => panic!("{other:?}"),
    };
    match *op {
        Op::Read { .. } => Request::Read,
        Op::CreateNode => Request::CreateNode,
        Op::Create(Create { data, .. }) => Request::Create(bytes(data)),
        Op::Write(Write { version, data, .. }) => Request::Write(version.number(), bytes(data)),
        ref other => panic!("{other:?}"),
    }
}

fn explore(start: World) -> usize {
    let (begin, foreign) = (start.value(), start.foreign);
    let (mut seen, mut queue) = (HashSet::from([start.clone()]), VecDeque::from([start]));
    while let Some(world) = queue.pop_front() {
        let steps = world.steps();
        if steps.is_empty() {
            world.check_rest(begin, foreign);
        }
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
        assert!(seen.len() < 1_000_000);
    }
    seen.len()
}

#[test]
fn every_change_is_made_once_or_is_told_of() {
    use CounterOp::{Add, Get};
    let at = |data: &[u8]| Some((Vec::from(data), 3));
    for (znode, has_parent) in [(None, false), (None, true), (at(b""), true), (at(b"-7"), true)] {
        let world = World::new(&[Add(1), Add(10), Get], znode.clone(), has_parent, 1, 0);
        assert!(explore(world) > 100);
        explore(World::new(&[Add(1), Add(10)], znode.clone(), has_parent, 2, 0));
        explore(World::new(&[Add(1)], znode, has_parent, 2, 1));
    }
}

fn end_of(op: CounterOp, data: &[u8], version: i32) -> Option<CounterEnd> {
    let mut world = World::new(&[op], Some((Vec::from(data), version)), true, 0, 0);
    for step in [Step::Connect(0), Step::Execute(0)] {
        world.take(step);
    }
    world.clients[0].end
}

#[test]
fn what_cannot_be_changed_is_told() {
    let cas = |expected, new| CounterOp::CompareAndSet { expected, new };
    assert_eq!(end_of(cas(4, 5), b"3", 0), Some(CounterEnd::Differs { actual: 3 }));
    assert_eq!(end_of(cas(3, 5), b"3", 0), None, "it is written");
    let failed = |failure| Some(CounterEnd::Failed(failure));
    let overflow = failed(CounterFailure::Overflow(CounterOverflow));
    assert_eq!(end_of(CounterOp::Add(1), b"9223372036854775807", 0), overflow);
    let no_number = failed(CounterFailure::NotANumber(NotANumber::Fraction));
    assert_eq!(end_of(CounterOp::Get, b"1.5", 0), no_number);
    assert_eq!(end_of(CounterOp::Add(1), b"3", -1), failed(CounterFailure::VersionUnusable));
    assert_eq!(end_of(CounterOp::Get, b"3", -1), Some(CounterEnd::Value(3)));
}

/// The reply to what was on its way then is nobody's any more.
#[test]
fn a_change_that_was_given_up_tells_of_no_second_end() {
    let session = SessionId::new(1);
    let mut change = CounterChange::new(CounterFormat::Decimal, CounterOp::Get);
    let command = change.handle_event(Event::Connected { session }).command;
    let ticket = command.map(|sent| sent.ticket).unwrap();
    assert_eq!(change.withdraw().notice, Some(CounterEnd::Withdrawn));
    let result = Ok(Reply::Read { stat: Stat::new(0, 1, 0), data: b"3" });
    let output = change.handle_event(Event::Reply { ticket, result });
    assert!(output.command.is_none());
    assert_eq!(output.notice, None);
    assert_eq!(change.phase(), Phase::Over);
}
