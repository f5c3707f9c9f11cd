//! A client: what it is to do, its machines, and the link between it and the server.

use std::collections::VecDeque;

use election_core::{
    Applied, BeginEnd, Change, Children, CommitEnd, CommitSiteNotice, CommitTask, Event, Failure,
    NomineeId, Output, Phase, Recipe, Reply, SessionId, SiteName, Ticket, TwoPhaseBegin,
    TwoPhaseCommit,
};

use super::server::{Answer, Request};

/// A client's calls, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Errand {
    Begin(NomineeId, Vec<SiteName>),
    Task(CommitTask, NomineeId),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "there are few")]
pub enum Machine {
    Begin(TwoPhaseBegin<Vec<SiteName>>),
    Party(TwoPhaseCommit),
}

/// The notices of a machine so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    Begin(BeginEnd),
    Party(CommitSiteNotice),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The next session is the first one, or the one before has expired.
    New,
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Course {
    /// It is at this errand.
    At(usize),
    Done,
    /// It was withdrawn, and begins again.
    GivenUp,
}

/// The number of the participant that the client has dropped, among its machines.
pub const DROPPED: usize = 2;
/// The number of machines that are no more, to which late answers go.
const GONE: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub index: usize,
    /// It takes part for this site meanwhile.
    pub site: Option<SiteName>,
    pub errands: Vec<Errand>,
    pub course: Course,
    /// That of the site's presence first, if it is for one, and that of the errand.
    pub machines: Vec<Machine>,
    /// The participant before, which leaves, or owes its deletion, while the client goes on.
    pub dropped: Option<Machine>,
    pub link: Link,
    pub session: SessionId,
    pub session_lives: bool,
    pub applied: usize,
    pub seen: usize,
    pub requests: VecDeque<(usize, Ticket, Request)>,
    /// The answer to a write, and what the server has applied when it comes.
    pub due: Option<(usize, usize, Ticket, Answer)>,
    pub watches: Vec<(usize, Ticket, Request)>,
    /// Writes of the lost connection.
    pub in_doubt: VecDeque<Request>,
}

impl Client {
    pub fn new(index: usize, site: Option<SiteName>, errands: Vec<Errand>) -> Self {
        let number = i64::try_from(index).expect("few");
        let mut client = Self {
            index,
            site,
            errands,
            course: Course::GivenUp,
            machines: Vec::new(),
            dropped: None,
            link: Link::New,
            session: SessionId::new(number * 1000 + 1000),
            session_lives: true,
            applied: 0,
            seen: 0,
            requests: VecDeque::new(),
            due: None,
            watches: Vec::new(),
            in_doubt: VecDeque::new(),
        };
        client.begin();
        client
    }

    /// Whether the last participant can be left to itself.
    pub fn may_begin_again(&self) -> bool {
        self.course == Course::GivenUp
            && self.dropped.as_ref().is_none_or(|dropped| dropped.phase() == Phase::Over)
    }

    /// Begins again, beside the participant that leaves.
    pub fn begin_again(&mut self) {
        let is_left = |machine: &Machine| machine.phase() != Phase::Over;
        self.dropped = self.machines.drain(..).next().filter(is_left);
        let first = if self.dropped.is_some() { DROPPED } else { GONE };
        let renumber = |actor: &mut usize| *actor = if *actor == 0 { first } else { GONE };
        self.requests.iter_mut().for_each(|(actor, ..)| renumber(actor));
        self.due.iter_mut().for_each(|(_, actor, ..)| renumber(actor));
        self.watches.clear();
        self.begin();
    }

    /// Begins with the first errand, or with joining.
    pub fn begin(&mut self) {
        self.machines.clear();
        self.course = Course::At(0);
        let id = match self.errands.first() {
            Some(Errand::Begin(id, _) | Errand::Task(_, id)) => Some(*id),
            None => None,
        };
        match &self.site {
            Some(site) => {
                let join = TwoPhaseCommit::new(CommitTask::Join(site.clone()), id);
                self.machines.push(Machine::Party(join));
            }
            None => self.machines.push(self.errand(0)),
        }
    }

