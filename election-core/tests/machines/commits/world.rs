//! Clients at one transaction, and every step that may come next.

use std::collections::{BTreeMap, VecDeque};

use election_core::{
    Change as Fired, CommitTask, Event, Failure, NomineeId, SessionId, SiteName, Watch,
};

use super::client::{Client, Course, DROPPED, Errand, Link, Told, is_fired};
use super::laws::{Laws, Permissions};
use super::server::{Answer, Applies, Change, Owned, Request, Server, Tree};
use super::step::{Budget, Step};

/// The remains of a process that was killed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ghost {
    site: Option<SiteName>,
    session: SessionId,
    pub writes: VecDeque<Request>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub server: Server,
    pub clients: Vec<Client>,
    pub ghosts: Vec<Ghost>,
    pub budget: Budget,
    pub max_lag: usize,
    pub laws: Laws,
}

impl World {
    /// Makes a world, with a transaction that is begun for these sites, if there are any.
    pub fn new(id: NomineeId, begun: &[SiteName], budget: Budget) -> Self {
        let mut tree = Tree::new();
        if !begun.is_empty() {
            tree.insert(String::new(), Owned::Persistent);
            tree.insert(format!("open-{id}"), Owned::Persistent);
            tree.extend(begun.iter().map(|site| (format!("invited-{site}"), Owned::Persistent)));
        }
        let sites = begun.iter().map(|site| site.as_str().to_owned()).collect();
        let permissions = match budget.refusals {
            0 => Permissions::Kept,
            _ => Permissions::Change,
        };
        let laws = Laws::new(BTreeMap::from([(id, sites)]), &tree, permissions);
        let (server, clients, ghosts) = (Server::new(tree), Vec::new(), Vec::new());
        Self { server, clients, ghosts, budget, max_lag: 1, laws }
    }

    pub fn client(mut self, site: Option<&SiteName>, errands: Vec<Errand>) -> Self {
        for errand in &errands {
            if let Errand::Begin(id, sites) = errand {
                let sites = sites.iter().map(|site| site.as_str().to_owned()).collect();
                self.laws.sites.insert(*id, sites);
            }
        }
        self.clients.push(Client::new(self.clients.len(), site.cloned(), errands));
        self
    }

    pub fn lagging(mut self, max_lag: usize) -> Self {
        self.max_lag = max_lag;
        self
    }

