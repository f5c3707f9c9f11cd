//! What can happen next in a world.

use core::mem;

use election_core::{Change, Event, Failure, Notice, Role, SessionId, Token};

use super::client::{Client, Delivery, Due, InDoubt, Link, SESSIONS, Watcher};
use super::server::{Answer, Entry, Name, Request};
use super::{ANY_NUMBER, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client's link comes up: in a session that it had, at a server that has applied no more
    /// than this session has seen.
    Connect(usize),
    /// The same, but the server hands out a new session while the old one lives on.
    ConnectToNewSession(usize),
    /// The client asks for its session, and learns that it is dead.
    LearnOfExpiry(usize),
    Disconnect(usize),
    /// The client's next request is executed; a read by a server that lacks so many of the
    /// committed changes, which is also when its reply arrives.
    Execute(usize, usize),
    /// The next reply or change that the client's server has for it arrives.
    Hear(usize),
    /// A request of a lost connection is executed.
    ApplyInDoubt(usize, usize),
    /// The requests of lost connections will never be executed.
    DropInDoubt(usize),
    /// The client receives what came on a lost connection.
    DeliverStraggler(usize, usize),
    /// The session of a client expires, whether it is connected or not.
    Expire(usize),
    /// Sessions expire that the client had before.
    ExpireFormer(usize),
    Withdraw(usize),
    LeaseLapse(usize),
    OperatorDeletes(Name),
    OperatorWrites(Name),
    OperatorWipes,
}

impl Step {
    /// Whether the step is none of the world's budget: it happens by itself, sooner or later.
    pub fn is_calm(self, world: &World) -> bool {
        match self {
            Self::Connect(_)
            | Self::LearnOfExpiry(_)
            | Self::Execute(..)
            | Self::Hear(_)
            | Self::ApplyInDoubt(..)
            | Self::DropInDoubt(_)
            | Self::ExpireFormer(_) => true,
            Self::Disconnect(i) => !world.clients[i].session_lives,
            Self::ConnectToNewSession(_)
            | Self::DeliverStraggler(..)
            | Self::Expire(_)
            | Self::Withdraw(_)
            | Self::LeaseLapse(_)
            | Self::OperatorDeletes(_)
            | Self::OperatorWrites(_)
            | Self::OperatorWipes => false,
        }
    }
}

/// The next thing that a client hears.
enum Heard {
    Reply,
    /// The server applies the log up to and with the entry at this position.
    Entry(usize),
}

