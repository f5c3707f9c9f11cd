//! The events that the machine of a client is fed, and their effects.

use election_core::children::Children;
use election_core::lock::{GaveUp, LockEnd, LockNotice};
use election_core::{Command, Event, Output, Recipe as _, Reply, Ticket};

use super::World;
use super::client::{Answer, Delivery, Request};

impl World {
    pub(super) fn deliver(&mut self, index: usize, delivery: Delivery) {
        match delivery {
            Delivery::Changed(ticket, change) => {
                if self.clients[index].machine.awaits_change(ticket) {
                    self.feed(index, Event::Changed { ticket, change });
                }
            }
            Delivery::Reply(ticket, answer) => self.answer(index, ticket, &answer),
        }
    }

    fn answer(&mut self, index: usize, ticket: Ticket, answer: &Answer) {
        let names: Vec<String>;
        let mut list;
        let reply = match answer {
            Answer::Created(name, stat) => Ok(Reply::Created { name, stat: *stat }),
            Answer::NodeCreated => Ok(Reply::NodeCreated),
            Answer::BarrierPassed => Ok(Reply::BarrierPassed),
            Answer::Children(children) => {
                names = children.clone();
                list = names.iter().map(String::as_str);
                Ok(Reply::Children(Children::listed(&mut list)))
            }
            Answer::Read(stat) => Ok(Reply::Read { stat: *stat, data: &[] }),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Failed(failure) => Err(*failure),
        };
        let output =
            self.clients[index].machine.handle_event(Event::Reply { ticket, result: reply });
        let (notice, asked) = owned(&output);
        self.came_of_it(index, notice, asked);
    }

    pub(super) fn feed(&mut self, index: usize, event: Event<'static>) {
        let (notice, asked) = owned(&self.clients[index].machine.handle_event(event));
        self.came_of_it(index, notice, asked);
    }

    pub(super) fn withdraw(&mut self, index: usize) {
        let (notice, asked) = owned(&self.clients[index].machine.withdraw());
        self.came_of_it(index, notice, asked);
    }

    fn came_of_it(&mut self, index: usize, notice: Option<LockNotice>, asked: Option<Asked>) {
        if let Some(notice) = notice {
            self.told(index, notice);
        }
        let Some((ticket, request)) = asked else { return };
        let client = &mut self.clients[index];
        let others = client.requests.iter().map(|(ticket, request)| (*ticket, request));
        let is_awaited = |(ticket, request): (Ticket, &Request)| {
            !ticket.is_cleanup() && !request.can_be_abandoned()
        };
        if !client.is_up {
            self.fault(format!("{index}: {request:?} is asked for while the link is down"));
        } else if !ticket.is_cleanup() && others.into_iter().any(is_awaited) {
            self.fault(format!("{index}: {request:?} is asked for while another one is in flight"));
        } else {
            client.requests.push_back((ticket, request));
        }
    }

    fn told(&mut self, index: usize, notice: LockNotice) {
        let client = &mut self.clients[index];
        if client.has_ended {
            return self.fault(format!("{index}: is told {notice:?} after its end"));
        }
        match notice {
            LockNotice::Acquired(_) if client.has_given_up => {
                self.fault(format!("{index}: has got a permit after it was to end"));
            }
            LockNotice::Acquired(token) => {
                let is_greater = self.tokens.iter().all(|other| *other < token.get());
                if self.tokens.contains(&token.get()) || self.permits == 1 && !is_greater {
                    self.fault(format!("{index}: token {token} after {:?}", self.tokens));
                }
                self.tokens.push(token.get());
            }
            LockNotice::Ended(end) => {
                client.has_ended = true;
                let session = client.session.unwrap_or_default();
                let left = self.newest().owned_by(session).next().cloned();
                let is_tried = self.impatient.contains(&index);
                match end {
                    LockEnd::Failed(failure) => self.fault(format!("{index}: failed: {failure}")),
                    LockEnd::NotAcquired(GaveUp::Busy, _) if !is_tried => {
                        self.fault(format!("{index}: gave up, and was to wait"));
                    }
                    _ => {}
                }
                if let (Some(left), false) = (left, matches!(end, LockEnd::Failed(_))) {
                    self.fault(format!("{index}: is told its end, and {} is left", left.name));
                }
            }
            _ => {}
        }
    }

    fn fault(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

type Asked = (Ticket, Request);

fn owned(output: &Output<'_, LockNotice>) -> (Option<LockNotice>, Option<Asked>) {
    let asked = |command: &Command<'_>| (command.ticket, Request::of(command));
    (output.notice, output.command.as_ref().map(asked))
}
