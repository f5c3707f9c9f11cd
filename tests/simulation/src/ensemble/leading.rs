//! An elected member: it wins a quorum for the epoch, brings the quorum to its own log, then decides
//! for all.

mod broadcast;
mod learners;

use core::time::Duration;

use zk_embedded::{ExpiryPace, Instant, Timestamp};
use zk_jute::{SessionId, Zxid};

use self::broadcast::Broadcast;
use self::learners::{Learners, Progress};
use super::MemberId;
use super::local::Local;
use super::log::{Epoch, Promise};
use super::message::{Announcement, Claim, Link, Message, Standing, ToFollower, ToLeader};
use super::role::Turn;

/// An elected member, from its own promise on.
#[derive(Debug)]
pub(super) struct Leading {
    epoch: Epoch,
    learners: Learners,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// A quorum has to promise the epoch before any member's log is touched: only then is
    /// everything committed in this member's log.
    Discovering { due: Instant },
    /// A quorum has to acknowledge this member's log: then it is committed.
    Synchronizing { due: Instant },
    /// A quorum follows.
    Broadcasting(Box<Broadcast>),
}

impl Leading {
    /// Stands for `epoch`.
    pub(super) fn new(local: &mut Local, now: Instant, epoch: Epoch) -> Self {
        local.promise = Promise { epoch, to: local.id };
        let due = now + local.init_limit();
        let mut leading =
            Self { epoch, learners: Learners::default(), phase: Phase::Discovering { due } };
        let claim = leading.claim(local);
        local.broadcast(&Message::Leading(claim));
        leading.go_on(local, now);
        leading
    }

    pub(super) fn handle(
        &mut self,
        local: &mut Local,
        now: Instant,
        from: MemberId,
        message: Message,
    ) -> Turn {
        match message {
            Message::Looking(announcement) => self.meet(local, from, &announcement),
            Message::Leading(claim) => self.compare(local, from, claim),
            Message::ToLeader(link, ToLeader::Join { epoch, committed }) => {
                if epoch == self.epoch {
                    self.learners.join(now, from, link, committed);
                    self.go_on(local, now);
                } else {
                    local.reset(from);
                }
                Turn::Stay
            }
            Message::ToLeader(link, message) => {
                if self.learners.hear(now, from, link) {
                    self.serve(local, now, (from, link), message);
                }
                Turn::Stay
            }
            // From a leader that this member has left.
            Message::ToFollower(..) => Turn::Stay,
        }
    }

    pub(super) fn forget(&mut self, peer: MemberId) {
        self.learners.remove(peer);
    }