    pub fn errand(&self, at: usize) -> Machine {
        match &self.errands[at] {
            Errand::Begin(id, sites) => {
                Machine::Begin(TwoPhaseBegin::new(*id, sites.clone()).expect("a set"))
            }
            Errand::Task(task, id) => Machine::Party(TwoPhaseCommit::new(task.clone(), Some(*id))),
        }
    }

    /// Returns the errand after such an end.
    pub fn after(&self, at: usize, told: Told) -> usize {
        match told {
            Told::Party(CommitSiteNotice::Ended(CommitEnd::Decided(_))) => {
                let rest = self.errands.iter().skip(at + 1);
                let is_last = |errand: &Errand| {
                    matches!(
                        errand,
                        Errand::Task(CommitTask::Acknowledge(_) | CommitTask::Finish, _)
                    )
                };
                at + 1 + rest.take_while(|errand| !is_last(errand)).count()
            }
            Told::Party(CommitSiteNotice::Ended(
                CommitEnd::Gone | CommitEnd::Replaced | CommitEnd::NoSuchSite,
            )) => self.errands.len(),
            Told::Begin(_) | Told::Party(_) => at + 1,
        }
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    pub fn is_over(&self) -> bool {
        self.actors().all(|actor| self.machine(actor).phase() == Phase::Over)
    }

    /// Returns the numbers of its machines.
    pub fn actors(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.machines.len()).chain(self.dropped.is_some().then_some(DROPPED))
    }

    pub fn machine(&self, actor: usize) -> &Machine {
        match &self.dropped {
            Some(dropped) if actor == DROPPED => dropped,
            _ => &self.machines[actor],
        }
    }

    fn machine_mut(&mut self, actor: usize) -> &mut Machine {
        match &mut self.dropped {
            Some(dropped) if actor == DROPPED => dropped,
            _ => &mut self.machines[actor],
        }
    }

    fn is_asking(&self, actor: usize) -> bool {
        self.requests.iter().any(|(other, ..)| *other == actor)
            || self.due.as_ref().is_some_and(|(_, other, ..)| *other == actor)
    }

    /// Whether a server may refuse the next request: that of a participant that leaves, or of one that
    /// does nothing but to join. None refuses to tell whether a znode exists.
    pub fn has_refusable(&self) -> bool {
        let only_joins = self.errands.len() == 1;
        let may_fail = |actor: usize| match actor {
            DROPPED => true,
            0 if self.site.is_some() => only_joins || self.machine(0).phase() != Phase::Standing,
            _ => false,
        };
        self.session_lives
            && self.due.is_none()
            && self.requests.front().is_some_and(|(actor, _, request)| {
                may_fail(*actor) && !matches!(request, Request::Exists(_) | Request::Barrier)
            })
    }

    /// Whether it takes part, beside a participant that it has dropped.
    pub fn takes_part(&self) -> bool {
        self.site.is_some() && self.machines.len() > 1 && matches!(self.course, Course::At(_))
    }

    pub fn feed(&mut self, actor: usize, event: Event<'_>) -> Result<Option<Told>, String> {
        let session = self.session;
        let (told, asked) = match self.machine_mut(actor) {
            Machine::Begin(begin) => taken(begin.handle_event(event), session, Told::Begin),
            Machine::Party(party) => taken(party.handle_event(event), session, Told::Party),
        };
        self.send(actor, asked)?;
        Ok(told)
    }

    pub fn withdraw(&mut self, actor: usize) -> Result<Option<Told>, String> {
        let session = self.session;
        let (told, asked) = match self.machine_mut(actor) {
            Machine::Begin(begin) => taken(begin.withdraw(), session, Told::Begin),
            Machine::Party(party) => taken(party.withdraw(), session, Told::Party),
        };
        self.send(actor, asked)?;
        Ok(told)
    }