impl World {
    /// Every step that can be taken.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for client in self.clients.iter().filter(|client| !client.is_idle_for_good()) {
            self.calm_steps_of(client, &mut steps);
            self.faults_of(client, &mut steps);
        }
        for client in &self.clients {
            let owners = || self.server.tip.znodes.iter().map(|znode| znode.owner);
            if owners().any(|owner| is_former(client, owner)) {
                steps.push(Step::ExpireFormer(client.index));
            }
        }
        for znode in &self.server.tip.znodes {
            if self.budget.deletions > 0 {
                steps.push(Step::OperatorDeletes(znode.name));
            }
            if self.budget.writes > 0 {
                steps.push(Step::OperatorWrites(znode.name));
            }
        }
        if self.budget.wipes > 0 && self.server.tip.has_election_node {
            steps.push(Step::OperatorWipes);
        }
        steps
    }

    fn calm_steps_of(&self, client: &Client, steps: &mut Vec<Step>) {
        let i = client.index;
        match client.link {
            Link::Up => {
                if self.next_heard(client).is_some() {
                    steps.push(Step::Hear(i));
                }
                self.executions(client, steps);
            }
            Link::New => steps.push(Step::Connect(i)),
            Link::Down if client.session_lives => steps.push(Step::Connect(i)),
            Link::Down => steps.push(Step::LearnOfExpiry(i)),
        }
        for k in 0..client.in_doubt.len() {
            steps.push(Step::ApplyInDoubt(i, k));
        }
        if !client.in_doubt.is_empty() {
            steps.push(Step::DropInDoubt(i));
        }
    }

    /// A read is offered once for each answer that it can get, by the server that is farthest
    /// behind: whatever a server can do that is ahead of it, that one can do later.
    fn executions(&self, client: &Client, steps: &mut Vec<Step>) {
        let Some((_, request)) = client.requests.front() else {
            return;
        };
        if !request.reads() {
            if client.session_lives {
                steps.push(Step::Execute(client.index, 0));
            }
            return;
        }
        if !client.due.is_empty() {
            return;
        }
        let nearest = match self.next_heard(client) {
            Some(Heard::Entry(position)) => position,
            Some(Heard::Reply) | None => self.server.end(),
        };
        let mut answers = Vec::new();
        for position in client.applied..=nearest {
            let answer = self.server.read(position, *request);
            if !answers.contains(&answer) {
                answers.push(answer);
                steps.push(Step::Execute(client.index, self.server.end() - position));
            }
        }
    }

    fn faults_of(&self, client: &Client, steps: &mut Vec<Step>) {
        let i = client.index;
        let mut offer = |step, is_possible: bool| {
            if is_possible {
                steps.push(step);
            }
        };
        let budget = self.budget;
        let (up, lives) = (client.is_up(), client.session_lives);
        let down = client.link == Link::Down;
        offer(Step::ConnectToNewSession(i), down && lives && budget.swaps > 0);
        offer(Step::Disconnect(i), up && (budget.losses > 0 || !lives));
        offer(Step::Expire(i), (up || down) && lives && budget.expiries > 0);
        for k in 0..client.stragglers.len() {
            offer(Step::DeliverStraggler(i, k), budget.stragglers > 0);
        }
        let stands = !client.withdrawn && !client.is_ended();
        offer(Step::Withdraw(i), stands && budget.withdrawals > 0);
        let leads = matches!(client.nominee.role(), Role::Leading { .. } | Role::Suspended { .. });
        offer(Step::LeaseLapse(i), leads && budget.lapses > 0);
    }

    fn next_heard(&self, client: &Client) -> Option<Heard> {
        if !client.is_up() {
            return None;
        }
        let due = client.due.front().map_or(usize::MAX, |due| due.position);
        for position in client.applied..=self.server.end() {
            if due <= position {
                return Some(Heard::Reply);
            }
            let concerns = match self.server.log.get(position) {
                Some(Entry::Deleted(name) | Entry::Written(name)) => {
                    client.watchers.iter().any(|watcher| watcher.name == *name)
                }
                Some(Entry::SessionClosed(session)) => *session == client.session,
                _ => false,
            };
            if concerns {
                return Some(Heard::Entry(position));
            }
        }
        None
    }

    /// Whether nothing that the client asked for or watches is on its way.
    pub fn is_quiet(&self, client: &Client) -> bool {
        client.is_up() && client.requests.is_empty() && self.next_heard(client).is_none()
    }

    /// Whether the client's server has something for it.
    pub fn has_news(&self, client: usize) -> bool {
        self.next_heard(&self.clients[client]).is_some()
    }

    /// Takes a step, which must be one of [`steps`](Self::steps); panics in a test if it is not.
    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                let client = &mut self.clients[i];
                client.applied =
                    if client.link == Link::New { self.server.end() } else { client.seen };
                self.connect(i);
            }
            Step::ConnectToNewSession(i) => {
                spend(&mut self.budget.swaps);
                let client = &mut self.clients[i];
                client.session = next_session(client.session);
                client.applied = self.server.end();
                self.connect(i);
            }
            Step::LearnOfExpiry(i) => {
                let client = &mut self.clients[i];
                client.session = next_session(client.session);
                client.session_lives = true;
                client.link = Link::New;
                self.tell(i, |client| client.feed(Event::SessionExpired));
            }
            Step::Disconnect(i) => {
                if self.clients[i].session_lives {
                    spend(&mut self.budget.losses);
                }
                self.disconnect(i);
            }
            Step::Execute(i, behind) => self.execute(i, behind),
            Step::Hear(i) => self.hear(i),
            Step::ApplyInDoubt(i, k) => {
                let InDoubt { session, request } = self.clients[i].in_doubt.remove(k);
                self.server.write((i, session), request);
            }
            Step::DropInDoubt(i) => self.clients[i].in_doubt.clear(),
            Step::DeliverStraggler(i, k) => {
                spend(&mut self.budget.stragglers);
                let delivery = self.clients[i].stragglers.remove(k);
                self.tell(i, |client| client.deliver(delivery));
            }
            Step::Expire(i) => self.expire(i),
            Step::ExpireFormer(i) => {
                let client = &mut self.clients[i];
                client.in_doubt.retain(|lost| lost.session == client.session);
                let client = &self.clients[i];
                self.server.expire(|owner| is_former(client, owner));
            }
            Step::Withdraw(i) => {
                spend(&mut self.budget.withdrawals);
                self.tell(i, Client::withdraw);
            }
            Step::LeaseLapse(i) => {
                spend(&mut self.budget.lapses);
                self.tell(i, |client| client.feed(Event::LeaseLapsed));
            }
            Step::OperatorDeletes(_) | Step::OperatorWrites(_) | Step::OperatorWipes => {
                self.operate(step);
            }
        }
        self.bound_the_lag();
    }

    /// Takes every step that is no fault, until none is left.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let Some(step) = self.steps().into_iter().find(|step| step.is_calm(self)) else {
                return;
            };
            self.take(step);
            if let Some(fault) = &self.fault {
                panic!("{fault}");
            }
        }
        panic!("never comes to rest");
    }

    fn connect(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.verified = None;
        client.link = Link::Up;
        client.seen = client.applied;
        let session = client.session;
        self.tell(i, |client| client.feed(Event::Connected { session }));
    }

    fn disconnect(&mut self, i: usize) {
        self.set_stragglers_aside(i);
        let client = &mut self.clients[i];
        client.link = Link::Down;
        client.applied = client.seen;
        client.verified = None;
        client.watchers.clear();
        let unanswered: Vec<_> = client.unanswered().collect();
        client.due.clear();
        for (_, request) in mem::take(&mut client.requests) {
            let lost = InDoubt { session: client.session, request };
            if request.writes() && client.session_lives && !client.in_doubt.contains(&lost) {
                client.in_doubt.push(lost);
            }
        }
        self.tell(i, |client| client.feed(Event::Disconnected));
        for ticket in unanswered {
            let result = Err(Failure::ConnectionLoss);
            self.tell(i, |client| client.feed(Event::Reply { ticket, result }));
        }
    }

    /// What the client's server may have sent on the connection that is about to be lost.
    fn set_stragglers_aside(&mut self, i: usize) {
        if self.budget.stragglers == 0 {
            return;
        }
        let client = &self.clients[i];
        let mut stragglers = Vec::new();
        for Due { ticket, answer, .. } in &client.due {
            if matches!(answer, Answer::Created(_)) {
                stragglers.push(Delivery::Reply(*ticket, answer.clone()));
            }
        }
        if let Some((ticket, request @ Request::Read(_))) = client.requests.front() {
            let answer = self.server.read(client.applied, *request);
            if matches!(answer, Answer::Read(..)) {
                stragglers.push(Delivery::Reply(*ticket, answer));
            }
        }
        for Watcher { ticket, name } in &client.watchers {
            let change = self.server.log[client.applied..].iter().find_map(|entry| match entry {
                Entry::Deleted(deleted) if deleted == name => Some(Change::Deleted),
                Entry::Written(written) if written == name => Some(Change::Data),
                _ => None,
            });
            stragglers.extend(change.map(|change| Delivery::Changed(*ticket, change)));
        }
        self.clients[i].stragglers.extend(stragglers);
    }

    fn execute(&mut self, i: usize, behind: usize) {
        let client = &mut self.clients[i];
        let (ticket, request) = client.requests.pop_front().expect("a request");
        let session = client.session;
        if request.reads() {
            client.applied = self.server.end() - behind;
            client.seen = client.applied;
            let answer = self.server.read(client.applied, request);
            if let (Request::Read(name), Answer::Read(..)) = (request, &answer) {
                client.watchers.push(Watcher { ticket, name });
            }
            self.tell(i, |client| client.deliver_read(ticket, answer));
            return;
        }
        if request == Request::Sync {
            // What this session sent before is applied or refused by now.
            client.in_doubt.retain(|lost| lost.session != session);
        }
        let answer = self.server.write((i, session), request);
        self.clients[i].due.push_back(Due { position: self.server.end(), ticket, answer });
    }

    fn hear(&mut self, i: usize) {
        match self.next_heard(&self.clients[i]).expect("something to hear") {
            Heard::Reply => {
                let client = &mut self.clients[i];
                let Due { position, ticket, answer } = client.due.pop_front().expect("a reply");
                client.applied = client.applied.max(position);
                client.seen = client.applied;
                self.tell(i, |client| client.deliver(Delivery::Reply(ticket, answer)));
            }
            // A notification does not count as seen (protocol, section 3.4).
            Heard::Entry(position) => {
                self.clients[i].applied = position + 1;
                let (name, change) = match self.server.log[position] {
                    Entry::Deleted(name) => (name, Change::Deleted),
                    Entry::Written(name) => (name, Change::Data),
                    _ => return self.disconnect(i),
                };
                let watchers = mem::take(&mut self.clients[i].watchers);
                let (fired, kept): (Vec<_>, Vec<_>) =
                    watchers.into_iter().partition(|watcher| watcher.name == name);
                self.clients[i].watchers = kept;
                for Watcher { ticket, .. } in fired {
                    self.tell(i, |client| client.deliver(Delivery::Changed(ticket, change)));
                }
            }
        }
    }

    fn expire(&mut self, i: usize) {
        spend(&mut self.budget.expiries);
        let client = &mut self.clients[i];
        client.session_lives = false;
        let (session, is_up) = (client.session, client.is_up());
        client.in_doubt.retain(|lost| lost.session != session);
        self.server.expire(|owner| owner == session);
        if is_up {
            self.server.commit(Entry::SessionClosed(session));
        }
    }

    fn operate(&mut self, step: Step) {
        let evicted = |name| self.server.find(name).map(|znode| (name, znode.token));
        match step {
            Step::OperatorDeletes(name) => {
                spend(&mut self.budget.deletions);
                self.evicted.extend(evicted(name));
                self.server.commit(Entry::Deleted(name));
            }
            Step::OperatorWrites(name) => {
                spend(&mut self.budget.writes);
                self.server.commit(Entry::Written(name));
            }
            _ => {
                spend(&mut self.budget.wipes);
                let all = self.server.tip.znodes.iter().map(|znode| (znode.name, znode.token));
                self.evicted.extend(all);
                self.server.wipe();
            }
        }
    }

    /// No server lags more than `max_lag` changes behind, and what none of them lags behind is
    /// forgotten.
    fn bound_the_lag(&mut self) {
        for i in 0..self.clients.len() {
            loop {
                let end = self.server.end();
                let client = &mut self.clients[i];
                if client.is_idle_for_good() {
                    client.watchers.clear();
                    (client.applied, client.seen) = (end, end);
                }
                if !client.has_a_server() {
                    (client.applied, client.seen) = (end, end);
                }
                let least = end.saturating_sub(self.max_lag);
                client.seen = client.seen.max(least);
                if !client.is_up() {
                    client.applied = client.seen;
                }
                let client = &self.clients[i];
                if client.applied >= least {
                    break;
                }
                match self.next_heard(client) {
                    Some(Heard::Entry(position)) if position < least => self.hear(i),
                    Some(Heard::Reply)
                        if client.due.front().is_some_and(|due| due.position < least) =>
                    {
                        self.hear(i);
                    }
                    _ => self.clients[i].applied = least,
                }
            }
        }
        self.forget_vain_deletions();
        let end = self.server.end();
        let reach = |client: &Client| {
            if client.session_lives { client.seen } else { client.applied }
        };
        let folded = self.clients.iter().map(reach).min().unwrap_or(end);
        self.server.fold(folded);
        for client in &mut self.clients {
            client.applied -= folded;
            client.seen = client.seen.saturating_sub(folded);
            for due in &mut client.due {
                due.position = due.position.saturating_sub(folded);
            }
        }
        self.forget_evictions();
    }

    /// A deletion in doubt of a znode that is gone can do nothing any more, unless its name comes
    /// around again.
    fn forget_vain_deletions(&mut self) {
        if self.numbers_matter {
            return;
        }
        for client in &mut self.clients {
            client.in_doubt.retain(|lost| match lost.request {
                Request::Delete(name, _) => self.server.find(name).is_some(),
                _ => true,
            });
        }
    }

    /// An eviction counts until the evicted can know of it no longer.
    fn forget_evictions(&mut self) {
        let (clients, log) = (&self.clients, &self.server.log);
        self.evicted.retain(|(name, _)| {
            log.contains(&Entry::Deleted(*name))
                || clients[name.client].candidate() == Some(*name)
                || clients[name.client].due.iter().any(|due| due.answer == Answer::Created(*name))
        });
    }

    fn tell(&mut self, i: usize, act: impl FnOnce(&mut Client) -> Result<Option<Notice>, String>) {
        let client = &mut self.clients[i];
        let told = act(client);
        let told = client.take_down_watches().and(told);
        match told {
            Ok(Some(Notice::Elected(token))) => self.elected(i, token),
            Ok(_) => {}
            Err(fault) => self.fault = Some(format!("{i}: {fault}")),
        }
    }

    /// Tokens grow from leader to leader, unless the newer one's znode is gone when it hears of
    /// its election.
    fn elected(&mut self, i: usize, token: Token) {
        let stands = self.server.tip.znodes.iter().any(|znode| znode.token == token);
        if stands && token.get() <= self.greatest_token {
            self.fault = Some(format!("{i}: elected with {token}, after {}", self.greatest_token));
        }
        self.greatest_token = self.greatest_token.max(token.get());
        let client = &self.clients[i];
        if !client.watchers.iter().any(|watcher| Some(watcher.name) == client.candidate()) {
            self.fault = Some(format!("{i}: elected without a watch on the own znode"));
        }
    }
}

fn spend(budget: &mut u8) {
    if *budget != ANY_NUMBER {
        *budget = budget.saturating_sub(1);
    }
}

fn next_session(session: SessionId) -> SessionId {
    SessionId::new(session.get() + 1)
}

pub fn is_former(client: &Client, session: SessionId) -> bool {
    session.get() / SESSIONS == client.session.get() / SESSIONS && session < client.session
}
