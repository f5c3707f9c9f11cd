//! The effects of a step on a world.

use election_core::children::Children;
use election_core::{
    Arrivals, Change, Event, Failure, Phase, Recipe as _, Reply, SessionId, Stat, Ticket, Watch,
};

use crate::queues::server::{Answer, ItemZnode, Request, Tree};
use crate::queues::told::owned;
use crate::queues::world::{Account, Link, Step, World};

const NO_AUTH: Failure = Failure::Aborted { part: 0, code: -102 };

impl World {
    pub fn take(&mut self, step: Step) {
        match step {
            Step::Connect(i) => {
                let client = &mut self.clients[i];
                if client.link == Link::New {
                    client.seen = self.trees.len() - 1;
                }
                self.connect(i);
            }
            Step::ConnectToNewSession(i) => {
                self.budget.swaps -= 1;
                let client = &mut self.clients[i];
                client.session = SessionId::new(client.session.get() + 1);
                client.seen = self.trees.len() - 1;
                self.connect(i);
            }
            Step::LearnOfExpiry(i) => {
                let client = &mut self.clients[i];
                client.session = SessionId::new(client.session.get() + 1);
                (client.session_lives, client.link) = (true, Link::New);
                self.feed(i, Event::SessionExpired);
            }
            Step::Disconnect(i) => {
                if self.clients[i].session_lives {
                    self.budget.losses -= 1;
                }
                self.disconnect(i);
            }
            Step::Execute(i) => self.execute(i),
            Step::Advance(i) => self.advance(i),
            Step::Hear(i) => self.hear(i),
            Step::ApplyInDoubt(i, k) => {
                let (session, request) = self.clients[i].in_doubt.remove(k);
                self.commit(|tree| tree.write(session, &request));
            }
            Step::DropInDoubt(i) => self.clients[i].in_doubt.clear(),
            Step::Expire(i) => {
                self.budget.expiries -= 1;
                let client = &mut self.clients[i];
                client.session_lives = false;
                let session = client.session;
                client.in_doubt.retain(|(of, _)| *of != session);
                self.commit(|tree| tree.expire(|owner| owner == session));
            }
            Step::ExpireFormer(i) => {
                let client = self.clients[i].clone();
                self.clients[i].in_doubt.retain(|(session, _)| !client.had(*session));
                self.commit(|tree| tree.expire(|owner| client.had(owner)));
            }
            _ => self.act(step),
        }
        self.forget();
    }

    fn hear(&mut self, i: usize) {
        let (ticket, answer, _) = self.clients[i].due.take().expect("a reply");
        self.clients[i].seen = self.clients[i].applied;
        self.answer(i, ticket, &answer);
        let is_refused = matches!(answer, Answer::Failed(NO_AUTH | Failure::NoAuth));
        let client = &self.clients[i];
        if is_refused && client.taker.phase() == Phase::CleaningUp && client.request.is_some() {
            self.fail(format!("{i}: asks at once for what was refused"));
        }
    }

    fn put(&mut self) {
        self.budget.puts -= 1;
        let number = self.next;
        self.next += 1;
        let (version, owner, pins) = (0, None, Vec::new());
        let item = ItemZnode { number, version, owner, pins, is_parent: false };
        self.commit(|tree| {
            tree.items.push(item.clone());
            tree.count();
        });
    }

    /// Takes a step of users, operators or other participants.
    fn act(&mut self, step: Step) {
        match step {
            Step::Withdraw(i) => {
                let client = &mut self.clients[i];
                if client.taker.holds_claim() {
                    self.budget.returns -= 1;
                } else {
                    self.budget.withdrawals -= 1;
                }
                self.clients[i].withdrawn = true;
                self.step(i, |taker| owned(&taker.withdraw()));
            }
            Step::Throttle(i) => {
                self.budget.throttles -= 1;
                let (ticket, _) = self.clients[i].request.take().expect("a request");
                self.feed(i, Event::Reply { ticket, result: Err(Failure::Throttled) });
            }
            Step::Refuse(i) => self.refuse(i),
            Step::Look(i) => {
                if !self.clients[i].needs_look() {
                    self.budget.looks -= 1;
                }
                self.feed(i, Event::Look);
            }
            Step::Finish(i) => {
                let item = self.clients[i].taker.target().expect("it holds a claim");
                self.accounted.push((item.number().get(), Account::Done));
                self.accounted.sort_unstable();
                self.accounted.dedup();
                self.step(i, |taker| owned(&taker.finish()));
            }
            Step::Again(i) => self.again(i),
            Step::Put => self.put(),
            Step::Write(number) => {
                self.budget.writes -= 1;
                self.commit(|tree| {
                    let item = tree.items.iter_mut().find(|item| item.number == number);
                    item.expect("it stands").version += 1;
                });
            }
            Step::ForeignTakes(number) => {
                self.budget.foreign -= 1;
                self.accounted.push((number, Account::Foreign));
                self.commit(|tree| tree.items.retain(|item| item.number != number));
            }
            Step::Evict(i) => {
                self.budget.evictions -= 1;
                let item = self.clients[i].taker.target().expect("it holds a claim").number().get();
                self.commit(|tree| {
                    tree.claims.retain(|(claimed, ..)| *claimed != item);
                    tree.transaction += 1;
                });
            }
            _ => panic!("not a step of theirs: {step:?}"),
        }
    }