    fn send(&mut self, actor: usize, asked: Option<(Ticket, Request)>) -> Result<(), String> {
        if let Some((ticket, request)) = asked {
            if self.is_asking(actor) || !self.is_up() {
                return Err(format!("{actor} asks for {request:?} too early"));
            }
            self.requests.push_back((actor, ticket, request));
        }
        self.drop_watches();
        Ok(())
    }

    /// Takes down the watches that nothing awaits, as the driver.
    pub fn drop_watches(&mut self) {
        let mut watches = core::mem::take(&mut self.watches);
        watches.retain(|(actor, ticket, _)| {
            *actor != GONE && self.machine(*actor).awaits_change(*ticket)
        });
        self.watches = watches;
    }

    pub fn deliver(
        &mut self,
        actor: usize,
        ticket: Ticket,
        answer: &Answer,
    ) -> Result<Option<Told>, String> {
        if actor == GONE {
            return Ok(None);
        }
        let listed = match answer {
            Answer::Children(children) => children.as_slice(),
            _ => &[],
        };
        let mut names = listed.iter().map(String::as_str);
        let mut parts = core::iter::empty::<Applied<'_>>();
        let result = match answer {
            Answer::Exists(stat) => Ok(Reply::Exists(*stat)),
            Answer::Written(stat) => Ok(Reply::Written(*stat)),
            Answer::Children(_) => Ok(Reply::Children(Children::listed(&mut names))),
            Answer::BarrierPassed => Ok(Reply::BarrierPassed),
            Answer::NodeCreated => Ok(Reply::NodeCreated),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Committed => Ok(Reply::Committed(&mut parts)),
            Answer::Failed(failure) => Err(*failure),
        };
        let told = self.feed(actor, Event::Reply { ticket, result })?;
        let is_refused = matches!(answer, Answer::Failed(Failure::NoAuth));
        let owes = self.machine(actor).phase() == Phase::CleaningUp;
        if is_refused && owes && self.is_asking(actor) {
            return Err(format!("{actor} asks at once for what was refused"));
        }
        Ok(told)
    }

    /// Breaks the connection: requests without an answer are lost, but the server may still execute
    /// writes.
    pub fn lose_link(&mut self) {
        self.link = Link::Down;
        self.applied = self.seen;
        self.watches.clear();
        self.due = None;
        let lives = self.session_lives;
        let writes = self.requests.drain(..).map(|(_, _, request)| request);
        self.in_doubt.extend(writes.filter(|request| lives && !request.reads()));
    }

    pub fn needs_look(&self) -> bool {
        self.actors().any(|actor| match self.machine(actor) {
            Machine::Begin(begin) => begin.waits_for_look(),
            Machine::Party(party) => {
                let owes = party.phase() == Phase::CleaningUp && !self.is_asking(actor);
                party.waits_for_look() || owes
            }
        })
    }
}

impl Machine {
    pub fn phase(&self) -> Phase {
        match self {
            Self::Begin(begin) => begin.phase(),
            Self::Party(party) => party.phase(),
        }
    }

    pub fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Begin(begin) => begin.awaits_change(ticket),
            Self::Party(party) => party.awaits_change(ticket),
        }
    }

    pub fn task(&self) -> Option<&CommitTask> {
        match self {
            Self::Begin(_) => None,
            Self::Party(party) => Some(party.task()),
        }
    }
}

type Taken = (Option<Told>, Option<(Ticket, Request)>);

fn taken<N>(output: Output<'_, N>, session: SessionId, told: fn(N) -> Told) -> Taken {
    let asked = output.command.map(|command| (command.ticket, Request::of(&command.op, session)));
    (output.notice.map(told), asked)
}

/// Whether a watch that this read left is fired by that change to that znode.
pub fn is_fired(watch: &Request, name: &str, change: Change) -> bool {
    match watch {
        Request::Exists(watched) => watched == name,
        Request::List(_) => !name.is_empty() || change == Change::Deleted,
        _ => false,
    }
}
