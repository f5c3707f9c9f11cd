//! The roles of a member, and the changes between them.

use zk_embedded::Instant;

use super::MemberId;
use super::election::Looking;
use super::following::Following;
use super::leading::Leading;
use super::local::Local;
use super::log::{Epoch, Promise};
use super::message::Message;

#[derive(Debug)]
pub(super) enum Role {
    Looking(Looking),
    Following(Following),
    Leading(Box<Leading>),
}

/// The next step of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Stay,
    /// The leader, or the quorum, is lost.
    Look,
    /// To ask a quorum to promise this epoch.
    Stand(Epoch),
    /// This was promised.
    Follow(Promise),
}

impl Role {
    pub(super) fn handle(
        &mut self,
        local: &mut Local,
        now: Instant,
        from: MemberId,
        message: Message,
    ) -> Turn {
        match self {
            Self::Looking(looking) => looking.handle(local, now, from, message),
            Self::Following(following) => following.handle(local, now, from, message),
            Self::Leading(leading) => leading.handle(local, now, from, message),
        }
    }

    pub(super) fn handle_reset(&mut self, peer: MemberId) -> Turn {
        match self {
            Self::Looking(looking) => looking.forget(peer),
            Self::Following(following) if following.leader() == peer => return Turn::Look,
            Self::Following(_) => {}
            Self::Leading(leading) => leading.forget(peer),
        }
        Turn::Stay
    }

    pub(super) fn handle_timeout(&mut self, local: &mut Local, now: Instant) -> Turn {
        match self {
            Self::Looking(looking) => looking.handle_timeout(local, now),
            Self::Following(following) => following.handle_timeout(local, now),
            Self::Leading(leading) => leading.handle_timeout(local, now),
        }
    }

    /// Does what the clients of this member asked for.
    pub(super) fn settle(&mut self, local: &mut Local, now: Instant) {
        match self {
            Self::Looking(_) => {}
            Self::Following(following) => following.forward(local),
            Self::Leading(leading) => leading.settle(local, now),
        }
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        match self {
            Self::Looking(looking) => looking.poll_timeout(),
            Self::Following(following) => following.poll_timeout(),
            Self::Leading(leading) => leading.poll_timeout(),
        }
    }
}
