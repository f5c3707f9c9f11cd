//! Members of one name, every step that may come next, and the laws.

use election_core::{
    Change, Event, Failure, MemberEnd, MemberOptions, MemberState, NameOwner, SessionId,
};

use super::client::{Client, Link};
use super::server::{Answer, Request, Server, Tree};
use super::step::{Budget, Step};

const MAX_LAG: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    server: Server,
    clients: Vec<Client>,
    options: Vec<MemberOptions>,
    budget: Budget,
    operator: Operator,
    permissions: Permissions,
}

/// Whether a server may refuse something, so that a member may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Permissions {
    Kept,
    Change,
}

/// Whether an operator has deleted a znode: then its member may, for a round trip, take the next one of
/// that name for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operator {
    Rests,
    HasDeleted,
}

impl World {
    pub fn new(options: &[MemberOptions], has_node: bool, budget: Budget) -> Self {
        let clients = (0..).zip(options).map(|(index, options)| Client::new(index, *options));
        Self {
            server: Server::new(has_node),
            clients: clients.collect(),
            options: options.to_vec(),
            budget,
            operator: Operator::Rests,
            permissions: match budget.refusals {
                0 => Permissions::Kept,
                _ => Permissions::Change,
            },
        }
    }

    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (i, client) in self.clients.iter().enumerate() {
            self.calm_steps(i, client, &mut steps);
            self.faults(i, client, &mut steps);
        }
        if self.server.tip().znode.is_some() {
            if self.budget.deletions > 0 {
                steps.push(Step::OperatorDeletes);
            }
            if self.budget.writes > 0 {
                steps.push(Step::OperatorWrites);
            }
        }
        steps
    }

    fn calm_steps(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        if !client.ghosts.is_empty() {
            steps.push(Step::Bury(i));
        }
        match client.link {
            Link::New if client.is_over() => {}
            Link::New => steps.push(Step::Connect(i)),
            Link::Down if client.session_lives => steps.push(Step::Connect(i)),
            Link::Down => steps.push(Step::LearnExpiry(i)),
            Link::Up => {
                if client.applied < self.server.end() {
                    steps.push(Step::Apply(i));
                }
                if client.request.is_some() && client.due.is_none() {
                    steps.push(Step::Execute(i));
                }
                if !client.session_lives && client.request.is_none() {
                    steps.push(Step::LearnExpiry(i));
                }
                if client.needs_look() {
                    steps.push(Step::NeededLook(i));
                }
            }
        }
    }

    fn faults(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        let budget = self.budget;
        let (is_up, is_over) = (client.is_up(), client.is_over());
        let has_session = client.session_lives && client.link != Link::New;
        let mut add = |is_possible: bool, step: Step| {
            if is_possible {
                steps.push(step);
            }
        };
        add(client.in_doubt.is_some(), Step::ApplyInDoubt(i));
        add(budget.losses > 0 && is_up, Step::Disconnect(i));
        add(budget.expiries > 0 && has_session, Step::Expire(i));
        add(budget.lies > 0 && has_session && !is_over, Step::Lie(i));
        add(budget.withdrawals > 0 && !is_over, Step::Withdraw(i));
        add(budget.data > 0 && !is_over, Step::SetData(i));
        add(budget.lost_watches > 0 && !client.watches.is_empty(), Step::LoseWatch(i));
        add(budget.looks > 0 && is_up, Step::Look(i));
        add(budget.refusals > 0 && is_up && client.has_refusable(), Step::Refuse(i));
        add(budget.throttles > 0 && is_up && client.request.is_some(), Step::Throttle(i));
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                let client = &mut self.clients[i];
                client.link = Link::Up;
                let session = client.session;
                client.feed(Event::Connected { session });
            }
            Step::Execute(i) => self.execute(i),
            Step::Apply(i) => self.apply(i),
            Step::ApplyInDoubt(i) => {
                let (session, request) = self.clients[i].in_doubt.take().expect("a write");
                self.write(i, request, session);
            }
            Step::LearnExpiry(i) => self.learn_expiry(i),
            Step::Bury(i) => {
                let ghost = self.clients[i].ghosts.pop().expect("a session");
                self.end_session(i, ghost);
            }
            Step::NeededLook(i) => self.clients[i].feed(Event::Look),
            other => self.suffer(other),
        }
        self.bound_the_lag();
        if let Some(fault) = self.clients.iter().find_map(|client| client.fault.clone()) {
            panic!("{fault}: {step:?} led to {self:?}");
        }
        self.check_ends();
    }

    fn suffer(&mut self, step: Step) {
        let budget = &mut self.budget;
        match step {
            Step::Disconnect(i) => {
                budget.losses -= 1;
                self.clients[i].disconnect();
            }
            Step::Expire(i) => {
                budget.expiries -= 1;
                let client = &mut self.clients[i];
                client.session_lives = false;
                let session = client.session;
                self.end_session(i, session);
            }
            Step::Lie(i) => {
                budget.lies -= 1;
                let client = &mut self.clients[i];
                if client.is_up() {
                    client.disconnect();
                }
                client.ghosts.push(client.session);
                self.learn_expiry(i);
            }
            Step::Withdraw(i) => {
                budget.withdrawals -= 1;
                self.clients[i].withdraw();
            }
            Step::SetData(i) => {
                budget.data -= 1;
                self.clients[i].set_data();
            }
            Step::LoseWatch(i) => {
                budget.lost_watches -= 1;
                self.clients[i].fire(Change::Lost);
            }
            Step::Look(i) => {
                budget.looks -= 1;
                self.clients[i].feed(Event::Look);
            }
            Step::Throttle(i) => {
                budget.throttles -= 1;
                self.clients[i].throttle();
            }
            Step::Refuse(i) => {
                budget.refusals -= 1;
                self.refuse(i);
            }
            Step::OperatorDeletes => {
                budget.deletions -= 1;
                self.operator = Operator::HasDeleted;
                let tree = Tree { znode: None, ..self.server.tip() };
                self.server.commit(tree);
            }
            Step::OperatorWrites => {
                budget.writes -= 1;
                let owner = SessionId::new(1);
                self.server.write(Request::Write(-1, 99), owner);
            }
            _ => unreachable!("a calm step"),
        }
    }

    fn execute(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (ticket, request) = client.request.take().expect("a request");
        if let Request::Exists(watch) = request {
            let answer = self.server.read(client.applied);
            client.seen = client.applied;
            client.leave_watch(ticket, watch);
            return client.deliver(ticket, answer);
        }
        if !client.session_lives {
            client.request = Some((ticket, request));
            return client.disconnect();
        }
        // It is executed behind what the session sent before.
        let session = client.session;
        client.in_doubt.take_if(|(sent_by, _)| *sent_by == session);
        let answer = self.write(i, request, session);
        self.clients[i].due = Some((self.server.end(), ticket, answer));
        self.deliver_due(i);
    }

    /// Refuses a request. A quorum commits that, too.
    fn refuse(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (ticket, _) = client.request.take().expect("a request");
        let session = client.session;
        client.in_doubt.take_if(|(sent_by, _)| *sent_by == session);
        client.due = Some((self.server.end(), ticket, Answer::Failed(Failure::NoAuth)));
        self.deliver_due(i);
    }

    /// Writes for a member, which deletes and writes nothing of another's.
    fn write(&mut self, i: usize, request: Request, session: SessionId) -> Answer {
        let before = self.server.tip().znode;
        let answer = self.server.write(request, session);
        if let (Request::Delete(_) | Request::Write(..), Some(before)) = (request, before)
            && self.server.tip().znode != Some(before)
            && self.operator == Operator::Rests
        {
            let is_own = self.clients[i].has_had(before.owner);
            assert!(is_own, "{i} touches the znode of another by {request:?}: {self:?}");
        }
        answer
    }

    fn deliver_due(&mut self, i: usize) {
        let client = &mut self.clients[i];
        if let Some((position, ticket, answer)) = client.due.take() {
            if client.applied < position {
                client.due = Some((position, ticket, answer));
                return;
            }
            client.seen = client.applied;
            client.deliver(ticket, answer);
        }
    }

    fn apply(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (before, after) = (client.applied, client.applied + 1);
        client.applied = after;
        let change = match (self.server.trees[before].znode, self.server.trees[after].znode) {
            (None, Some(_)) => Some(Change::Created),
            (Some(_), None) => Some(Change::Deleted),
            (Some(one), Some(other)) if one != other => Some(Change::Data),
            _ => None,
        };
        if let Some(change) = change {
            client.fire(change);
        }
        self.deliver_due(i);
    }

    fn end_session(&mut self, i: usize, session: SessionId) {
        let client = &mut self.clients[i];
        client.in_doubt.take_if(|(sent_by, _)| *sent_by == session);
        let tree = self.server.tip();
        if tree.znode.is_some_and(|znode| znode.owner == session) {
            self.server.commit(Tree { znode: None, ..tree });
        }
    }

    fn learn_expiry(&mut self, i: usize) {
        let client = &mut self.clients[i];
        if client.is_up() {
            return client.disconnect();
        }
        client.link = Link::New;
        client.session_lives = true;
        client.session = SessionId::new(client.session.get() + 1);
        client.feed(Event::SessionExpired);
        assert!(client.joined.is_none(), "it is not told that its session has expired: {self:?}");
    }

    fn bound_the_lag(&mut self) {
        for i in 0..self.clients.len() {
            while self.clients[i].applied + MAX_LAG < self.server.end() {
                if self.clients[i].is_up() {
                    self.apply(i);
                } else {
                    self.clients[i].applied += 1;
                    self.clients[i].seen = self.clients[i].applied;
                }
            }
        }
        let least = self.clients.iter().map(|client| client.seen.min(client.applied)).min();
        let least = least.unwrap_or(self.server.end());
        self.server.fold(least);
        for client in &mut self.clients {
            client.applied -= least;
            client.seen = client.seen.saturating_sub(least);
            if let Some((position, ..)) = &mut client.due {
                *position -= least;
            }
        }
    }

    fn check_ends(&self) {
        for client in &self.clients {
            match client.machine.state() {
                MemberState::Ended(MemberEnd::Failed(failure))
                    if self.permissions == Permissions::Kept =>
                {
                    panic!("{failure}: {self:?}");
                }
                MemberState::Ended(MemberEnd::Taken(NameOwner::Session(owner))) => {
                    assert!(!client.has_had(owner), "its own ghost: {self:?}");
                }
                _ => {}
            }
        }
    }

    /// Checks the laws of a state where nothing more happens by itself.
    pub fn check_rest(&self) {
        let znode = self.server.tip().znode;
        for (client, options) in self.clients.iter().zip(&self.options) {
            let own = znode.filter(|znode| znode.owner == client.session && client.session_lives);
            match client.machine.state() {
                MemberState::Joined(token) => {
                    let Some(own) = own else { panic!("it believes that it is joined: {self:?}") };
                    assert_eq!(own.token, token, "{self:?}");
                    assert_eq!(own.data, client.machine.data()[0], "other data: {self:?}");
                }
                MemberState::Waiting(_) => {
                    let owner = znode.map(|znode| znode.owner);
                    let is_others = owner.is_some_and(|owner| owner != client.session);
                    assert!(is_others, "it waits for nothing: {self:?}");
                }
                MemberState::Ended(_) => {
                    let is_left = own.is_some() && client.in_doubt.is_none();
                    assert!(!is_left, "a znode is left: {options:?}: {self:?}");
                }
                state => panic!("it rests while {state:?}: {self:?}"),
            }
        }
    }
}
