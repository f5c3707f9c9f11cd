//! A taker's notices, and their effect on the world.

use election_core::queue::{Purpose, Taker, TakerEnd, TakerNotice};
use election_core::{Event, Output, Recipe as _, Ticket};

use crate::queues::server::{Order, Request};
use crate::queues::world::{Account, Data, Link, SmallTaker, World, id};

/// The request and the notice of a taker's step.
type Led = (Option<(Ticket, Request)>, Option<TakerNotice<Data>>);

impl World {
    pub fn feed(&mut self, i: usize, event: Event<'_>) {
        self.step(i, |taker| owned(&taker.handle_event(event)));
    }

    pub fn step(&mut self, i: usize, step: impl FnOnce(&mut SmallTaker) -> Led) {
        let client = &mut self.clients[i];
        let (request, notice) = step(&mut client.taker);
        if let Some((ticket, request)) = request {
            if client.link != Link::Up {
                self.fault.get_or_insert(format!("{i}: asks without a link"));
            } else if client.request.is_some() || client.due.is_some() {
                // A taker that gives up while a read is in flight may send the request that gives
                // the claim back.
                let is_read = client.request.as_ref().is_some_and(|(_, request)| request.reads());
                if !is_read || !matches!(request, Request::LookAtPin(..)) {
                    self.fault.get_or_insert(format!("{i}: asks twice"));
                }
            }
            client.is_waiting = false;
            client.request = Some((ticket, request));
        }
        if client.watch.is_some_and(|watch| !client.taker.awaits_change(watch)) {
            client.watch = None;
        }
        match notice {
            None => {}
            Some(TakerNotice::Waiting) => client.is_waiting = true,
            Some(TakerNotice::Claimed(item)) => self.claimed(i, item.data),
            Some(TakerNotice::Ended(end)) => self.ended(i, &end),
        }
    }

    fn claimed(&mut self, i: usize, Data(number): Data) {
        let (session, lives) = (self.clients[i].session, self.clients[i].session_lives);
        if lives && !self.tip().claims.iter().any(|(of, by, _)| (*of, *by) == (number, session)) {
            self.fail(format!("{i}: claims {number}, which is not claimed"));
        }
    }

    fn ended(&mut self, i: usize, end: &TakerEnd<Data>) {
        let client = &mut self.clients[i];
        client.request = client.request.take().filter(|(_, request)| !request.reads());
        if client.ended.is_some() {
            return self.fail(format!("{i}: ends twice"));
        }
        client.ended = Some(end.clone());
        let held = client.taker.target().map(|name| name.number().get());
        let account = match end {
            TakerEnd::Taken(item) => {
                client.taken.push(item.data.0);
                if let Err(fault) = self.check_order(i, item.data.0) {
                    self.fail(fault);
                }
                Some((item.data.0, Account::Taken))
            }
            TakerEnd::Unknown(item) => Some((item.data.0, Account::Unknown)),
            TakerEnd::Finished => held.map(|number| (number, Account::Finished)),
            TakerEnd::Failed(failure) if !self.may_be_refused => {
                return self.fail(format!("{i}: {failure}"));
            }
            _ => None,
        };
        if let Some((number, how)) = account {
            let is_stray = how == Account::Unknown && self.may_stray;
            if self.tip().item(number).is_some() && !is_stray {
                self.fail(format!("{i}: {how:?}: {number}, which stands"));
            }
            let before = |account| self.accounted.contains(&(number, account));
            if matches!(how, Account::Taken | Account::Finished)
                && [Account::Taken, Account::Finished, Account::Foreign].map(before).contains(&true)
            {
                self.fail(format!("{i}: took {number}, which was taken before"));
            }
            self.accounted.push((number, how));
            self.accounted.sort_unstable();
            self.accounted.dedup();
        }
    }

    /// Notes the items that a take by priority is to heed from now on: those that its server shows.
    pub fn begin(&mut self, i: usize) {
        if self.tip().order == Order::ByNumber {
            return;
        }
        let client = &mut self.clients[i];
        let tree = &self.trees[client.applied];
        let mut shown: Vec<u32> = tree.items.iter().map(|item| item.number).collect();
        if let Some(before) = &client.shown {
            shown.retain(|number| before.contains(number));
        }
        client.shown = Some(shown);
    }

    /// Checks the order of a take: no item that goes before it was there all the time.
    fn check_order(&self, i: usize, taken: u32) -> Result<(), String> {
        let (client, tip) = (&self.clients[i], self.tip());
        let is_alone = self.clients.iter().all(|client| client.options.purpose == Purpose::Take);
        let overlooked = |number: &&u32| {
            **number > taken && tip.item(**number).is_some_and(|item| !item.is_parent)
        };
        match client.shown.iter().flatten().find(overlooked) {
            Some(number) if is_alone => Err(format!("{i}: takes {taken}, and overlooks {number}")),
            _ => Ok(()),
        }
    }

    pub fn again(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.takes -= 1;
        let id = id(i, client.takes + 1);
        let window = client.taker.window().clone();
        client.taker = Taker::new(id, client.options, window);
        (client.ended, client.withdrawn, client.shown) = (None, false, None);
        (client.request, client.due) = (None, None);
        if client.link == Link::Up {
            let session = client.session;
            self.begin(i);
            self.feed(i, Event::Connected { session });
        }
    }
}

pub fn owned(output: &Output<'_, TakerNotice<Data>>) -> Led {
    let request = output.command.map(|command| (command.ticket, Request::of(&command.op)));
    (request, output.notice.clone())
}
