//! The leader of a quorum: it decides, proposes, commits in order, and answers.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use zk_embedded::replication::{
    Answer, Decision, Forward, Leader, ReplicaId, ServerMode, Ticket, Txn,
};
use zk_embedded::{Database, Instant};
use zk_jute::{SessionId, Zxid};

use super::super::MemberId;
use super::super::local::Local;
use super::super::log::Epoch;
use super::super::message::{Link, Message, Proposal, ToFollower};
use super::super::role::Turn;
use super::learners::Learners;

#[derive(Debug)]
pub(super) struct Broadcast {
    leader: Leader,
    /// With every transaction proposed so far, committed or not.
    decided: Database,
    /// Of what was proposed for clients of this member and is not committed.
    tickets: BTreeMap<Zxid, Ticket>,
    /// Answers that wait until this transaction is committed.
    answers: VecDeque<(Zxid, Request, Answer)>,
    heartbeat_at: Instant,
    /// By how much the clock has gone forward by which sessions end.
    ahead: Duration,
}

/// The member that asked, and the number of its request.
pub(super) type Request = (Origin, Ticket);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A client of the leader's own.
    Own,
    Learner(MemberId, Link),
}

impl Broadcast {
    /// Begins to serve: a quorum has logged all of the leader's log, so it is committed. All
    /// session clocks start afresh, with the timeouts that the sessions were created with.
    pub(super) fn begin(
        local: &mut Local,
        now: Instant,
        epoch: Epoch,
        learners: &Learners,
    ) -> Self {
        let mut tickets = BTreeMap::new();
        local.commit(local.log.last(), &mut tickets);
        let decided = local.replica.database().clone();
        let leader = Leader::new(now, &local.config.server, &decided, epoch.beginning());
        local.replica.set_mode(ServerMode::Leader);
        let heartbeat_at = now + half_tick(local);
        for (follower, _) in learners.followers() {
            welcome(local, learners, follower);
        }
        Self {
            leader,
            decided,
            tickets,
            answers: VecDeque::new(),
            heartbeat_at,
            ahead: Duration::ZERO,
        }
    }

    pub(super) const fn leader_mut(&mut self) -> &mut Leader {
        &mut self.leader
    }

    pub(super) fn decide(
        &mut self,
        local: &mut Local,
        now: Instant,
        learners: &Learners,
        (request, forward): (Request, &Forward),
    ) {
        let from = match request.0 {
            Origin::Own => local.id,
            Origin::Learner(member, _) => member,
        };
        match self.leader.decide(now + self.ahead, &self.decided, ReplicaId(from.0), forward) {
            Decision::Propose(txn) => self.propose(local, learners, txn, Some(request)),
            Decision::Answer(answer) => match answer {
                // Behind what was proposed before, but with no quorum of its own.
                Answer::Synced | Answer::SessionMoved => {
                    self.answers.push_back((local.log.last(), request, answer));
                    self.answer_due(local, learners);
                }
                // Handshakes overtake, as in ZooKeeper.
                Answer::SessionResumed | Answer::SessionUnknown | Answer::TooManySessions => {
                    deliver(local, learners, request, answer);
                }
            },
        }
    }

    /// Commits, in order, every transaction that a quorum has logged.
    pub(super) fn commit(&mut self, local: &mut Local, learners: &Learners) {
        let quorum = local.quorum();
        while let Some(zxid) = local.log.after(local.committed()).first().map(|txn| txn.at.zxid)
            && learners.have_logged(zxid, quorum)
        {
            local.commit(zxid, &mut self.tickets);
            self.leader.handle_applied(zxid);
            for (member, link) in learners.informed() {
                local.send(member, Message::ToFollower(link, ToFollower::Commit(zxid)));
            }
            self.answer_due(local, learners);
        }
    }

    /// Does what the leader's own clients asked for.
    pub(super) fn settle(&mut self, local: &mut Local, now: Instant, learners: &Learners) {
        while let Some((session, timeout)) = local.replica.poll_touched() {
            // One that is closing is shunned by the replica already.
            self.touch(now, session, timeout);
        }
        while let Some((ticket, forward)) = local.replica.poll_forward() {
            self.decide(local, now, learners, ((Origin::Own, ticket), &forward));
        }
        self.shun_closing(local);
    }

