//! What can happen next in a world.

use core::mem;

use election_core::{Event, Failure, Notice, SessionId, Token};

use super::World;
use super::client::{Client, Delivery, InDoubt, Link};
use super::server::{Answer, Fired, Name, Request};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client's link comes up; with a new session if the old one is dead.
    Connect(usize),
    /// The same, but the server hands out a new session while the old one lives on.
    ConnectToNewSession(usize),
    Disconnect(usize),
    /// The server executes the client's next request.
    Execute(usize),
    /// The client receives the next reply or change.
    Deliver(usize),
    /// The server applies a request of a lost connection.
    ApplyInDoubt(usize, usize),
    /// The requests of lost connections will never be applied.
    DropInDoubt(usize),
    /// The client receives what came on a lost connection.
    DeliverStraggler(usize, usize),
    /// The server expires the session of a disconnected client.
    Expire(usize),
    /// The server expires sessions that the client had before.
    ExpireFormer(usize),
    Withdraw(usize),
    LeaseLapse(usize),
    OperatorDeletes(Name),
    OperatorWrites(Name),
    OperatorWipes,
}

impl World {
    /// Every step that can be taken.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for client in &self.clients {
            self.steps_of(client, &mut steps);
        }
        for znode in &self.server.znodes {
            if self.budget.deletions > 0 {
                steps.push(Step::OperatorDeletes(znode.name));
            }
            if self.budget.writes > 0 {
                steps.push(Step::OperatorWrites(znode.name));
            }
        }
        if self.budget.wipes > 0 && self.server.has_election_node {
            steps.push(Step::OperatorWipes);
        }
        steps
    }

    fn steps_of(&self, client: &Client, steps: &mut Vec<Step>) {
        let i = client.index;
        let mut offer = |step, is_possible: bool| {
            if is_possible {
                steps.push(step);
            }
        };
        let budget = self.budget;
        let down = client.link == Link::Down;
        offer(Step::Execute(i), client.is_up() && !client.requests.is_empty());
        offer(Step::Deliver(i), client.is_up() && !client.deliveries.is_empty());
        offer(Step::Connect(i), !client.is_up());
        offer(Step::ConnectToNewSession(i), down && client.session_lives && budget.swaps > 0);
        offer(Step::Disconnect(i), client.is_up() && budget.losses > 0);
        offer(Step::Expire(i), down && client.session_lives && budget.expiries > 0);
        offer(
            Step::ExpireFormer(i),
            self.server.znodes.iter().any(|znode| is_former(client, znode.owner)),
        );
        for k in 0..client.in_doubt.len() {
            offer(Step::ApplyInDoubt(i, k), true);
        }
        offer(Step::DropInDoubt(i), !client.in_doubt.is_empty());
        for k in 0..client.stragglers.len() {
            offer(Step::DeliverStraggler(i, k), budget.stragglers > 0);
        }
        let stands = !client.withdrawn && !client.is_ended();
        offer(Step::Withdraw(i), stands && budget.withdrawals > 0);
        offer(Step::LeaseLapse(i), stands && budget.lapses > 0);
    }

    /// Takes a step, which must be one of [`steps`](Self::steps); panics in a test if it is not.
    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => self.connect(i),
            Step::ConnectToNewSession(i) => {
                self.budget.swaps = self.budget.swaps.saturating_sub(1);
                self.clients[i].session = next_session(self.clients[i].session);
                self.connect(i);
            }
            Step::Disconnect(i) => self.disconnect(i),
            Step::Execute(i) => self.execute(i),
            Step::Deliver(i) => {
                let delivery = self.clients[i].deliveries.pop_front().expect("a delivery");
                self.tell(i, |client| client.deliver(delivery));
            }
            Step::ApplyInDoubt(i, k) => {
                let InDoubt { session, request } = self.clients[i].in_doubt.remove(k);
                let (_, fired) = self.server.execute((i, session), None, request);
                self.announce(fired);
            }
            Step::DropInDoubt(i) => self.clients[i].in_doubt.clear(),
            Step::DeliverStraggler(i, k) => {
                self.budget.stragglers -= 1;
                let delivery = self.clients[i].stragglers.remove(k);
                self.tell(i, |client| client.deliver(delivery));
            }
            Step::Expire(i) => {
                self.budget.expiries = self.budget.expiries.saturating_sub(1);
                self.clients[i].session_lives = false;
                self.expire(i, |client, owner| owner == client.session);
            }
            Step::ExpireFormer(i) => self.expire(i, is_former),
            Step::Withdraw(i) => {
                self.budget.withdrawals = self.budget.withdrawals.saturating_sub(1);
                self.tell(i, Client::withdraw);
            }
            Step::LeaseLapse(i) => {
                self.budget.lapses = self.budget.lapses.saturating_sub(1);
                self.tell(i, |client| client.feed(Event::LeaseLapsed));
            }
            Step::OperatorDeletes(name) => {
                self.budget.deletions = self.budget.deletions.saturating_sub(1);
                let fired = self.server.delete(name);
                self.announce(fired);
            }
            Step::OperatorWrites(name) => {
                self.budget.writes = self.budget.writes.saturating_sub(1);
                let fired = self.server.write(name);
                self.announce(fired);
            }
            Step::OperatorWipes => {
                self.budget.wipes = self.budget.wipes.saturating_sub(1);
                let fired = self.server.wipe();
                self.announce(fired);
            }
        }
    }

    /// Takes every step that is no fault, until none is left.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let calm = Self { budget: super::Budget::default(), ..self.clone() };
            let Some(step) = calm.steps().into_iter().next() else {
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
        let expired = !client.session_lives;
        if expired {
            client.session = next_session(client.session);
            client.session_lives = true;
        }
        client.verified = None;
        let session = client.session;
        if expired {
            self.tell(i, |client| client.feed(Event::SessionExpired));
        }
        self.clients[i].link = Link::Up;
        self.tell(i, |client| client.feed(Event::Connected { session }));
    }

    fn disconnect(&mut self, i: usize) {
        self.budget.losses = self.budget.losses.saturating_sub(1);
        self.server.watchers.retain(|watcher| watcher.client != i);
        let client = &mut self.clients[i];
        client.link = Link::Down;
        client.verified = None;
        let received = mem::take(&mut client.deliveries);
        let unanswered: Vec<_> = received
            .iter()
            .filter_map(|delivery| match delivery {
                Delivery::Reply(ticket, _) => Some(*ticket),
                Delivery::Changed(..) => None,
            })
            .chain(client.requests.iter().map(|(ticket, _)| *ticket))
            .collect();
        if self.budget.stragglers > 0 {
            client.stragglers.extend(received.into_iter().filter(|delivery| {
                matches!(
                    delivery,
                    Delivery::Changed(..)
                        | Delivery::Reply(_, Answer::Created(_) | Answer::Read(..))
                )
            }));
        }
        let session = client.session;
        let lost = client.requests.drain(..).map(|(_, request)| InDoubt { session, request });
        client.in_doubt.extend(lost.filter(|lost| lost.request.writes()));
        self.tell(i, |client| client.feed(Event::Disconnected));
        for ticket in unanswered {
            let result = Err(Failure::ConnectionLoss);
            self.tell(i, |client| client.feed(Event::Reply { ticket, result }));
        }
    }

    fn execute(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (ticket, request) = client.requests.pop_front().expect("a request");
        let session = client.session;
        if request == Request::Sync {
            // What this session sent before is applied or refused by now.
            client.in_doubt.retain(|lost| lost.session != session);
        }
        let (answer, fired) = self.server.execute((i, session), Some(ticket), request);
        // The watchers of a deletion hear of it no later than the one who asked for it.
        self.announce(fired);
        self.clients[i].deliveries.push_back(Delivery::Reply(ticket, answer));
    }

    fn expire(&mut self, i: usize, is_dead: impl Fn(&Client, SessionId) -> bool) {
        let client = &self.clients[i];
        let fired = self.server.expire(|owner| is_of(client, owner) && is_dead(client, owner));
        let client = &mut self.clients[i];
        let (dead, lives) = (client.clone(), client.session_lives);
        client.in_doubt.retain(|lost| {
            !is_dead(&dead, lost.session) && (lives || lost.session != dead.session)
        });
        self.announce(fired);
    }

    fn announce(&mut self, fired: Vec<Fired>) {
        for (i, ticket, change) in fired {
            self.clients[i].deliveries.push_back(Delivery::Changed(ticket, change));
        }
    }

    fn tell(&mut self, i: usize, act: impl FnOnce(&mut Client) -> Result<Option<Notice>, String>) {
        match act(&mut self.clients[i]) {
            Ok(Some(Notice::Elected(token))) => self.elected(i, token),
            Ok(_) => {}
            Err(fault) => self.fault = Some(format!("{i}: {fault}")),
        }
        let client = &self.clients[i];
        self.server.watchers.retain(|watcher| {
            watcher.client != i
                || client.nominee.awaits_change(watcher.ticket)
                || client.deliveries.iter().any(|delivery| {
                    matches!(delivery, Delivery::Reply(ticket, _) if *ticket == watcher.ticket)
                })
        });
    }

    /// Tokens grow from leader to leader, unless the newer one's znode is gone when it hears of
    /// its election.
    fn elected(&mut self, i: usize, token: Token) {
        let stands = self.server.znodes.iter().any(|znode| znode.token == token);
        if stands && token.get() <= self.greatest_token {
            self.fault = Some(format!("{i}: elected with {token}, after {}", self.greatest_token));
        }
        self.greatest_token = self.greatest_token.max(token.get());
        if !self.has_watch_on_itself(i) {
            self.fault = Some(format!("{i}: elected without a watch on the own znode"));
        }
    }
}

impl World {
    /// Whether the client will hear if its own znode goes.
    fn has_watch_on_itself(&self, i: usize) -> bool {
        let client = &self.clients[i];
        let stands = self.server.watchers.iter().any(|watcher| {
            Some(watcher.name) == client.candidate() && client.nominee.awaits_change(watcher.ticket)
        });
        let fired = client.deliveries.iter().any(|delivery| {
            matches!(delivery, Delivery::Changed(ticket, _) if client.nominee.awaits_change(*ticket))
        });
        stands || fired
    }
}

fn next_session(session: SessionId) -> SessionId {
    SessionId::new(session.get() + 1)
}

fn is_of(client: &Client, session: SessionId) -> bool {
    session.get() / 1000 == client.session.get() / 1000
}

pub fn is_former(client: &Client, session: SessionId) -> bool {
    is_of(client, session) && session < client.session
}
