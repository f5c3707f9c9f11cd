//! Clients at one barrier, and every step that may come next.

use election_core::{
    BarrierTask, Change, DoubleBarrierEnd, DoubleBarrierNotice, DoubleBarrierOptions,
    DoubleBarrierState, Event, Failure, Phase, SessionId, Ticket, Token, Watch,
};

use super::client::{Client, Link, Machine, Rights, Told, Wish};
use super::laws::Laws;
use super::server::{Answer, Name, Request, Server, Tree, Znode};
use super::step::{Budget, Step};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub server: Server,
    pub clients: Vec<Client>,
    pub budget: Budget,
    pub max_lag: usize,
    pub laws: Laws,
}

impl World {
    pub fn new(wishes: &[Wish], budget: Budget) -> Self {
        let clients: Vec<Client> =
            (0..).zip(wishes).map(|(index, wish)| Client::new(index, *wish, 1)).collect();
        let node = Znode { token: Token::new(7), version: 4, owner: None };
        let server = Server::new(vec![Tree::from([(Name::Node, node)])]);
        let laws = Laws::new(clients.len(), server.tip());
        Self { server, clients, budget, max_lag: 2, laws }
    }

    pub fn double(count: usize, options: DoubleBarrierOptions, budget: Budget) -> Self {
        Self::new(&vec![Wish::Enter(options); count], budget)
    }

    pub fn single(tasks: &[BarrierTask], budget: Budget) -> Self {
        let wishes: Vec<Wish> = tasks.iter().copied().map(Wish::Task).collect();
        Self::new(&wishes, budget)
    }

    /// Sets the trees that were there before; the clients' servers have applied the first only.
    pub fn after(mut self, trees: Vec<Tree>) -> Self {
        self.server = Server::new(trees);
        self.laws = Laws::new(self.clients.len(), self.server.tip());
        self
    }

    pub fn lagging(mut self, max_lag: usize) -> Self {
        self.max_lag = max_lag;
        self
    }