    /// Checks that the claim which a taker deletes is its own.
    fn check_claim(&mut self, i: usize, request: &Request) {
        let Request::GiveBack(number, pin) = request else { return };
        let tip = self.tip();
        let claim = tip.claims.iter().find(|(claimed, ..)| claimed == number);
        let by = |(.., by): &(String, SessionId, u32)| *by;
        let own = tip.pin(*number, pin).map(by);
        if let (Some(own), Some((.., by))) = (own, claim)
            && own != *by
        {
            self.fail(format!("{i}: gives back the claim of another"));
        }
    }

    /// Refuses a request. A quorum commits that, too.
    fn refuse(&mut self, i: usize) {
        self.budget.refusals -= 1;
        let client = &mut self.clients[i];
        let (ticket, request) = client.request.take().expect("a request");
        let session = client.session;
        client.in_doubt.retain(|(of, _)| *of != session);
        let failure = match request {
            Request::DeletePin(..) => Failure::NoAuth,
            _ => NO_AUTH,
        };
        self.clients[i].due = Some((ticket, Answer::Failed(failure), self.end()));
    }

    fn connect(&mut self, i: usize) {
        let client = &mut self.clients[i];
        (client.link, client.applied) = (Link::Up, client.seen);
        let session = client.session;
        self.begin(i);
        self.feed(i, Event::Connected { session });
    }

    fn disconnect(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.link = Link::Down;
        (client.watch, client.is_waiting, client.due) = (None, false, None);
        if let Some((_, request)) = client.request.take()
            && !request.reads()
            && client.session_lives
        {
            client.in_doubt.push((client.session, request));
        }
        self.feed(i, Event::Disconnected);
    }

    fn execute(&mut self, i: usize) {
        let (ticket, request) = self.clients[i].request.take().expect("a request");
        let client = &mut self.clients[i];
        if request.reads() {
            client.seen = client.applied;
            let answer = self.trees[client.applied].read(&request);
            if let (Request::List(Watch::Other), Answer::Children(_)) = (&request, &answer) {
                client.watch = Some(ticket);
            }
            return self.answer(i, ticket, &answer);
        }
        let session = client.session;
        // The server has applied or refused the earlier requests of this session by now.
        client.in_doubt.retain(|(of, _)| *of != session);
        self.check_claim(i, &request);
        let answer = self.commit(|tree| tree.write(session, &request));
        self.clients[i].due = Some((ticket, answer, self.end()));
    }

    fn commit<T>(&mut self, write: impl FnOnce(&mut Tree) -> T) -> T {
        let mut tree = self.tip().clone();
        let output = write(&mut tree);
        if tree != *self.tip() {
            self.trees.push(tree);
            for i in 0..self.clients.len() {
                while self.end() - self.clients[i].applied > self.max_lag {
                    self.advance(i);
                }
            }
        }
        output
    }

    /// Lets the client's server apply the next change, and report it.
    fn advance(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.applied += 1;
        if client.link != Link::Up {
            client.seen = client.applied;
            return;
        }
        let is_told =
            !self.trees[client.applied].has_same_children(&self.trees[client.applied - 1]);
        if is_told && let Some(ticket) = client.watch.take() {
            client.is_waiting = false;
            self.feed(i, Event::Changed { ticket, change: Change::Children });
        }
    }

    fn answer(&mut self, i: usize, ticket: Ticket, answer: &Answer) {
        let stat = |version| Stat::new(0, 1, version);
        let (mut none, data);
        let mut names;
        let result = match answer {
            Answer::NodeCreated => Ok(Reply::NodeCreated),
            Answer::Compared(created) => {
                let arrivals = Arrivals::of(i32::try_from(*created).expect("few"), 0);
                Ok(Reply::Exists(stat(0).with_arrivals(arrivals)))
            }
            Answer::Children(children) => {
                names = children.iter().map(String::as_str);
                Ok(Reply::Children(Children::listed(&mut names)))
            }
            Answer::Read(number, version) => {
                data = number.to_be_bytes();
                Ok(Reply::Read { stat: stat(*version), data: &data })
            }
            Answer::Exists => Ok(Reply::Exists(stat(0))),
            Answer::Created(by) => Ok(Reply::Exists(Stat::new(1, i64::from(*by), 0))),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Committed => {
                none = core::iter::empty();
                Ok(Reply::Committed(&mut none))
            }
            Answer::Failed(failure) => Err(*failure),
        };
        self.feed(i, Event::Reply { ticket, result });
    }

    fn forget(&mut self) {
        let end = self.end();
        for client in &mut self.clients {
            if client.taker.phase() == Phase::Over && client.takes == 0 || client.link == Link::New
            {
                (client.applied, client.seen) = (end, end);
            }
            if !client.session_lives && client.link == Link::Down {
                (client.applied, client.seen) = (end, end);
            }
            client.seen = client.seen.max(end.saturating_sub(self.max_lag));
            if client.link == Link::Down {
                client.applied = client.seen;
            }
        }
        let folded = self.clients.iter().map(|client| client.seen).min().unwrap_or(end);
        self.trees.drain(..folded);
        for client in &mut self.clients {
            client.applied -= folded;
            client.seen -= folded;
            if let Some((_, _, position)) = &mut client.due {
                *position = position.saturating_sub(folded);
            }
        }
    }
}
