//! An observer, its link, and the election.

use election_core::{
    Change, Event, Failure, Observed, Observer, ObserverEnd, Output, Phase, Present, Recipe,
    SessionId, Subject, Ticket, Token, Watch,
};

use super::server::{Answer, CANDIDATES, Owner, Request, Tree, Znode, leader, name, with_reply};
use super::step::{Budget, Step};

/// The data that an observer keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data(Vec<u8>);

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Link {
    New,
    Up,
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    subject: Subject,
    pub trees: Vec<Tree>,
    zxid: i64,
    next_number: i64,
    budget: Budget,
    max_lag: usize,
    observer: Observer<Data>,
    link: Link,
    session: i64,
    session_lives: bool,
    /// The tree of its server, and the last one that the session has seen.
    applied: usize,
    seen: usize,
    request: Option<(Ticket, Request)>,
    watch: Vec<(Ticket, Request)>,
    /// A watch was dropped, and nothing tells of it.
    is_deaf: bool,
    told: Option<Observed<Data>>,
    /// The first tree that what was told last can be of.
    told_of: usize,
    fault: Option<String>,
}

impl World {
    pub fn new(subject: Subject) -> Self {
        Self {
            subject,
            trees: vec![None],
            zxid: 100,
            next_number: 0,
            budget: Budget::default(),
            max_lag: 2,
            observer: Observer::new(subject),
            link: Link::New,
            session: 1,
            session_lives: true,
            applied: 0,
            seen: 0,
            request: None,
            watch: Vec::new(),
            is_deaf: false,
            told: None,
            told_of: 0,
            fault: None,
        }
    }

