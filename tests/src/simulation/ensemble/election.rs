//! Without a leader: who is there, and who has the best log.

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
    /// There is no quorum, or a better log.
    Waiting,
    /// This member stands, unless somebody with a better log is heard until then.
    StandsAt(Instant),
}

impl Looking {
    pub(super) fn new(local: &mut Local, now: Instant) -> Self {
        let heard = BTreeMap::new();
        let mut looking = Self { heard, announce_at: now, prospect: Prospect::Waiting };
        looking.announce(local, now);
        looking
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
                let is_news = self.is_news(local.id, from, &announcement);
                self.heard.insert(from, Heard { at: now, announcement });
                if is_news {
                    let own = self.announcement(local);
                    local.send(from, Message::Looking(own));
                }
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

    /// Whether the sender does not know yet that this member hears it, or this one that it is there.
    fn is_news(&self, own: MemberId, from: MemberId, announcement: &Announcement) -> bool {
        !self.heard.contains_key(&from) || !announcement.hears.contains(&own)
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

    /// How many members, with itself, this one hears and is heard by.
    fn reach(&self, own: MemberId) -> usize {
        let hears_us = |heard: &&Heard| heard.announcement.hears.contains(&own);
        1 + self.heard.values().filter(hears_us).count()
    }

    /// A quorum in reach and no better log: time to stand, after a while in which others may still
    /// be heard.
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
        if due <= now || reach == usize::from(local.config.size) {
            let promised = self.heard.values().map(|heard| heard.announcement.promise.epoch);
            let newest = promised.chain([local.promise.epoch]).max().unwrap_or_default();
            Turn::Stand(newest.next())
        } else {
            Turn::Stay
        }
    }
}

/// Whether to follow who claims to lead.
fn consent(local: &mut Local, from: MemberId, Claim { epoch, standing }: Claim) -> Turn {
    let asked = Promise { epoch, to: from };
    let consents = match standing {
        Standing::Candidate(credentials) => {
            (epoch > local.promise.epoch || asked == local.promise)
                && credentials >= local.credentials()
        }
        // A promise of the same epoch to somebody else does not matter any more: that one can have
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