    /// Has each client use the barrier so often.
    pub fn turns(mut self, turns: u8) -> Self {
        for client in &mut self.clients {
            client.turns_left = turns - 1;
        }
        self
    }

    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (i, client) in self.clients.iter().enumerate() {
            self.calm_steps(i, client, &mut steps);
            self.faults(i, client, &mut steps);
        }
        if self.budget.deletions > 0 {
            let entries = self.server.tip().keys().filter(|name| name.is_entry());
            steps.extend(entries.map(|name| Step::OperatorDeletes(*name)));
        }
        steps
    }

    fn calm_steps(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        if client.rights == Rights::NotToDelete && client.link != Link::Dead {
            steps.push(Step::Permit(i));
        }
        let begins_again = client.turns_left > 0
            && client.is_over()
            && (&client.request, &client.due, &client.in_doubt) == (&None, &None, &None);
        match client.link {
            Link::Dead if client.session_lives => steps.push(Step::Bury(i)),
            Link::Dead => {}
            _ if begins_again && client.is_up() => steps.push(Step::BeginAgain(i)),
            Link::New if !client.is_over() => steps.push(Step::Connect(i)),
            Link::Down if !client.session_lives => steps.push(Step::LearnExpiry(i)),
            Link::Down => steps.push(Step::Connect(i)),
            Link::New => {}
            Link::Up => {
                if client.applied < self.server.end() {
                    steps.push(Step::Apply(i));
                }
                if client.request.is_some() && client.due.is_none() {
                    steps.push(Step::Execute(i));
                }
                if client.state() == Some(DoubleBarrierState::Inside) {
                    steps.push(Step::Leave(i));
                }
                if !client.session_lives && client.request.is_none() {
                    steps.push(Step::LearnExpiry(i));
                }
                if client.needs_look() {
                    steps.push(Step::Look(i));
                }
            }
        }
    }

    fn faults(&self, i: usize, client: &Client, steps: &mut Vec<Step>) {
        let Budget { losses, expiries, crashes, withdrawals, deadlines, .. } = self.budget;
        if client.link == Link::Dead {
            return;
        }
        let is_up = client.is_up();
        let mut add = |is_possible: bool, step: Step| {
            if is_possible {
                steps.push(step);
            }
        };
        let is_standing = !client.is_over() && client.link != Link::New;
        let has_session = client.session_lives && client.link != Link::New;
        add(client.in_doubt.is_some(), Step::ApplyInDoubt(i));
        add(losses > 0 && is_up, Step::Disconnect(i));
        add(expiries > 0 && has_session, Step::Expire(i));
        add(crashes > 0 && has_session, Step::Kill(i));
        add(withdrawals > 0 && is_standing, Step::Withdraw(i));
        add(deadlines > 0 && is_standing, Step::Deadline(i));
        add(self.budget.looks > 0 && is_up, Step::Look(i));
        add(self.budget.throttles > 0 && is_up && client.request.is_some(), Step::Throttle(i));
        for rights in [Rights::NotToWrite, Rights::NotToList, Rights::NotToDelete] {
            let is_double = matches!(client.machine, Machine::Double(_));
            let prohibitions = self.budget.prohibitions;
            add(prohibitions > 0 && is_double && is_standing, Step::Forbid(i, rights));
        }
        if self.budget.lost_watches > 0 {
            steps.extend((0..client.watches.len()).map(|k| Step::LoseWatch(i, k)));
        }
    }

    pub fn is_calm(&self, step: Step) -> bool {
        match step {
            Step::Connect(_)
            | Step::Execute(_)
            | Step::Apply(_)
            | Step::Leave(_)
            | Step::BeginAgain(_)
            | Step::LearnExpiry(_)
            | Step::Permit(_)
            | Step::Bury(_) => true,
            Step::Look(i) => self.clients[i].needs_look(),
            _ => false,
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                let client = &mut self.clients[i];
                client.link = Link::Up;
                let session = client.session;
                self.tell(i, |client| client.feed(Event::Connected { session }));
            }
            Step::Execute(i) => self.execute(i),
            Step::Apply(i) => self.apply(i),
            Step::Leave(i) => {
                self.tell(i, Client::withdraw);
            }
            Step::BeginAgain(i) => {
                let client = &mut self.clients[i];
                client.begin_again();
                let session = client.session;
                self.laws.begin(i, self.server.tip());
                self.tell(i, |client| client.feed(Event::Connected { session }));
            }
            Step::LearnExpiry(i) => self.learn_expiry(i),
            Step::Bury(i) => self.expire(i),
            Step::Permit(i) => self.clients[i].rights = Rights::Restored,
            Step::Look(i) => {
                if !self.clients[i].needs_look() {
                    self.budget.looks -= 1;
                }
                self.tell(i, |client| client.feed(Event::Look));
            }
            Step::ApplyInDoubt(i) => {
                let request = self.clients[i].in_doubt.take().expect("a write");
                self.write(i, &request);
            }
            fault => self.suffer(fault),
        }
        self.bound_the_lag();
    }

    /// Takes a step that goes wrong, at the cost of the budget.
    fn suffer(&mut self, fault: Step) {
        match fault {
            Step::Disconnect(i) => {
                self.budget.losses -= 1;
                self.tell(i, Client::disconnect);
            }
            Step::Expire(i) => {
                self.budget.expiries -= 1;
                self.expire(i);
            }
            Step::Kill(i) => {
                self.budget.crashes -= 1;
                let client = &mut self.clients[i];
                client.link = Link::Dead;
                client.in_doubt = client.request.take().map(|(_, request)| request);
                client.in_doubt.take_if(|request| request.reads());
                (client.due, client.watches) = (None, Vec::new());
                self.laws.left(i);
            }
            Step::Withdraw(i) => {
                self.budget.withdrawals -= 1;
                self.tell(i, Client::withdraw);
            }
            Step::Deadline(i) => {
                self.budget.deadlines -= 1;
                self.tell(i, |client| client.feed(Event::Deadline));
            }
            Step::LoseWatch(i, k) => {
                self.budget.lost_watches -= 1;
                let (ticket, _) = self.clients[i].watches.remove(k);
                let change = Change::Lost;
                self.tell(i, |client| client.feed(Event::Changed { ticket, change }));
            }
            Step::Throttle(i) => {
                self.budget.throttles -= 1;
                let (ticket, _) = self.clients[i].request.take().expect("a request");
                let answer = Answer::Failed(Failure::Throttled);
                self.tell(i, |client| client.deliver(ticket, &answer));
            }
            Step::Forbid(i, rights) => {
                self.budget.prohibitions -= 1;
                self.clients[i].rights = rights;
                self.laws.left(i);
            }
            Step::OperatorDeletes(name) => {
                self.budget.deletions -= 1;
                self.commit(None, &Request::Write(super::server::Change::Delete(name)));
            }
            _ => unreachable!("no fault"),
        }
    }

    fn tell(&mut self, i: usize, act: impl FnOnce(&mut Client) -> Result<Option<Told>, String>) {
        let told = act(&mut self.clients[i]);
        self.heard(i, told);
    }

    fn heard(&mut self, i: usize, told: Result<Option<Told>, String>) {
        match told {
            Ok(Some(told)) => self.laws.told(&self.clients[i], told, self.server.tip()),
            Ok(None) => {}
            Err(fault) => self.laws.break_with(format!("{i}: {fault}")),
        }
        if self.clients[i].failed() && self.clients[i].rights == Rights::All {
            self.laws.break_with(format!("{i}: failed"));
        }
    }

    fn execute(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (ticket, request) = client.request.take().expect("a request");
        if let Some(refusal) = client.refusal(&request).filter(|_| client.session_lives) {
            if !request.reads() {
                client.in_doubt = None;
            }
            return self.refuse(i, ticket, refusal);
        }
        if request.reads() {
            let answer = self.server.read(client.applied, &request);
            client.seen = client.applied;
            if let Request::Exists(name, Watch::Own | Watch::Other) = request {
                client.watches.push((ticket, name));
                if let (Name::Node, Answer::Exists(stat)) = (name, &answer) {
                    client.waits_for.get_or_insert(stat.token);
                }
                client.drop_watches();
            }
            return self.tell(i, |client| client.deliver(ticket, &answer));
        }
        if !client.session_lives {
            client.request = Some((ticket, request));
            return self.tell(i, Client::disconnect);
        }
        // It is executed behind what the session sent before.
        client.in_doubt = None;
        let answer = self.write(i, &request);
        let end = self.server.end();
        self.clients[i].due = Some((end, ticket, answer));
        self.deliver_due(i);
    }

    fn refuse(&mut self, i: usize, ticket: Ticket, refusal: Failure) {
        self.tell(i, |client| client.deliver(ticket, &Answer::Failed(refusal)));
        let client = &self.clients[i];
        if client.phase() == Phase::CleaningUp && client.request.is_some() {
            self.laws.break_with(format!("{i}: asks at once for what was refused"));
        }
    }

    fn write(&mut self, i: usize, request: &Request) -> Answer {
        self.commit(Some(i), request)
    }

    fn commit(&mut self, author: Option<usize>, request: &Request) -> Answer {
        let before = self.server.end();
        let answer = self.server.write(request);
        if self.server.end() > before {
            self.laws.committed(author, &self.server.trees[before..], &self.clients);
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
            self.tell(i, |client| client.deliver(ticket, &answer));
        }
    }

    fn apply(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (before, after) = (client.applied, client.applied + 1);
        client.applied = after;
        for (name, change) in changes(&self.server.trees[before], &self.server.trees[after]) {
            for told in self.clients[i].fire(name, change) {
                self.heard(i, told);
            }
        }
        self.deliver_due(i);
    }

    fn expire(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.session_lives = false;
        client.in_doubt = None;
        let session = client.session;
        let owned = self.server.tip().iter().filter(|(_, znode)| znode.owner == Some(session));
        let deletes: Vec<_> = owned.map(|(name, _)| super::server::Change::Delete(*name)).collect();
        self.commit(None, &Request::Multi(deletes));
    }

    fn learn_expiry(&mut self, i: usize) {
        if self.clients[i].is_up() {
            return self.tell(i, Client::disconnect);
        }
        let client = &mut self.clients[i];
        client.link = Link::New;
        client.session_lives = true;
        client.session = SessionId::new(client.session.get() + 1);
        self.tell(i, |client| client.feed(Event::SessionExpired));
    }

    fn bound_the_lag(&mut self) {
        for i in 0..self.clients.len() {
            while self.clients[i].applied + self.max_lag < self.server.end() {
                if self.clients[i].is_up() {
                    self.apply(i);
                } else {
                    self.clients[i].applied += 1;
                    self.clients[i].seen = self.clients[i].applied;
                }
            }
        }
        let live = self.clients.iter().filter(|client| client.link != Link::Dead);
        let least = live.map(|client| client.seen.min(client.applied)).min();
        let least = least.unwrap_or(self.server.end());
        self.server.fold(least);
        for client in &mut self.clients {
            client.applied = client.applied.saturating_sub(least);
            client.seen = client.seen.saturating_sub(least);
            if let Some((position, ..)) = &mut client.due {
                *position -= least;
            }
        }
    }
}

/// Returns the watch events of a commit.
fn changes(before: &Tree, after: &Tree) -> Vec<(Name, Change)> {
    let mut changes = Vec::new();
    for (name, znode) in before {
        match after.get(name) {
            None => changes.push((*name, Change::Deleted)),
            Some(now) if now.version != znode.version => changes.push((*name, Change::Data)),
            Some(_) => {}
        }
    }
    let created = after.keys().filter(|name| !before.contains_key(name));
    changes.extend(created.map(|name| (*name, Change::Created)));
    changes
}

/// Whether it is told by this that it is inside.
pub const fn is_inside(told: Told) -> bool {
    matches!(told, Told::Double(DoubleBarrierNotice::Inside))
}

/// Whether it is told by this that all have left.
pub const fn is_left(told: Told) -> bool {
    matches!(told, Told::Double(DoubleBarrierNotice::Ended(DoubleBarrierEnd::Left)))
}
