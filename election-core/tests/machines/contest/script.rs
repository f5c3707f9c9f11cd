//! For tests that decide each step: what clients ask for, one request after the other, and what they are told.

use election_core::election::{Cause, Notice, Policy, Role};
use election_core::{Event, Failure, SessionId, Watch};

use super::budget::NO_FAULTS;
use super::candidates::Candidate;
use super::names::Name;
use super::{Budget, Contender, Contest, World};
use crate::lab::{self, ANY_NUMBER, Change, Effect, Request, Step, Znode};

/// What clients were told and asked for since the test last looked.
#[derive(Clone, Debug, Default, Hash)]
pub struct Record {
    /// By which client.
    pub notices: Vec<(usize, Notice)>,
    pub creates: Vec<usize>,
}

/// What a contender asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// By which attempt.
    Create(u32),
    CreateNode,
    Barrier,
    List,
    /// Which leaves a watch, if the znode exists.
    Read(Name),
    /// A read that leaves no watch.
    Inspect(Name),
    /// Which needs no permission, and leaves a watch.
    Exists(Name),
    /// The same without a watch.
    LookAt(Name),
    /// Which version, or any.
    Delete(Name, Option<i32>),
}

impl Asked {
    fn of(request: &Request<Name>) -> Self {
        match *request {
            Request::Single(Change::Create(Name::New(_, _, attempt), Some(_), _)) => {
                Self::Create(attempt)
            }
            Request::CreateNode => Self::CreateNode,
            Request::Barrier => Self::Barrier,
            Request::List(Name::Node, Watch::None) => Self::List,
            Request::Read(name, Watch::None) => Self::Inspect(name),
            Request::Read(name, _) => Self::Read(name),
            Request::Exists(name, Watch::None) => Self::LookAt(name),
            Request::Exists(name, _) => Self::Exists(name),
            Request::Single(Change::Delete(name, version)) => Self::Delete(name, version),
            ref other => panic!("no contender asks for {other:?}"),
        }
    }
}

impl World {
    /// Lets the test take each fault as often as it likes, and records what comes of it. No server is too far behind.
    pub fn scripted(self) -> Self {
        let mut world = self.lagging(100);
        world.budget = lab::Budget {
            losses: ANY_NUMBER,
            expiries: ANY_NUMBER,
            swaps: ANY_NUMBER,
            withdrawals: ANY_NUMBER,
            lapses: ANY_NUMBER,
            looks: ANY_NUMBER,
            refusals: ANY_NUMBER,
            deletions: ANY_NUMBER,
            writes: ANY_NUMBER,
            bars: ANY_NUMBER,
            ..lab::NONE
        };
        world.model.budget = Budget { handovers: 1, wipes: 1, ..NO_FAULTS };
        world.model.record = Some(Record::default());
        world
    }

    /// Makes a world of connected clients at rest; they stand in their order.
    pub fn at_rest(clients: usize, policy: Policy) -> Self {
        Self::with_policy(clients, NO_FAULTS, policy).scripted().settled()
    }

    /// Takes steps until the next request is one that `is_next`.
    pub fn run_until(&mut self, i: usize, is_next: impl Fn(Asked) -> bool) {
        for _ in 0..100 {
            if self.next_request(i).is_some_and(&is_next) {
                return;
            }
            let step = self.next_of(i).expect("something is on its way");
            self.take(step);
        }
        panic!("the request never comes");
    }

    fn next_request(&self, i: usize) -> Option<Asked> {
        self.clients[i].requests.front().map(|sent| Asked::of(&sent.request))
    }

    fn next_of(&self, i: usize) -> Option<Step<Contest>> {
        let client = &self.clients[i];
        if self.has_news(i) {
            return Some(Step::Apply(i));
        }
        let next = client.requests.front().filter(|_| client.is_up())?;
        let newest = Step::ReadAt(i, self.server.end());
        Some(if next.request.reads() { newest } else { Step::Execute(i) })
    }

    /// Whether the client's server has something for it.
    pub fn has_news(&self, i: usize) -> bool {
        self.clients[i].next_heard(&self.server).is_some()
    }

