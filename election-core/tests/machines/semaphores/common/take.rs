//! The effects of a step.

use election_core::{Change, Event, Failure, Hold, Recipe as _, SessionId, Stat};

use super::World;
use super::client::{Answer, Delivery, Request, Watched};
use super::step::{Fate, Fault, Step};
use super::tree::{Home, Tree, Znode};

impl World {
    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(index) => self.connect(index),
            Step::Execute(index) => self.execute(index),
            Step::Hear(index) => {
                if let Some(delivery) = self.clients[index].inbox.pop_front() {
                    self.deliver(index, delivery);
                }
            }
            Step::Apply(index) => self.apply_one(index),
            Step::Orphan(index, fate) => {
                if let (Some((session, request)), Fate::Executed) =
                    (self.clients[index].orphans.pop_front(), fate)
                    && self.sessions.contains(&session)
                {
                    self.write(session, &request);
                }
            }
            Step::Close(index) => self.lose(index),
            Step::Look(index) => self.feed(index, Event::Look),
            Step::EndAbandoned(at) => {
                let session = self.sessions[at];
                self.end_session(session);
            }
            Step::Fault(fault) => self.go_wrong(fault),
        }
        for client in &mut self.clients {
            client.take_down_watches();
        }
    }

    fn go_wrong(&mut self, fault: Fault) {
        match fault {
            Fault::Lose(index) => {
                self.budget.losses -= 1;
                self.lose(index);
            }
            Fault::Expire(index) => {
                self.budget.expiries -= 1;
                if let Some(session) = self.clients[index].session {
                    self.end_session(session);
                }
            }
            Fault::Swap(index) => {
                self.budget.swaps -= 1;
                self.begin_session(index);
            }
            Fault::Lapse(index) => {
                self.budget.lapses -= 1;
                self.feed(index, Event::LeaseLapsed);
                if self.clients[index].holds() {
                    self.fault = Some(format!("{index}: holds past its lease"));
                }
            }
            Fault::Withdraw(index) => {
                self.budget.withdrawals -= 1;
                self.note_giving_up(index);
                self.withdraw(index);
            }
            Fault::Deadline(index) => {
                self.budget.deadlines -= 1;
                self.note_giving_up(index);
                self.feed(index, Event::Deadline);
            }
            Fault::Look(index) => {
                self.budget.looks -= 1;
                self.feed(index, Event::Look);
            }
            Fault::Throttle(index) => {
                self.budget.throttles -= 1;
                if let Some((ticket, _)) = self.clients[index].requests.pop_front() {
                    let answer = Answer::Failed(Failure::Throttled);
                    self.clients[index].inbox.push_back(Delivery::Reply(ticket, answer));
                }
            }
            Fault::Delete(at) => {
                self.budget.deletions -= 1;
                self.evict(at);
            }
            Fault::Reap(home) => {
                self.budget.reaps -= 1;
                let mut tree = self.newest().clone();
                match home {
                    Some(home) => tree.next[home as usize] = None,
                    None => tree.has_node = false,
                }
                self.commit(tree);
            }
        }
    }

    /// Deletes a znode, as an operator.
    fn evict(&mut self, at: usize) {
        let mut tree = self.newest().clone();
        let gone = tree.znodes.remove(at);
        for client in &mut self.clients {
            if client.session == gone.owner {
                client.evicted.push(gone.name.clone());
            }
        }
        self.commit(tree);
    }

    fn note_giving_up(&mut self, index: usize) {
        let client = &mut self.clients[index];
        client.has_given_up |= client.machine.hold() == Hold::None;
    }

    fn connect(&mut self, index: usize) {
        match self.clients[index].session {
            Some(session) if self.sessions.contains(&session) => {
                self.clients[index].is_up = true;
                self.feed(index, Event::Connected { session: SessionId::new(session) });
            }
            Some(_) => {
                self.clients[index].session = None;
                self.feed(index, Event::SessionExpired);
            }
            None => self.begin_session(index),
        }
    }

    /// Begins a session. It is committed, so its server lacks nothing.
    fn begin_session(&mut self, index: usize) {
        let client = &mut self.clients[index];
        client.sessions += 1;
        let session = i64::try_from(index).expect("few clients") * 100 + client.sessions;
        client.session = Some(session);
        (client.is_up, client.behind) = (true, 0);
        self.sessions.push(session);
        self.feed(index, Event::Connected { session: SessionId::new(session) });
    }

    fn end_session(&mut self, session: i64) {
        self.sessions.retain(|other| *other != session);
        let mut tree = self.newest().clone();
        tree.znodes.retain(|znode| znode.owner != Some(session));
        self.commit(tree);
    }

    fn lose(&mut self, index: usize) {
        self.clients[index].lose_link();
        self.feed(index, Event::Disconnected);
    }

    fn execute(&mut self, index: usize) {
        let Some((ticket, request)) = self.clients[index].requests.pop_front() else {
            return;
        };
        let answer = match (self.clients[index].session, &request) {
            (Some(session), request) if request.is_write() => {
                // From here on the server refuses requests of an earlier connection.
                self.clients[index].orphans.retain(|(of, _)| *of != session);
                let answer = self.write(session, request);
                while self.clients[index].behind > 0 {
                    self.apply_one(index);
                }
                answer
            }
            _ => self.read(index, &request),
        };
        let client = &mut self.clients[index];
        if let Some(watched) = watched_by(&request, &answer)
            && client.machine.awaits_change(ticket)
        {
            client.watches.push((ticket, watched));
        }
        self.bring(index, request.is_write(), Delivery::Reply(ticket, answer));
    }

    /// Delivers a message at once if it comes without a commit: a later delivery would be the same as a server that
    /// lags.
    fn bring(&mut self, index: usize, comes_later: bool, delivery: Delivery) {
        if comes_later || !self.clients[index].inbox.is_empty() {
            self.clients[index].inbox.push_back(delivery);
        } else {
            self.deliver(index, delivery);
        }
    }

    fn read(&self, index: usize, request: &Request) -> Answer {
        let tree = self.seen_by(index);
        match request {
            Request::List { home, .. } if tree.has(*home) => Answer::Children(tree.names(*home)),
            Request::Read { home, name, .. } => match tree.find(*home, name) {
                Some(znode) => Answer::Read(stat(znode)),
                None => Answer::Failed(Failure::NoNode),
            },
            _ => Answer::Failed(Failure::NoNode),
        }
    }

    fn write(&mut self, session: i64, request: &Request) -> Answer {
        let mut tree = self.newest().clone();
        let answer = match request {
            Request::Create { home, prefix } => match &mut tree.next[*home as usize] {
                None => Answer::Failed(Failure::NoNode),
                Some(next) => {
                    let name = format!("{prefix}{next:010}");
                    *next += 1;
                    self.created += 1;
                    let (owner, czxid) = (Some(session), self.created);
                    let znode = Znode { home: *home, name: name.clone(), owner, czxid };
                    let told = Some(stat(&znode)).filter(|_| self.knows_create2);
                    tree.znodes.push(znode);
                    Answer::Created(name, told)
                }
            },
            Request::CreateHome(_) if !tree.has_node => Answer::Failed(Failure::NoNode),
            Request::CreateHome(home) if tree.has(*home) => Answer::Failed(Failure::NodeExists),
            Request::CreateHome(home) => {
                tree.next[*home as usize] = Some(0);
                Answer::Created("home".to_owned(), None)
            }
            Request::CreateNode => {
                tree.has_node = true;
                Answer::NodeCreated
            }
            Request::Delete { home, name, .. } => {
                let before = tree.znodes.len();
                tree.znodes.retain(|znode| znode.home != *home || znode.name != *name);
                if tree.znodes.len() < before {
                    Answer::Deleted
                } else {
                    Answer::Failed(Failure::NoNode)
                }
            }
            Request::Barrier | Request::List { .. } | Request::Read { .. } => Answer::BarrierPassed,
        };
        if tree != *self.newest() {
            self.commit(tree);
        }
        answer
    }

    fn commit(&mut self, tree: Tree) {
        self.versions.push(tree);
        for index in 0..self.clients.len() {
            self.clients[index].behind += 1;
            while self.clients[index].behind > self.max_lag {
                self.apply_one(index);
            }
        }
        let kept = self.clients.iter().map(|client| client.behind).max().unwrap_or_default() + 1;
        self.versions.drain(..self.versions.len() - kept);
    }

    fn apply_one(&mut self, index: usize) {
        let before = self.seen_by(index).clone();
        self.clients[index].behind -= 1;
        let after = self.seen_by(index).clone();
        let client = &mut self.clients[index];
        let fired: Vec<_> = client
            .watches
            .iter()
            .filter_map(|(ticket, watched)| Some((*ticket, change(watched, &before, &after)?)))
            .collect();
        client.watches.retain(|(ticket, _)| fired.iter().all(|(fired, _)| fired != ticket));
        for (ticket, change) in fired {
            self.bring(index, false, Delivery::Changed(ticket, change));
        }
    }
}

fn stat(znode: &Znode) -> Stat {
    Stat::new(znode.owner.unwrap_or_default(), znode.czxid, 0)
}

fn watched_by(request: &Request, answer: &Answer) -> Option<Watched> {
    match (request, answer) {
        (Request::List { home, watch: true }, Answer::Children(_)) => {
            Some(Watched::Children(*home))
        }
        (Request::Read { home, name, watch: true }, Answer::Read(_)) => {
            Some(Watched::Znode(*home, name.clone()))
        }
        _ => None,
    }
}

fn change(watched: &Watched, before: &Tree, after: &Tree) -> Option<Change> {
    let names = |tree: &Tree, home: Home| tree.names(home);
    match watched {
        Watched::Znode(home, name) => after.find(*home, name).is_none().then_some(Change::Deleted),
        Watched::Children(home) if !after.has(*home) => Some(Change::Deleted),
        Watched::Children(home) => {
            (names(before, *home) != names(after, *home)).then_some(Change::Children)
        }
    }
}