    pub(super) fn handle_timeout(
        &mut self,
        local: &mut Local,
        now: Instant,
        learners: &mut Learners,
    ) -> Turn {
        if self.heartbeat_at <= now {
            self.heartbeat_at = now + half_tick(local);
            for silent in learners.take_silent(now, local.sync_limit(), local.init_limit()) {
                local.reset(silent);
            }
            if learners.synchronized() + 1 < local.quorum() {
                return Turn::Look;
            }
            for (member, link) in learners.followers() {
                local.send(member, Message::ToFollower(link, ToFollower::Heartbeat));
            }
        }
        while let Some(txn) = self.leader.poll_due(now + self.ahead, &self.decided) {
            self.propose(local, learners, txn, None);
        }
        self.shun_closing(local);
        Turn::Stay
    }

    /// Lets this member's own clients have no more answers in sessions that are closing, whether or
    /// not their end will ever be committed.
    fn shun_closing(&mut self, local: &mut Local) {
        while let Some(session) = self.leader.poll_closing() {
            local.replica.mark_closing(session);
        }
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        let due = self.leader.poll_timeout(&self.decided);
        let due = due.map(|due| due.elapsed().saturating_sub(self.ahead));
        due.map_or(self.heartbeat_at, |due| Instant::since_origin(due).min(self.heartbeat_at))
    }

    /// Restarts the clock of a session.
    pub(super) fn touch(&mut self, now: Instant, session: SessionId, timeout: Duration) {
        self.leader.touch(now + self.ahead, session, timeout);
    }

    /// Ends sessions, whether or not they were heard of.
    pub(super) fn end_sessions(
        &mut self,
        local: &mut Local,
        now: Instant,
        learners: &Learners,
        sessions: &[SessionId],
    ) {
        for session in sessions {
            if let Some(txn) = self.leader.expire(now + self.ahead, *session) {
                self.propose(local, learners, txn, None);
            }
        }
        self.shun_closing(local);
    }

    pub(super) fn step_wall_clock(&mut self, step: Duration) {
        self.ahead += step;
    }

    fn propose(
        &mut self,
        local: &mut Local,
        learners: &Learners,
        txn: Txn,
        request: Option<Request>,
    ) {
        self.decided.apply(&txn).expect("it was made for this very database");
        for (member, link) in learners.informed() {
            let ticket = request.and_then(|(origin, ticket)| {
                (origin == Origin::Learner(member, link)).then_some(ticket)
            });
            let proposal = Proposal { after: local.log.last(), txn: txn.clone(), ticket };
            local.send(member, Message::ToFollower(link, ToFollower::Propose(proposal)));
        }
        if let Some((Origin::Own, ticket)) = request {
            self.tickets.insert(txn.at.zxid, ticket);
        }
        local.log.append(txn);
        self.commit(local, learners);
    }

    fn answer_due(&mut self, local: &mut Local, learners: &Learners) {
        while let Some((behind, request, answer)) = self.answers.front()
            && *behind <= local.committed()
        {
            deliver(local, learners, *request, *answer);
            self.answers.pop_front();
        }
    }
}

/// Lets a learner that has the leader's log serve its clients.
pub(super) fn welcome(local: &mut Local, learners: &Learners, follower: MemberId) {
    if let Some(link) = learners.link(follower) {
        let committed = ToFollower::Commit(local.committed());
        local.send(follower, Message::ToFollower(link, committed));
        local.send(follower, Message::ToFollower(link, ToFollower::UpToDate));
    }
}

fn deliver(local: &mut Local, learners: &Learners, (origin, ticket): Request, answer: Answer) {
    match origin {
        Origin::Own => local.replica.answer(ticket, answer),
        Origin::Learner(member, link) if learners.link(member) == Some(link) => {
            local.send(member, Message::ToFollower(link, ToFollower::Answer(ticket, answer)));
        }
        // Its clients are gone with its link.
        Origin::Learner(..) => {}
    }
}

fn half_tick(local: &Local) -> Duration {
    local.tick() / 2
}