    /// Lets servers answer reads while they apply a transaction.
    pub fn part_by_part(mut self) -> Self {
        self.server.applies = Applies::PartByPart;
        self
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                let client = &mut self.clients[i];
                if client.link == Link::New && client.course == Course::At(0) {
                    self.laws.begin(i, id_of(client), self.server.tip());
                }
                client.link = Link::Up;
                let session = self.clients[i].session;
                self.tell_all(i, |client, actor| client.feed(actor, Event::Connected { session }));
            }
            Step::Execute(i) => self.execute(i),
            Step::Apply(i) => self.apply(i),
            Step::LearnExpiry(i) => self.learn_expiry(i),
            Step::Look(i) => {
                self.tell_all(i, |client, actor| client.feed(actor, Event::Look));
            }
            Step::BeginAgain(i) => {
                self.clients[i].begin_again();
                self.laws.begin(i, id_of(&self.clients[i]), self.server.tip());
                if self.clients[i].is_up() {
                    let session = self.clients[i].session;
                    self.tell(i, 0, |client| client.feed(0, Event::Connected { session }));
                }
            }
            Step::Bury(k) => {
                let ghost = self.ghosts.remove(k);
                self.end_session(ghost.session);
            }
            Step::ApplyGhost(k) => {
                let ghost = &mut self.ghosts[k];
                let request = ghost.writes.pop_front().expect("a write");
                let site = ghost.site.clone();
                self.commit(site.as_ref(), &request);
            }
            Step::ApplyInDoubt(i) => {
                let request = self.clients[i].in_doubt.pop_front().expect("a write");
                let site = self.clients[i].site.clone();
                self.commit(site.as_ref(), &request);
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
                self.disconnect(i);
            }
            Step::Expire(i) => {
                self.budget.expiries -= 1;
                let client = &mut self.clients[i];
                client.session_lives = false;
                client.in_doubt.clear();
                let session = client.session;
                self.end_session(session);
            }
            Step::Kill(i) => {
                self.budget.crashes -= 1;
                let client = &mut self.clients[i];
                client.lose_link();
                let (session, writes) = (client.session, core::mem::take(&mut client.in_doubt));
                self.ghosts.push(Ghost { site: client.site.clone(), session, writes });
                client.link = Link::New;
                client.session = SessionId::new(session.get() + 1);
                client.dropped = None;
                client.begin();
            }
            Step::Withdraw(i) => {
                self.budget.withdrawals -= 1;
                self.clients[i].course = Course::GivenUp;
                self.tell_all(i, Client::withdraw);
            }
            Step::LoseWatch(i, k) => {
                self.budget.lost_watches -= 1;
                let (actor, ticket, _) = self.clients[i].watches.remove(k);
                let change = Fired::Lost;
                self.tell(i, actor, |client| client.feed(actor, Event::Changed { ticket, change }));
            }
            Step::Throttle(i) => {
                self.budget.throttles -= 1;
                let (actor, ticket, _) = self.clients[i].requests.pop_front().expect("a request");
                let answer = Answer::Failed(Failure::Throttled);
                self.tell(i, actor, |client| client.deliver(actor, ticket, &answer));
            }
            Step::Refuse(i) => {
                self.budget.refusals -= 1;
                self.refuse(i);
            }
            _ => unreachable!("no fault"),
        }
    }

    fn tell_all(
        &mut self,
        i: usize,
        act: impl Fn(&mut Client, usize) -> Result<Option<Told>, String>,
    ) {
        for actor in self.clients[i].actors() {
            self.tell(i, actor, |client| act(client, actor));
        }
    }

    fn tell(
        &mut self,
        i: usize,
        actor: usize,
        act: impl FnOnce(&mut Client) -> Result<Option<Told>, String>,
    ) {
        match act(&mut self.clients[i]) {
            Ok(Some(told)) => self.heard(i, actor, told),
            Ok(None) => {}
            Err(fault) => self.laws.break_with(format!("{i}: {fault}")),
        }
    }

    /// Notes a machine's notice, and takes the client's next errand.
    fn heard(&mut self, i: usize, actor: usize, told: Told) {
        let client = &self.clients[i];
        let id = id_of(client);
        self.laws.told(client, client.machine(actor).task(), id, told);
        let Course::At(at) = client.course else { return };
        if actor == DROPPED {
            return;
        }
        let joins = matches!(client.machine(actor).task(), Some(CommitTask::Join(_)));
        let next = match (joins, told) {
            (true, Told::Party(election_core::CommitSiteNotice::Joined(_))) => 0,
            (true, _) if client.machines.len() > 1 => return,
            _ => client.after(at, told),
        };
        self.go_on(i, next);
    }

    fn go_on(&mut self, i: usize, next: usize) {
        let client = &mut self.clients[i];
        let first = usize::from(client.site.is_some());
        client.watches.retain(|watch| watch.0 < first);
        client.machines.truncate(first.max(1));
        if next >= client.errands.len() {
            client.course = Course::Done;
            if first == 1 {
                self.tell(i, 0, |client| client.withdraw(0));
            }
            return;
        }
        client.course = Course::At(next);
        let machine = client.errand(next);
        client.machines.truncate(first);
        client.machines.push(machine);
        let session = client.session;
        self.laws.begin(i, id_of(client), self.server.tip());
        if self.clients[i].is_up() {
            self.tell(i, first, |client| client.feed(first, Event::Connected { session }));
        }
    }

    fn disconnect(&mut self, i: usize) {
        self.clients[i].lose_link();
        self.tell_all(i, |client, actor| client.feed(actor, Event::Disconnected));
    }

    fn execute(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (actor, ticket, request) = client.requests.pop_front().expect("a request");
        if request.reads() {
            let answer = self.server.read(client.applied, &request);
            client.seen = client.applied;
            let leaves_a_watch = match &request {
                Request::List(watch) => {
                    *watch != Watch::None && matches!(answer, Answer::Children(_))
                }
                // As a machine leaves one, or does not, when it leaves.
                _ => true,
            };
            if leaves_a_watch {
                client.watches.push((actor, ticket, request));
                client.drop_watches();
            }
            return self.tell(i, actor, |client| client.deliver(actor, ticket, &answer));
        }
        if !client.session_lives {
            return self.disconnect(i);
        }
        // It is executed behind what the session sent before.
        client.in_doubt.clear();
        let site = client.site.clone();
        let before = self.server.tip().clone();
        let answer = self.commit(site.as_ref(), &request);
        let deletes_live =
            matches!(&request, Request::Delete(name, _) if name.starts_with("live-"));
        if actor == DROPPED && deletes_live && answer == Answer::Deleted {
            self.laws.dropped_deletes(&self.clients[i], &before);
        }
        let end = self.server.end();
        self.clients[i].due = Some((end, actor, ticket, answer));
        self.deliver_due(i);
    }

    /// Refuses a request for want of permission.
    fn refuse(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (actor, ticket, request) = client.requests.pop_front().expect("a request");
        let failure = match &request {
            Request::Multi(changes) => Failure::Aborted { part: changes.len() - 1, code: -102 },
            _ => Failure::NoAuth,
        };
        if !request.reads() {
            client.in_doubt.clear();
        }
        let answer = Answer::Failed(failure);
        self.tell(i, actor, |client| client.deliver(actor, ticket, &answer));
    }

    fn commit(&mut self, author: Option<&SiteName>, request: &Request) -> Answer {
        let before = self.server.tip().clone();
        let answer = self.server.write(request);
        if before != *self.server.tip() {
            self.laws.committed(author, &before, self.server.tip());
        }
        answer
    }

    fn deliver_due(&mut self, i: usize) {
        let client = &mut self.clients[i];
        if let Some((position, actor, ticket, answer)) =
            client.due.take_if(|due| due.0 <= client.applied)
        {
            let _ = position;
            client.seen = client.applied;
            self.tell(i, actor, |client| client.deliver(actor, ticket, &answer));
        }
    }

    fn apply(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (before, after) = (client.applied, client.applied + 1);
        client.applied = after;
        let changes = changes(&self.server.trees[before], &self.server.trees[after]);
        for (name, change) in changes {
            let client = &mut self.clients[i];
            let is_hit = |watch: &mut (usize, _, Request)| is_fired(&watch.2, &name, change);
            let fired: Vec<_> = client.watches.extract_if(.., is_hit).collect();
            for (actor, ticket, _) in fired {
                self.tell(i, actor, |client| client.feed(actor, Event::Changed { ticket, change }));
            }
        }
        self.deliver_due(i);
    }

    fn end_session(&mut self, session: SessionId) {
        let owned = self.server.tip().iter().filter(|(_, owned)| owned.is_by(session));
        let deletes: Vec<_> = owned.map(|(name, _)| Change::Delete(name.clone())).collect();
        self.commit(None, &Request::Multi(deletes));
    }

    fn learn_expiry(&mut self, i: usize) {
        if self.clients[i].is_up() {
            return self.disconnect(i);
        }
        let client = &mut self.clients[i];
        client.link = Link::New;
        client.session_lives = true;
        client.session = SessionId::new(client.session.get() + 1);
        self.tell_all(i, |client, actor| client.feed(actor, Event::SessionExpired));
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
        let least = self.clients.iter().map(|client| client.seen.min(client.applied)).min();
        let least = least.unwrap_or(self.server.end());
        self.server.fold(least);
        for client in &mut self.clients {
            client.applied -= least;
            client.seen -= least;
            if let Some((position, ..)) = &mut client.due {
                *position -= least;
            }
        }
    }
}

/// Returns the transaction that a client means.
fn id_of(client: &Client) -> NomineeId {
    let at = match client.course {
        Course::At(at) => at,
        Course::Done | Course::GivenUp => 0,
    };
    let (Errand::Begin(id, _) | Errand::Task(_, id)) = client.errands[at];
    id
}

/// Returns the watch events of a commit.
fn changes(before: &Tree, after: &Tree) -> Vec<(String, Fired)> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let created = after.keys().filter(|name| !before.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Fired::Deleted));
    gone.chain(created.map(|name| (name.clone(), Fired::Created))).collect()
}
