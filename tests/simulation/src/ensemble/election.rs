//! The election of a leader: members find out which members are there, and which of them has the best
//! log.

use std::collections::BTreeMap;

use zk_embedded::Instant;

use super::MemberId;
use super::local::Local;
use super::log::Promise;
use super::message::{Announcement, Claim, Message, Standing, ToLeader};
use super::role::Turn;

/// Announces itself until it has a leader, or has the best log among a quorum.
#[derive(Debug)]
pub(super) struct Looking {
    since: Instant,
    heard: BTreeMap<MemberId, Heard>,
    announce_at: Instant,
    prospect: Prospect,
}

/// The last announcement of another member.
#[derive(Debug)]
struct Heard {
    at: Instant,
    announcement: Announcement,
}

#[derive(Debug)]
enum Prospect {
    /// The member waits for a quorum, or for a better log.
    Waiting,
    /// This member stands, unless it hears a member with a better log until then.
    StandsAt(Instant),
}

impl Looking {
    pub(super) fn new(local: &mut Local, now: Instant) -> Self {
        let heard = BTreeMap::new();
        let mut looking = Self { since: now, heard, announce_at: now, prospect: Prospect::Waiting };
        looking.announce(local, now);
        looking
    }

    pub(super) const fn since(&self) -> Instant {
        self.since
    }

    pub(super) fn handle(
        &mut self,
        local: &mut Local,
        now: Instant,
        from: MemberId,
        message: Message,
    ) -> Turn {
        match message {
            Message::Looking(announcement) => {
                self.hear(local, now, from, announcement);
                self.consider(local, now)
            }
            Message::Leading(claim) => consent(local, from, claim),
            // For the leader that this member was.
            Message::ToLeader(_, ToLeader::Join { .. }) => {
                local.reset(from);
                Turn::Stay
            }
            Message::ToLeader(..) | Message::ToFollower(..) => Turn::Stay,
        }
    }

    pub(super) fn forget(&mut self, peer: MemberId) {
        self.heard.remove(&peer);
    }

    pub(super) fn handle_timeout(&mut self, local: &mut Local, now: Instant) -> Turn {
        if self.announce_at <= now {
            self.announce(local, now);
        }
        self.consider(local, now)
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        match self.prospect {
            Prospect::Waiting => self.announce_at,
            Prospect::StandsAt(at) => at.min(self.announce_at),
        }
    }

    /// Notes that another member has no leader, and reports the consequences to the members
    /// concerned.
    fn hear(&mut self, local: &mut Local, now: Instant, from: MemberId, announced: Announcement) {
        let reached = self.reach(local.id);
        let is_known = self.heard.contains_key(&from) && announced.hears.contains(&local.id);
        self.heard.insert(from, Heard { at: now, announcement: announced });
        let announcement = self.announcement(local);
        if announcement.reach > reached {
            local.broadcast(&Message::Looking(announcement));
        } else if !is_known {
            local.send(from, Message::Looking(announcement));
        }
    }

    fn announce(&mut self, local: &mut Local, now: Instant) {
        let announcement = self.announcement(local);
        local.broadcast(&Message::Looking(announcement));
        let quarter = local.tick() / 4;
        self.announce_at = now + quarter + quarter.mul_f64(local.random.f64());
    }

    fn announcement(&self, local: &Local) -> Announcement {
        Announcement {
            promise: local.promise,
            credentials: local.credentials(),
            hears: self.heard.keys().copied().collect(),
            reach: self.reach(local.id),
        }
    }

    /// Returns how many members, with itself, this one hears and is heard by.
    fn reach(&self, own: MemberId) -> usize {
        let hears_us = |heard: &&Heard| heard.announcement.hears.contains(&own);
        1 + self.heard.values().filter(hears_us).count()
    }

    /// Decides whether to stand: with a quorum in reach and no better log it is time, after a while
    /// in which others may still be heard.
    fn consider(&mut self, local: &Local, now: Instant) -> Turn {
        self.heard.retain(|_, heard| heard.at + local.tick() > now);
        let reach = self.reach(local.id);
        let own = (local.credentials(), local.id);
        let is_outdone = self.heard.iter().any(|(peer, Heard { announcement, .. })| {
            (announcement.credentials, *peer) > own && announcement.reach >= local.quorum()
        });
        if reach < local.quorum() || is_outdone {
            self.prospect = Prospect::Waiting;
            return Turn::Stay;
        }
        let due = match self.prospect {
            Prospect::Waiting => now + local.tick() / 8,
            Prospect::StandsAt(due) => due,
        };
        self.prospect = Prospect::StandsAt(due);
        if due <= now || self.is_complete(local) {
            let promised = self.heard.values().map(|heard| heard.announcement.promise.epoch);
            let newest = promised.chain([local.promise.epoch]).max().unwrap_or_default();
            Turn::Stand(newest.next())
        } else {
            Turn::Stay
        }
    }

    /// Whether all members hear each other.
    fn is_complete(&self, local: &Local) -> bool {
        let size = usize::from(local.config.size);
        self.heard.len() + 1 == size
            && self.heard.values().all(|heard| heard.announcement.reach == size)
    }
}

/// Returns whether to follow the member that claims to lead.
fn consent(local: &mut Local, from: MemberId, Claim { epoch, standing }: Claim) -> Turn {
    let asked = Promise { epoch, to: from };
    let consents = match standing {
        Standing::Candidate(credentials) => {
            (epoch > local.promise.epoch || asked == local.promise)
                && credentials >= local.credentials()
        }
        // A promise of the same epoch to another member does not matter any more: that one can have
        // no quorum.
        Standing::Elected => epoch >= local.promise.epoch,
    };
    if consents {
        local.promise = asked;
        Turn::Follow(asked)
    } else {
        Turn::Stay
    }
}
