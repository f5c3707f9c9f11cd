//! The effects of a step on a world.

use core::mem;

use election_core::election::Notice;
use election_core::{Change, Event, Failure, Recipe as _, SessionId, Token};

use super::client::{Client, Delivery, Due, InDoubt, Link, Sight, Watcher};
use super::machine::News;
use super::server::{Answer, Author, Entry, Kind, Name, Request, UNTOLD, Znode};
use super::step::{Heard, Step, is_former};
use super::{ANY_NUMBER, NEWEST, World};

impl World {
    /// Takes a step, which must be one of [`steps`](Self::steps); panics in a test if it is not.
    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                let client = &mut self.clients[i];
                client.applied =
                    if client.link == Link::New { self.server.end() } else { client.seen };
                self.connect(i);
            }
            Step::ConnectToNewSession(i) => self.connect_to_new_session(i),
            Step::LearnOfExpiry(i) => self.learn_of_expiry(i),
            Step::Disconnect(i) => {
                if self.clients[i].session_lives {
                    spend(&mut self.budget.losses);
                }
                self.disconnect(i);
            }
            Step::Execute(i, behind) => self.execute(i, behind),
            Step::Throttle(i) => self.answer_unseen(i, Failure::Throttled),
            Step::Refuse(i) => self.answer_unseen(i, Failure::NoAuth),
            Step::Hear(i) => self.hear(i),
            Step::ApplyInDoubt(i, k) => {
                let InDoubt { session, request } = self.clients[i].in_doubt.remove(k);
                let author = Author { session, ..self.clients[i].author() };
                self.note_another_deleted(i, request);
                self.server.write(author, request);
            }
            Step::DropInDoubt(i) => self.clients[i].in_doubt.clear(),
            Step::DeliverStraggler(i, k) => {
                spend(&mut self.budget.stragglers);
                let delivery = self.clients[i].stragglers.remove(k);
                self.tell(i, |client| client.deliver_straggler(delivery));
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
            Step::HandOver(i) => self.hand_over(i),
            Step::LeaseLapse(i) => self.lapse(i),
            Step::LoseWatch(i, k) => {
                spend(&mut self.budget.lost_watches);
                let Watcher { ticket, .. } = self.clients[i].watchers.remove(k);
                self.tell(i, |client| client.deliver(Delivery::Changed(ticket, Change::Lost)));
            }
            Step::Look(i) => self.look(i),
            Step::Deadline(_)
            | Step::Downgrade(_)
            | Step::RequestRevoke(_)
            | Step::ForeignDowngrades(_)
            | Step::ForeignLeaves(_) => self.contend(step),
            Step::LeaderHandsOver(..) | Step::HandOverGoesOn => self.go_on_handing_over(step),
            step => self.operate(step),
        }
        self.bound_the_lag();
    }

    /// Takes every step that is no fault, until none is left; no server lags.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let Some(step) = self.steps().into_iter().find(|step| step.is_calm(self)) else {
                return;
            };
            // The server's messages to a client come before its reads.
            self.take(match step {
                Step::Execute(i, _) => Step::Execute(i, NEWEST),
                step => step,
            });
            if let Some(fault) = &self.fault {
                panic!("{fault}");
            }
        }
        panic!("never comes to rest");
    }

    fn connect_to_new_session(&mut self, i: usize) {
        spend(&mut self.budget.swaps);
        let client = &mut self.clients[i];
        client.session = next_session(client.session);
        client.applied = self.server.end();
        self.connect(i);
    }

    fn connect(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.verified = None;
        client.link = Link::Up;
        client.seen = client.applied;
        let session = client.session;
        self.tell(i, |client| client.feed(Event::Connected { session }));
    }

    /// Looks are so far apart that the client's server has caught up when one is due.
    fn look(&mut self, i: usize) {
        if self.has_missed_something(&self.clients[i]) || self.is_asked(&self.clients[i]) {
            self.clients[i].applied = self.server.end();
            self.clients[i].seen = self.server.end();
        } else {
            spend(&mut self.budget.looks);
        }
        self.tell(i, |client| client.feed(Event::Look));
    }

    fn learn_of_expiry(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.session = next_session(client.session);
        client.session_lives = true;
        client.link = Link::New;
        self.tell(i, |client| client.feed(Event::SessionExpired));
    }

    fn hand_over(&mut self, i: usize) {
        spend(&mut self.budget.handovers);
        self.disconnect(i);
        self.clients[i].hand_over();
    }

    fn disconnect(&mut self, i: usize) {
        self.set_stragglers_aside(i);
        let client = &mut self.clients[i];
        client.link = Link::Down;
        client.applied = client.seen;
        client.verified = None;
        client.sight = Sight::Nothing;
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

    /// Sets aside the messages that the client's server may have sent on the connection that is
    /// about to be lost.
    fn set_stragglers_aside(&mut self, i: usize) {
        if self.budget.stragglers == 0 {
            return;
        }
        let client = &self.clients[i];
        let mut stragglers = Vec::new();
        for Due { ticket, answer, .. } in &client.due {
            if matches!(answer, Answer::Created(..)) {
                stragglers.push(Delivery::Reply(*ticket, answer.clone()));
            }
        }
        if let Some((ticket, request @ (Request::Read(_) | Request::ReadUnwatched(_)))) =
            client.requests.front()
        {
            let answer = self.server.read(client.applied, *request, client.session);
            if matches!(answer, Answer::Read(..)) {
                stragglers.push(Delivery::Reply(*ticket, answer));
            }
        }
        for Watcher { ticket, name } in &client.watchers {
            let positions = client.applied..self.server.end();
            let change = positions.into_iter().find_map(|position| {
                let (changed, change) = self.server.log[position].told()?;
                (changed == *name && self.server.is_told(position, *name)).then_some(change)
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
            let answer = self.server.read(client.applied, request, session);
            client.see(request, &answer);
            if let (Request::Read(name), Answer::Read(..))
            | (Request::Exists(name), Answer::Exists(..)) = (request, &answer)
            {
                client.watchers.push(Watcher { ticket, name });
            }
            self.tell(i, |client| client.deliver_read(ticket, answer));
            return;
        }
        if request == Request::Barrier {
            // The server has applied or refused the earlier requests of this session by now.
            client.in_doubt.retain(|lost| lost.session != session);
            if client.kind().format().names_recur() {
                client.sight = Sight::Barrier;
            }
        }
        self.note_another_deleted(i, request);
        let author = self.clients[i].author();
        let answer = self.server.write(author, request);
        self.clients[i].due.push_back(Due { position: self.server.end(), ticket, answer });
    }

    /// Notes that a deletion hits a znode that was given the name while the deletion was on its way: no condition of a
    /// server tells them apart, so for its nominee this is an operator's deletion.
    fn note_another_deleted(&mut self, i: usize, request: Request) {
        if let Request::Delete(name, _) = request
            && name.client == UNTOLD
            && let Some(znode) = self.server.find(name)
            && !self.clients[i].has_had(znode.owner)
        {
            self.evicted.push((name, znode.token));
        }
    }

    /// The client's server answers the next request without having looked at it.
    fn answer_unseen(&mut self, i: usize, failure: Failure) {
        spend(match failure {
            Failure::Throttled => &mut self.budget.throttles,
            _ => &mut self.budget.refusals,
        });
        let (ticket, _) = self.clients[i].requests.pop_front().expect("a request");
        self.tell(i, |client| client.feed(Event::Reply { ticket, result: Err(failure) }));
    }

    pub fn hear(&mut self, i: usize) {
        match self.next_heard(&self.clients[i]).expect("something to hear") {
            Heard::Reply => {
                let client = &mut self.clients[i];
                let Due { position, ticket, answer } = client.due.pop_front().expect("a reply");
                client.applied = client.applied.max(position);
                client.seen = client.applied;
                self.tell(i, |client| client.deliver(Delivery::Reply(ticket, answer)));
            }
            // A notification does not count as seen: clients ignore its zxid, -1 before 3.9.
            Heard::Entry(position) => {
                self.clients[i].applied = position + 1;
                let Some((name, change)) = self.server.log[position].told() else {
                    return self.disconnect(i);
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
            Step::OperatorBars(name) => {
                spend(&mut self.budget.bars);
                self.server.commit(Entry::Barred(name));
            }
            Step::OperatorWrites(name) => {
                spend(&mut self.budget.writes);
                self.server.commit(Entry::Written(name));
            }
            Step::OperatorWipes => {
                spend(&mut self.budget.wipes);
                let all = self.server.tip.znodes.iter().map(|znode| (znode.name, znode.token));
                self.evicted.extend(all);
                self.server.wipe();
            }
            step => self.end_the_election(step),
        }
    }

    fn lapse(&mut self, i: usize) {
        spend(&mut self.budget.lapses);
        self.tell(i, |client| client.feed(Event::LeaseLapsed));
        if self.clients[i].leads() {
            self.fault = Some(format!("{i}: leads past its lease"));
        }
    }

    /// Takes a step of contenders for a lock.
    fn contend(&mut self, step: Step) {
        match step {
            Step::Deadline(i) => {
                spend(&mut self.budget.deadlines);
                self.tell(i, Client::pass_deadline);
            }
            Step::Downgrade(i) => {
                spend(&mut self.budget.own_downgrades);
                self.tell(i, Client::downgrade);
            }
            Step::RequestRevoke(name) => {
                spend(&mut self.budget.requests);
                self.server.commit(Entry::RevokeRequested(name));
            }
            Step::ForeignDowngrades(name) => {
                spend(&mut self.budget.downgrades);
                self.downgrade(name);
            }
            Step::ForeignLeaves(name) => self.server.commit(Entry::Deleted(name)),
            _ => {}
        }
    }

    /// A writer that is no client of ours goes on as a reader: in two steps, as Curator does it.
    fn downgrade(&mut self, name: Name) {
        let writer = *self.server.find(name).expect("it stands");
        self.server.zxid += 1;
        let token = Token::new(self.server.zxid);
        let reader = Znode { name: Name { kind: Kind::Read, ..name }, token, ..writer };
        self.server.commit(Entry::Created(reader));
        self.server.commit(Entry::Deleted(name));
    }

    pub fn tell(
        &mut self,
        i: usize,
        act: impl FnOnce(&mut Client) -> Result<Option<News>, String>,
    ) {
        let client = &mut self.clients[i];
        let told = act(client);
        let told = client.take_down_watches().and(told);
        match told {
            Ok(Some(News::Noticed(Notice::Elected(token)))) => self.elected(i, token),
            Ok(Some(News::Downgraded)) => self.downgraded(i),
            Ok(_) => {}
            Err(fault) => self.fault = Some(format!("{i}: {fault}")),
        }
    }

    /// Notes the token of a new holder. Tokens grow from holder to holder that do not share, unless the newer one's
    /// znode is gone when it hears of its promotion. A shared token is no later than those that others share.
    fn elected(&mut self, i: usize, token: Token) {
        let stands = self.server.tip.znodes.iter().any(|znode| znode.token == token);
        // A nominee that took over a leader's candidate leads with its token.
        let took_over = self.clients[i].creates == 0 && token.get() == self.greatest_token;
        let kind = self.clients[i].kind();
        let least = if kind == Kind::Read { self.greatest_unshared } else { self.greatest_token };
        if stands && !took_over && token.get() <= least {
            self.fault = Some(format!("{i}: elected with {token}, after {least}"));
        }
        self.greatest_token = self.greatest_token.max(token.get());
        if kind != Kind::Read {
            self.greatest_unshared = self.greatest_unshared.max(token.get());
        }
        if stands && self.is_over() {
            self.fault = Some(format!("{i}: elected after the end"));
        }
        let client = &mut self.clients[i];
        if client.withdrawn || client.nominee.is_lock() && client.has_held {
            self.fault = Some(format!("{i}: elected after it was to end"));
        }
        client.has_held = true;
        self.check_successor(i);
        self.check_own_watch(i, "elected");
    }

    /// Notes a downgrade: contenders that hold later have greater tokens than the reader.
    fn downgraded(&mut self, i: usize) {
        let token = self.clients[i].nominee.hold().token().map_or(0, Token::get);
        self.greatest_token = self.greatest_token.max(token);
        self.check_own_watch(i, "a reader");
    }

    fn check_own_watch(&mut self, i: usize, what: &str) {
        let client = &self.clients[i];
        let is_own = |name: &Name| Some(*name) == client.candidate();
        let mut reads = client.requests.iter().map(|(_, request)| request);
        let is_read = reads.any(|request| matches!(request, Request::Read(name) if is_own(name)));
        if !is_read && !client.watchers.iter().any(|watcher| is_own(&watcher.name)) {
            self.fault = Some(format!("{i}: {what} without a watch on the own znode, or its read"));
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