    pub fn facing(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    pub fn lagging(self, max_lag: usize) -> Self {
        Self { max_lag, ..self }
    }

    fn end(&self) -> usize {
        self.trees.len() - 1
    }

    fn tip(&self) -> &Tree {
        &self.trees[self.end()]
    }

    fn commit(&mut self, change: impl FnOnce(&mut Tree, Token)) {
        self.zxid += 1;
        let mut tree = self.tip().clone();
        change(&mut tree, Token::new(self.zxid));
        self.trees.push(tree);
    }

    pub fn join(&mut self) {
        self.create(Owner::Candidates);
    }

    pub fn intrude(&mut self, session: i64) {
        self.create(Owner::Foreign(session));
    }

    fn create(&mut self, owner: Owner) {
        if self.tip().is_none() {
            self.next_number = 0;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.commit(|tree, token| {
            let znode = Znode { number, token, version: 0, is_barred: false, owner };
            tree.get_or_insert_default().push(znode);
        });
    }

    pub fn leave(&mut self, place: usize) {
        self.commit(|tree, _| {
            tree.as_mut().expect("it is there").remove(place);
        });
    }

    fn is_over(&self) -> bool {
        self.observer.phase() == Phase::Over
    }

    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let budget = self.budget;
        let mut offer = |is_possible: bool, step| {
            if is_possible {
                steps.push(step);
            }
        };
        let count = self.tip().as_ref().map_or(0, Vec::len);
        // A mark is one znode.
        let is_room = matches!(self.subject, Subject::Leader(_)) || count == 0;
        offer(budget.joins > 0 && is_room, Step::Join);
        for owner in [0, CANDIDATES, CANDIDATES + 1] {
            offer(budget.strangers > 0, Step::Intrude(owner));
        }
        for place in 0..count {
            offer(budget.leaves > 0, Step::Leave(place));
            offer(budget.writes > 0, Step::Write(place));
            offer(budget.bars > 0, Step::Bar(place));
        }
        offer(budget.wipes > 0 && self.tip().is_some(), Step::Wipe);
        let is_up = self.link == Link::Up;
        match self.link {
            Link::New => {
                for applied in self.end().saturating_sub(self.max_lag)..=self.end() {
                    offer(true, Step::ConnectAnew(applied));
                }
            }
            Link::Up => {
                offer(self.applied < self.end(), Step::Apply);
                offer(self.request.is_some() && self.session_lives, Step::Execute);
                offer(!self.session_lives, Step::Disconnect);
                offer(self.needs_look() || budget.looks > 0, Step::Look);
            }
            Link::Down if self.session_lives => offer(true, Step::Connect),
            Link::Down => offer(true, Step::LearnExpiry),
        }
        offer(is_up && budget.losses > 0, Step::Disconnect);
        offer(self.link != Link::New && self.session_lives && budget.expiries > 0, Step::Expire);
        offer(is_up && !self.watch.is_empty() && budget.lost_watches > 0, Step::LoseWatch);
        offer(is_up && self.request.is_some() && budget.throttles > 0, Step::Throttle);
        offer(!self.is_over() && budget.withdrawals > 0, Step::Withdraw);
        steps
    }

    fn needs_look(&self) -> bool {
        let is_hidden = matches!(self.told, Some(Observed::Hidden));
        // A child that may not be looked at has no watch.
        let is_blind = match &self.told {
            Some(Observed::Blocked { by: Some(by), .. }) => {
                self.trees.iter().flatten().flatten().any(|znode| {
                    znode.is_barred
                        && znode.is_foreign()
                        && name(self.subject, znode) == by.as_str()
                })
            }
            _ => false,
        };
        let is_outdated = (is_hidden || is_blind) && self.applied == self.end() && !self.is_true();
        let waits = self.observer.waits_for_look() || self.is_deaf || is_outdated;
        waits && self.request.is_none() && !self.is_over()
    }

    pub fn is_calm(&self, step: Step) -> bool {
        match step {
            Step::Connect
            | Step::ConnectAnew(_)
            | Step::Execute
            | Step::Apply
            | Step::LearnExpiry => true,
            Step::Look => self.needs_look(),
            Step::Disconnect => !self.session_lives,
            _ => false,
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect => self.connect(self.seen),
            Step::ConnectAnew(applied) => {
                self.seen = 0;
                // A read in this session is not older than the session's beginning.
                self.told_of = self.told_of.max(self.end());
                self.connect(applied);
            }
            Step::Execute => self.execute(),
            Step::Apply => self.apply(),
            Step::LearnExpiry => {
                self.link = Link::New;
                self.session += 1;
                self.session_lives = true;
                self.feed(Event::SessionExpired);
            }
            Step::Look => {
                if !self.needs_look() {
                    self.budget.looks -= 1;
                }
                self.is_deaf = false;
                self.feed(Event::Look);
            }
            Step::Throttle => {
                self.budget.throttles -= 1;
                let (ticket, _) = self.request.take().expect("a request");
                self.feed(Event::Reply { ticket, result: Err(Failure::Throttled) });
            }
            Step::Withdraw => {
                self.budget.withdrawals -= 1;
                self.drive(Observer::withdraw);
            }
            Step::Disconnect => {
                if self.session_lives {
                    self.budget.losses -= 1;
                }
                (self.link, self.request, self.is_deaf) = (Link::Down, None, false);
                self.watch.clear();
                self.feed(Event::Disconnected);
            }
            Step::Expire => {
                self.budget.expiries -= 1;
                self.session_lives = false;
            }
            Step::LoseWatch => {
                self.budget.lost_watches -= 1;
                self.watch.clear();
                self.is_deaf = true;
            }
            other => self.change(other),
        }
        // A server lags so far only.
        while self.link == Link::Up && self.end() - self.applied > self.max_lag {
            self.apply();
        }
    }

    fn change(&mut self, step: Step) {
        match step {
            Step::Join => {
                self.budget.joins -= 1;
                self.join();
            }
            Step::Intrude(owner) => {
                self.budget.strangers -= 1;
                self.intrude(owner);
            }
            Step::Leave(place) => {
                self.budget.leaves -= 1;
                self.leave(place);
            }
            Step::Write(place) => {
                self.budget.writes -= 1;
                self.commit(|tree, _| tree.as_mut().expect("it is there")[place].version += 1);
            }
            Step::Bar(place) => {
                self.budget.bars -= 1;
                self.commit(|tree, _| tree.as_mut().expect("it is there")[place].is_barred = true);
            }
            _ => {
                self.budget.wipes -= 1;
                self.commit(|tree, _| *tree = None);
            }
        }
    }

    fn connect(&mut self, applied: usize) {
        (self.link, self.applied) = (Link::Up, applied);
        let session = SessionId::new(self.session);
        self.feed(Event::Connected { session });
    }

    fn execute(&mut self) {
        let (ticket, request) = self.request.take().expect("a request");
        if request == Request::Barrier {
            // Its answer comes behind all that was committed before.
            while self.applied < self.end() {
                self.apply();
            }
        }
        self.seen = self.seen.max(self.applied);
        let answer = request.answer(self.subject, &self.trees[self.applied]);
        if request.watches(&answer) {
            self.watch.push((ticket, request));
        }
        self.deliver(ticket, &answer);
    }

    fn deliver(&mut self, ticket: Ticket, answer: &Answer) {
        self.drive_with(|observer, then| {
            with_reply(ticket, answer, |event| then(observer.handle_event(event)));
        });
    }

    fn apply(&mut self) {
        let (before, after) = (self.trees[self.applied].clone(), self.applied + 1);
        self.applied = after;
        let after = self.trees[after].clone();
        let (subject, fired) = (self.subject, self.watch.clone());
        for (ticket, request) in fired {
            if let Some(change) = change_of(subject, &request, &before, &after) {
                self.seen = self.seen.max(self.applied);
                self.watch.retain(|(watch, _)| *watch != ticket);
                self.feed(Event::Changed { ticket, change });
            }
        }
    }

    fn feed(&mut self, event: Event<'_>) {
        self.drive_with(|observer, then| then(observer.handle_event(event)));
    }

    fn drive(&mut self, act: impl FnOnce(&mut Observer<Data>) -> Output<'_, Observed<Data>>) {
        self.drive_with(|observer, then| then(act(observer)));
    }

    fn drive_with(
        &mut self,
        act: impl FnOnce(&mut Observer<Data>, &mut dyn FnMut(Output<'_, Observed<Data>>)),
    ) {
        let (mut asked, mut told) = (None, None);
        act(&mut self.observer, &mut |output| {
            asked = output.command.map(|command| (command.ticket, Request::of(&command.op)));
            told = output.notice;
        });
        if let Some(asked) = asked {
            if self.link != Link::Up {
                self.fault = Some(format!("{asked:?} without a link"));
            }
            if let Some(other) = self.request.replace(asked) {
                self.fault = Some(format!("{other:?} is in flight"));
            }
        }
        let observer = &self.observer;
        self.watch.retain(|(ticket, _)| observer.awaits_change(*ticket));
        if let Some(told) = told {
            self.hear(told);
        }
    }

    fn hear(&mut self, told: Observed<Data>) {
        if self.told.as_ref() == Some(&told) {
            self.fault = Some(format!("{told:?} is told again"));
        }
        let is_end = told == Observed::Ended(ObserverEnd::Withdrawn);
        let since = self.told_of;
        self.told = Some(told);
        match (since..=self.end()).find(|at| self.is_true_of(*at)) {
            Some(at) => self.told_of = at,
            None if is_end => {}
            None => self.fault = Some(format!("{:?} was not so since {since}", self.told)),
        }
    }

    fn is_true(&self) -> bool {
        self.is_true_of(self.end())
    }

    fn is_true_of(&self, at: usize) -> bool {
        let tree = &self.trees[at];
        // An observer that could read it before knows it.
        let is = |present: &Present<Data>, leader: &Znode| {
            let version = u8::try_from(leader.version).expect("few writes");
            present.token == leader.token && present.data == Data(vec![version])
        };
        match (&self.told, leader(tree)) {
            (Some(Observed::Absent), None) => true,
            (Some(Observed::Hidden), Some(leader)) => leader.is_barred,
            (Some(Observed::Present(present)), Some(leader)) if self.is_mark() => {
                is(present, leader)
            }
            (Some(Observed::Present(present)), Some(leader)) => {
                is(present, leader) && self.could_lead(leader.token, at)
            }
            (Some(Observed::Blocked { first, by: Some(by) }), Some(leader)) => {
                let blocks =
                    |znode: &Znode| znode.blocks() && name(self.subject, znode) == by.as_str();
                is(first, leader) && tree.iter().flatten().any(blocks)
            }
            _ => false,
        }
    }

    fn is_mark(&self) -> bool {
        matches!(self.subject, Subject::Mark(_))
    }

    /// Whether the nominee of this candidate was not blocked at some time when it was the first.
    fn could_lead(&self, token: Token, by: usize) -> bool {
        self.trees[..=by].iter().any(|tree| {
            leader(tree).is_some_and(|leader| leader.token == token)
                && !tree.iter().flatten().any(Znode::blocks)
        })
    }

    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let is_blocked = matches!(self.told, Some(Observed::Blocked { .. }));
        if self.watch.len() > 1 + usize::from(is_blocked) {
            return Err(format!("{} watches", self.watch.len()));
        }
        if self.is_over() && !(self.watch.is_empty() && self.told.is_some()) {
            return Err("a watch is left".into());
        }
        let is_on_children = |(_, request): &(Ticket, Request)| matches!(request, Request::List(watch) if *watch != Watch::None);
        let settled = self.request.is_none() && self.applied == self.end();
        let stands = leader(self.tip()).is_some();
        if settled && stands && self.watch.iter().any(is_on_children) {
            return Err("watches the children although a candidate stands".into());
        }
        Ok(())
    }

    pub fn check_rest(&self) -> Result<(), String> {
        if self.is_over() || self.is_true() {
            return Ok(());
        }
        Err(format!("{:?} is told last, and {:?} is so", self.told, self.tip()))
    }
}

/// Returns the event of a commit for the watch of this request.
fn change_of(subject: Subject, request: &Request, before: &Tree, after: &Tree) -> Option<Change> {
    let presence = |was: bool, is: bool| match (was, is) {
        (false, true) => Some(Change::Created),
        (true, false) => Some(Change::Deleted),
        _ => None,
    };
    let of_znode = |find: &dyn Fn(&Tree) -> Option<Znode>| match (find(before), find(after)) {
        (Some(was), Some(is)) => (was.version != is.version).then_some(Change::Data),
        (was, is) => presence(was.is_some(), is.is_some()),
    };
    let first = |tree: &Tree| tree.iter().flatten().next().copied();
    match request {
        Request::Barrier => None,
        Request::List(_) => match (before, after) {
            (Some(was), Some(is)) => (was.len() != is.len()).then_some(Change::Children),
            (was, is) => presence(was.is_some(), is.is_some()),
        },
        Request::Exists => presence(before.is_some(), after.is_some()),
        Request::Read(wanted) | Request::ExistsChild(wanted) => of_znode(&|tree| {
            tree.iter().flatten().find(|znode| name(subject, znode) == *wanted).copied()
        }),
        Request::ReadMark | Request::MarkExists => of_znode(&first),
    }
}
