//! What goes wrong, and what that does to sessions.

use election_core::{Change as Fired, Event, Failure, SessionId};

use super::client::{Ghost, Link, Rights, Watcher};
use super::server::{Answer, Change, Data, Effect, Request};
use super::{Lab, Model, Step};

impl<M: Model> Lab<M> {
    /// Takes a step that goes wrong, at the cost of the budget.
    pub(super) fn suffer(&mut self, fault: Step<M>) {
        let budget = &mut self.budget;
        match fault {
            Step::Disconnect(i) => {
                budget.losses -= 1;
                self.disconnect(i);
            }
            Step::Expire(i) => {
                budget.expiries -= 1;
                let client = &mut self.clients[i];
                client.session_lives = false;
                client.in_doubt.clear();
                let session = client.session;
                self.end_session(session);
            }
            Step::Lie(i) => {
                budget.lies -= 1;
                if self.clients[i].is_up() {
                    self.disconnect(i);
                }
                self.leave_ghost(i);
                self.learn_expiry(i);
            }
            Step::Swap(i) => {
                budget.swaps -= 1;
                self.leave_ghost(i);
                self.next_session(i);
                self.connect(i);
            }
            Step::Kill(i) => {
                budget.crashes -= 1;
                self.kill(i);
            }
            Step::ApplyPart(i) => {
                budget.halves -= 1;
                self.apply_part(i);
            }
            Step::Straggle(i) => {
                budget.stragglers -= 1;
                let (actor, ticket, answer) = self.clients[i].late.remove(0);
                self.deliver(i, actor, ticket, &answer);
            }
            other => self.hinder(other),
        }
    }

    /// What servers do to requests and watches.
    fn hinder(&mut self, fault: Step<M>) {
        let budget = &mut self.budget;
        match fault {
            Step::Throttle(i) => {
                budget.throttles -= 1;
                let sent = self.clients[i].requests.pop_front().expect("a request");
                self.deliver(i, sent.actor, sent.ticket, &Answer::Failed(Failure::Throttled));
            }
            Step::Refuse(i) => {
                budget.refusals -= 1;
                let client = &mut self.clients[i];
                client.rights = Rights::Restored;
                let sent = client.requests.pop_front().expect("a request");
                let part = sent.request.changes().len().saturating_sub(1);
                client.is_deaf |= sent.request.reads();
                self.refuse(i, sent, part);
            }
            Step::LoseWatch(i, k) => {
                budget.lost_watches -= 1;
                let Watcher { actor, ticket, .. } = self.clients[i].watches.remove(k);
                self.feed(i, actor, Event::Changed { ticket, change: Fired::Lost });
            }
            Step::DropWatch(i, k) => {
                budget.dropped_watches -= 1;
                self.clients[i].watches.remove(k);
                (self.clients[i].is_deaf, self.clients[i].needs_looks) = (true, !M::WATCHES_AGAIN);
            }
            Step::Forbid(i, right) => {
                budget.prohibitions -= 1;
                self.clients[i].rights = Rights::NotTo(right);
            }
            other => self.wish(other),
        }
    }

    /// What users and operators do.
    fn wish(&mut self, wish: Step<M>) {
        let budget = &mut self.budget;
        match wish {
            Step::Withdraw(i, actor) => {
                budget.withdrawals -= 1;
                self.withdraw(i, actor);
            }
            Step::Deadline(i, actor) => {
                budget.deadlines -= 1;
                self.feed(i, actor, Event::Deadline);
            }
            Step::Lapse(i, actor) => {
                budget.lapses -= 1;
                self.feed(i, actor, Event::LeaseLapsed);
            }
            Step::OperatorDeletes(name) => {
                budget.deletions -= 1;
                self.commit(None, None, &Request::Single(Change::Delete(name, None)));
            }
            Step::OperatorWrites(name) => {
                budget.writes -= 1;
                self.commit(
                    None,
                    None,
                    &Request::Single(Change::Write(name, None, Data::Byte(99))),
                );
            }
            Step::OperatorBars(name) => {
                budget.bars -= 1;
                self.server.commit(vec![Effect::Barred(name)]);
            }
            _ => unreachable!("no wish"),
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
