//! A follower: it logs the leader's proposals, applies its commits, and answers the requests that need
//! no leader.

use std::collections::BTreeMap;

use zk_embedded::Instant;
use zk_embedded::replication::{ServerMode, Ticket};
use zk_jute::Zxid;

use super::MemberId;
use super::local::Local;
use super::log::Promise;
use super::message::{Link, Message, Proposal, ToFollower, ToLeader};
use super::role::Turn;

/// A follower, from its promise on.
#[derive(Debug)]
pub(super) struct Following {
    promise: Promise,
    link: Link,
    progress: Progress,
    /// Of what was proposed on this member's request and is not committed.
    tickets: BTreeMap<Zxid, Ticket>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The leader's log is awaited.
    Joining { due: Instant },
    /// It is logged and acknowledged.
    Synchronized { due: Instant },
    /// Clients are served, as long as the leader is heard before `due`.
    Serving { due: Instant },
}

impl Following {
    /// Joins the leader that `promise` was given to.
    pub(super) fn new(local: &mut Local, now: Instant, promise: Promise) -> Self {
        let link = local.next_link();
        let join = ToLeader::Join { epoch: promise.epoch, committed: local.committed() };
        local.send(promise.to, Message::ToLeader(link, join));
        let progress = Progress::Joining { due: now + local.init_limit() };
        Self { promise, link, progress, tickets: BTreeMap::new() }
    }

    pub(super) fn leader(&self) -> MemberId {
        self.promise.to
    }

    pub(super) fn handle(
        &mut self,
        local: &mut Local,
        now: Instant,
        from: MemberId,
        message: Message,
    ) -> Turn {
        match message {
            Message::ToFollower(link, message) if link == self.link => {
                self.obey(local, now, message);
                Turn::Stay
            }
            // It does not lead any more, or not that epoch.
            Message::Looking(_) if from == self.leader() => Turn::Look,
            Message::Leading(claim)
                if from == self.leader() && claim.epoch > self.promise.epoch =>
            {
                Turn::Look
            }
            Message::ToLeader(_, ToLeader::Join { .. }) => {
                local.reset(from);
                Turn::Stay
            }
            // Other leaders have to wait: a follower answers no candidate.
            Message::Looking(_)
            | Message::Leading(_)
            | Message::ToLeader(..)
            | Message::ToFollower(..) => Turn::Stay,
        }
    }

    pub(super) fn handle_timeout(&mut self, local: &mut Local, now: Instant) -> Turn {
        if self.poll_timeout() <= now {
            local.reset(self.leader());
            Turn::Look
        } else {
            Turn::Stay
        }
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        let (Progress::Joining { due }
        | Progress::Synchronized { due }
        | Progress::Serving { due }) = self.progress;
        due
    }

    /// Passes on what only the leader can answer.
    pub(super) fn forward(&mut self, local: &mut Local) {
        while let Some((ticket, forward)) = local.replica.poll_forward() {
            self.tell(local, ToLeader::Forward(ticket, forward));
        }
    }

    fn obey(&mut self, local: &mut Local, now: Instant, message: ToFollower) {
        if let Progress::Serving { due } = &mut self.progress {
            *due = now + local.sync_limit();
        }
        match message {
            ToFollower::Synchronize(txns) => {
                if let Progress::Joining { due } = self.progress {
                    local.log.synchronize(self.promise.epoch, local.committed(), txns);
                    self.progress = Progress::Synchronized { due };
                    self.acknowledge(local);
                }
            }
            ToFollower::UpToDate => {
                local.replica.set_mode(ServerMode::Follower);
                self.progress = Progress::Serving { due: now + local.sync_limit() };
            }
            ToFollower::Propose(Proposal { after, txn, ticket }) => {
                // A gap cannot be: what a connection loses, it loses with everything after it.
                assert_eq!(after, local.log.last(), "messages were lost, and their connection not");
                self.tickets.extend(ticket.map(|ticket| (txn.at.zxid, ticket)));
                local.log.append(txn);
                self.acknowledge(local);
            }
            ToFollower::Commit(zxid) => local.commit(zxid, &mut self.tickets),
            ToFollower::Answer(ticket, answer) => local.replica.answer(ticket, answer),
            ToFollower::Heartbeat => {
                let touched = local.take_touched(now);
                self.tell(local, ToLeader::Alive(touched));
            }
        }
    }

    fn acknowledge(&self, local: &mut Local) {
        let last = local.log.last();
        self.tell(local, ToLeader::Acknowledge(last));
    }

    fn tell(&self, local: &mut Local, message: ToLeader) {
        local.send(self.leader(), Message::ToLeader(self.link, message));
    }
}
