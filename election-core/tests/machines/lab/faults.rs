//! What goes wrong, and what that does to sessions.

use election_core::{Change as Fired, Event, Failure, SessionId};

use super::budget::spend;
use super::client::{Client, Ghost, Late, Link, Rights, Watcher};
use super::server::{Answer, Change, Effect, Request};
use super::{Lab, Model, Step};

impl<M: Model> Lab<M> {
    /// Takes a step that goes wrong, at the cost of the budget.
    pub(super) fn suffer(&mut self, fault: Step<M>) {
        let budget = &mut self.budget;
        match fault {
            Step::Disconnect(i) => {
                spend(&mut budget.losses);
                self.disconnect(i);
            }
            Step::Expire(i) => {
                spend(&mut budget.expiries);
                let client = &mut self.clients[i];
                client.session_lives = false;
                client.in_doubt.clear();
                let session = client.session;
                self.close(i, session);
            }
            Step::Lie(i) => {
                spend(&mut budget.lies);
                if self.clients[i].is_up() {
                    self.disconnect(i);
                }
                self.leave_ghost(i);
                self.learn_expiry(i);
            }
            Step::Swap(i) => {
                spend(&mut budget.swaps);
                self.leave_ghost(i);
                self.next_session(i);
                self.connect(i);
            }
            Step::Kill(i) => {
                spend(&mut budget.crashes);
                self.kill(i);
            }
            Step::ApplyPart(i) => {
                spend(&mut budget.halves);
                self.apply_part(i);
            }
            Step::Straggle(i, k) => {
                spend(&mut budget.stragglers);
                let is_last = budget.stragglers == 0;
                let late = self.clients[i].late.remove(k);
                let hears_late = |client: &Client<M>| is_last && !client.late.is_empty();
                self.clients.change(hears_late, |client| client.late.clear());
                match late {
                    Late::Answer(actor, ticket, answer) => {
                        self.deliver(i, actor, ticket, &answer);
                    }
                    Late::Changed(actor, ticket, change) => {
                        self.feed(i, actor, Event::Changed { ticket, change });
                    }
                }
            }
            other => self.hinder(other),
        }
    }

    /// What servers do to requests and watches.
    fn hinder(&mut self, fault: Step<M>) {
        let budget = &mut self.budget;
        match fault {
            Step::Throttle(i) => {
                spend(&mut budget.throttles);
                self.fail_unsent(i, Failure::Throttled);
            }
            Step::HoldBack(i) => {
                spend(&mut budget.held_back);
                self.find_long(i, Failure::HeldBack);
            }
            Step::FindTooLarge(i) => {
                spend(&mut budget.too_large);
                self.find_long(i, Failure::TooLarge);
            }
            Step::Refuse(i) => {
                spend(&mut budget.refusals);
                let client = &mut self.clients[i];
                client.rights = Rights::Restored;
                let sent = client.requests.pop_front().expect("a request");
                let part = sent.request.changes().len().saturating_sub(1);
                client.is_deaf |= sent.request.reads();
                self.refuse(i, sent, part);
            }
            Step::LoseWatch(i, k) => {
                spend(&mut budget.lost_watches);
                let Watcher { actor, ticket, .. } = self.clients[i].watches.remove(k);
                self.feed(i, actor, Event::Changed { ticket, change: Fired::Lost });
            }
            Step::DropWatch(i, k) => {
                spend(&mut budget.dropped_watches);
                self.clients[i].watches.remove(k);
                (self.clients[i].is_deaf, self.clients[i].needs_looks) = (true, !M::WATCHES_AGAIN);
            }
            Step::Forbid(i, right) => {
                spend(&mut budget.prohibitions);
                self.clients[i].rights = Rights::NotTo(right);
            }
            other => self.wish(other),
        }
    }

    /// Answers the next request of a client, which no server looks at.
    fn fail_unsent(&mut self, i: usize, failure: Failure) {
        let sent = self.clients[i].requests.pop_front().expect("a request");
        self.deliver(i, sent.actor, sent.ticket, &Answer::Failed(failure));
    }

    /// The driver does not send the next request of a client, which the client may fail for, as for a refusal. What is
    /// held back may be asked for again at a look.
    fn find_long(&mut self, i: usize, failure: Failure) {
        let client = &mut self.clients[i];
        if client.rights == Rights::All {
            client.rights = Rights::Restored;
        }
        client.is_deaf |= failure == Failure::HeldBack;
        self.fail_unsent(i, failure);
    }

    /// What users and operators do.
    fn wish(&mut self, wish: Step<M>) {
        let budget = &mut self.budget;
        match wish {
            Step::Withdraw(i, actor) => {
                spend(&mut budget.withdrawals);
                self.withdraw(i, actor);
            }
            Step::Deadline(i, actor) => {
                spend(&mut budget.deadlines);
                self.feed(i, actor, Event::Deadline);
            }
            Step::Lapse(i, actor) => {
                spend(&mut budget.lapses);
                self.feed(i, actor, Event::LeaseLapsed);
            }
            Step::OperatorDeletes(name) => {
                spend(&mut budget.deletions);
                self.commit(None, None, &Request::Single(Change::Delete(name, None)));
            }
            Step::OperatorWrites(name) => {
                spend(&mut budget.writes);
                self.commit(None, None, &Request::Single(Change::Write(name, None, M::SCRAWL)));
            }
            Step::OperatorBars(name) => {
                spend(&mut budget.bars);
                self.server.commit(vec![Effect::Barred(name)]);
            }
            _ => unreachable!("no wish"),
        }
    }

    /// Ends a session that has expired. Its server closes the connection once it has applied that.
    fn close(&mut self, i: usize, session: SessionId) {
        let end = self.server.end();
        self.end_session(session);
        if M::SESSIONS_ARE_GLOBAL && self.clients[i].is_up() {
            if self.server.end() == end {
                self.server.log.push(Vec::new());
            }
            self.clients[i].closed_after = Some(self.server.end());
        }
    }

    pub(super) fn end_session(&mut self, session: SessionId) {
        let is_its = |(_, znode): &(_, &super::Znode)| znode.owner == Some(session);
        let owned: Vec<M::Name> =
            self.server.tip.iter().filter(is_its).map(|(name, _)| *name).collect();
        let deletes = owned.into_iter().map(|name| Change::Delete(name, None)).collect();
        self.commit(None, None, &Request::Multi(deletes));
    }

    pub(super) fn learn_expiry(&mut self, i: usize) {
        if self.clients[i].is_up() {
            return self.disconnect(i);
        }
        self.next_session(i);
        self.feed_all(i, || Event::SessionExpired);
    }

    fn next_session(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.link = Link::New;
        client.session_lives = true;
        client.session = SessionId::new(client.session.get() + 1);
    }

    fn leave_ghost(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (session, writes) = (client.session, core::mem::take(&mut client.in_doubt));
        self.ghosts.push(Ghost { author: client.index, session, writes });
    }

    fn kill(&mut self, i: usize) {
        self.clients[i].lose_link();
        self.clients[i].late.clear();
        self.leave_ghost(i);
        self.clients[i].machines.clear();
        match M::restarted(self, i) {
            None => self.clients[i].link = Link::Dead,
            Some(machine) => {
                self.clients[i].machines.insert(0, machine);
                self.next_session(i);
            }
        }
    }
}