    pub(super) fn handle_timeout(&mut self, local: &mut Local, now: Instant) -> Turn {
        match &mut self.phase {
            Phase::Discovering { due } | Phase::Synchronizing { due } => {
                if *due <= now {
                    Turn::Look
                } else {
                    Turn::Stay
                }
            }
            Phase::Broadcasting(broadcast) => {
                broadcast.handle_timeout(local, now, &mut self.learners)
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        match &self.phase {
            Phase::Discovering { due } | Phase::Synchronizing { due } => *due,
            Phase::Broadcasting(broadcast) => broadcast.poll_timeout(),
        }
    }

    pub(super) fn settle(&mut self, local: &mut Local, now: Instant) {
        if let Phase::Broadcasting(broadcast) = &mut self.phase {
            broadcast.settle(local, now, &self.learners);
        }
    }

    /// Sets how long the end of a session takes from now on.
    pub(super) fn set_expiry_pace(&mut self, pace: ExpiryPace) {
        if let Phase::Broadcasting(broadcast) = &mut self.phase {
            broadcast.leader_mut().set_expiry_pace(pace);
        }
    }

    pub(super) fn set_wall_clock_at_origin(&mut self, time: Timestamp) {
        if let Phase::Broadcasting(broadcast) = &mut self.phase {
            broadcast.leader_mut().set_wall_clock_at_origin(time);
        }
    }

    pub(super) fn end_sessions(&mut self, local: &mut Local, now: Instant, sessions: &[SessionId]) {
        if let Phase::Broadcasting(broadcast) = &mut self.phase {
            broadcast.end_sessions(local, now, &self.learners, sessions);
        }
    }

    pub(super) fn step_wall_clock(&mut self, step: Duration) {
        if let Phase::Broadcasting(broadcast) = &mut self.phase {
            broadcast.step_wall_clock(step);
        }
    }

    /// Ends the connections of the followers: they are to look for another leader.
    pub(super) fn abdicate(&mut self, local: &mut Local) {
        for learner in self.learners.members() {
            local.reset(learner);
        }
    }

    /// Answers a member that has no leader.
    fn meet(&mut self, local: &mut Local, from: MemberId, announcement: &Announcement) -> Turn {
        // If it followed this one, it does so no more.
        self.learners.remove(from);
        let Announcement { promise, credentials, reach, .. } = announcement;
        let cannot_join = match self.phase {
            Phase::Discovering { .. } => {
                let is_elsewhere = promise.epoch == self.epoch && promise.to != local.id;
                let is_better = *credentials > local.credentials() && *reach >= local.quorum();
                is_elsewhere || is_better
            }
            Phase::Synchronizing { .. } | Phase::Broadcasting(_) => false,
        };
        // It can never join an epoch older than what it promised, so there has to be a newer one.
        if promise.epoch > self.epoch || cannot_join {
            return Turn::Look;
        }
        let claim = self.claim(local);
        local.send(from, Message::Leading(claim));
        Turn::Stay
    }

    /// Compares its claim with that of another member that was elected.
    fn compare(&self, local: &Local, from: MemberId, claim: Claim) -> Turn {
        let own = (local.credentials(), local.id);
        let yields = match (claim.standing, &self.phase) {
            (Standing::Candidate(credentials), Phase::Discovering { .. }) => {
                claim.epoch == self.epoch && (credentials, from) > own
            }
            (Standing::Elected, Phase::Discovering { .. }) => claim.epoch == self.epoch,
            (_, Phase::Synchronizing { .. } | Phase::Broadcasting(_)) => false,
        };
        if claim.epoch > self.epoch || yields { Turn::Look } else { Turn::Stay }
    }

    fn claim(&self, local: &Local) -> Claim {
        let standing = match self.phase {
            Phase::Discovering { .. } => Standing::Candidate(local.credentials()),
            Phase::Synchronizing { .. } | Phase::Broadcasting(_) => Standing::Elected,
        };
        Claim { epoch: self.epoch, standing }
    }

    /// Handles a message of a learner, on its present link.
    fn serve(
        &mut self,
        local: &mut Local,
        now: Instant,
        from: (MemberId, Link),
        message: ToLeader,
    ) {
        match (message, &mut self.phase) {
            (ToLeader::Acknowledge(zxid), _) => self.acknowledged(local, now, from.0, zxid),
            (ToLeader::Forward(ticket, forward), Phase::Broadcasting(broadcast)) => {
                let origin = broadcast::Origin::Learner(from.0, from.1);
                broadcast.decide(local, now, &self.learners, ((origin, ticket), &forward));
            }
            (ToLeader::Alive(touched), Phase::Broadcasting(broadcast)) => {
                for (session, timeout) in touched {
                    // Of what came of it the learner is not told.
                    broadcast.touch(now, session, timeout);
                }
            }
            // Handled before, or asked of a leader that does not lead yet, which no member does.
            (ToLeader::Join { .. } | ToLeader::Forward(..) | ToLeader::Alive(_), _) => {}
        }
    }

    fn acknowledged(&mut self, local: &mut Local, now: Instant, from: MemberId, zxid: Zxid) {
        let before = self.learners.acknowledge(from, zxid);
        if let Phase::Broadcasting(broadcast) = &mut self.phase {
            if before == Some(Progress::Synchronizing) {
                broadcast::welcome(local, &self.learners, from);
            }
            broadcast.commit(local, &self.learners);
        } else {
            self.go_on(local, now);
        }
    }

    /// Takes the next steps that a quorum, or a learner, is ready for.
    fn go_on(&mut self, local: &mut Local, now: Instant) {
        if let Phase::Discovering { due } = self.phase
            && self.learners.len() + 1 >= local.quorum()
        {
            local.log.begin(self.epoch);
            self.phase = Phase::Synchronizing { due };
        }
        if !matches!(self.phase, Phase::Discovering { .. }) {
            for (learner, link, committed) in self.learners.take_joined() {
                let txns = local.log.after(committed).to_vec();
                let synchronize = ToFollower::Synchronize(txns);
                local.send(learner, Message::ToFollower(link, synchronize));
            }
        }
        if matches!(self.phase, Phase::Synchronizing { .. })
            && self.learners.synchronized() + 1 >= local.quorum()
        {
            let broadcast = Broadcast::begin(local, now, self.epoch, &self.learners);
            self.phase = Phase::Broadcasting(Box::new(broadcast));
        }
    }
}