    /// Returns the requests that the client sends until it comes to rest.
    pub fn requests_until_rest(&mut self, i: usize) -> Vec<Asked> {
        let mut asked = Vec::new();
        while let Some(step) = self.next_of(i) {
            assert!(asked.len() < 100, "never comes to rest: {asked:?}");
            if !matches!(step, Step::Apply(_)) {
                asked.extend(self.next_request(i));
            }
            self.take(step);
        }
        assert_eq!(self.fault, None, "a broken law");
        asked
    }

    /// Takes every step that is no fault, until none is left; no server lags.
    pub fn settle(&mut self) {
        let mut taken = Vec::new();
        if let Err(fault) = self.settled_calmly(&mut taken) {
            panic!("{fault}, after {taken:?}");
        }
    }

    /// The same, and notes the steps.
    pub fn settled_calmly(&mut self, taken: &mut Vec<Step<Contest>>) -> Result<(), String> {
        for _ in 0..10_000 {
            let Some((step, _)) = self.steps().into_iter().find(|(_, is_calm)| *is_calm) else {
                return Ok(());
            };
            // The server's messages to a client come before its reads.
            let step = match step {
                Step::ReadAt(i, _) => Step::ReadAt(i, self.server.end()),
                step => step,
            };
            self.take(step);
            taken.push(step);
            if let Some(fault) = &self.fault {
                return Err(fault.clone());
            }
        }
        Err("never comes to rest".into())
    }

    pub fn role(&self, i: usize) -> Role<'_> {
        self.clients[i].role()
    }

    /// The name of the client's znode.
    pub fn own(&self, i: usize) -> Name {
        Name::Candidate(self.clients[i].candidate().expect("a candidate"))
    }

    /// The only candidate that stands.
    pub fn only(&self) -> (Name, Znode) {
        let mut all = self.candidates();
        let (Some((name, znode)), None) = (all.next(), all.next()) else { panic!("one candidate") };
        (Name::Candidate(name), *znode)
    }

    pub fn standing(&self) -> usize {
        self.candidates().count()
    }

    fn record(&mut self) -> &mut Record {
        self.model.record.as_mut().expect("a world that is scripted")
    }

    /// Returns the client's notices since the last call.
    pub fn notices(&mut self, i: usize) -> Vec<Notice> {
        let own = self.record().notices.extract_if(.., |(of, _)| *of == i);
        own.map(|(_, notice)| notice).collect()
    }

    /// Whether the client was told of a loss for this cause.
    pub fn was_told_of(&mut self, i: usize, cause: Cause) -> bool {
        self.notices(i).into_iter().any(|notice| {
            matches!(notice, Notice::Lost(told) | Notice::CandidateLost(told) if told == cause)
        })
    }

    /// How many creates the client has asked for.
    pub fn creates(&self, i: usize) -> usize {
        let all = self.model.record.iter().flat_map(|record| &record.creates);
        all.filter(|of| **of == i).count()
    }

    /// The requests of the lost connection will never be executed.
    pub fn drop_in_doubt(&mut self, i: usize) {
        self.clients[i].in_doubt.clear();
    }

    /// Adds a candidate to the world that no client created; later ones have greater numbers.
    pub fn with(mut self, name: Name, owner: Option<SessionId>, token: i64) -> Self {
        let Name::Candidate(Candidate { kind, sequence, .. }) = name else {
            panic!("no candidate")
        };
        let is_foreign = |client: &Contender| client.kind().format() != kind.format();
        self.model.kinds.mixes_formats |= self.clients.iter().any(is_foreign);
        self.server.commit(vec![Effect::Put(name, Znode { owner, ..Znode::new(token, 0) })]);
        self.server.zxid = self.server.zxid.max(token);
        let next = self.server.next.entry(Name::Node).or_default();
        *next = (*next).max(u32::try_from(sequence).expect("31 bits") + 1);
        self
    }

    /// Has the client's server answer its next request with this failure, whatever else it could answer.
    pub fn fail(&mut self, i: usize, failure: Failure) {
        let sent = self.clients[i].requests.pop_front().expect("a request");
        let result = Err(failure);
        self.feed(i, sent.actor, Event::Reply { ticket: sent.ticket, result });
    }
}
