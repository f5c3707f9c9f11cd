//! Servers that speak ZooKeeper's protocol and are not ZooKeeper: what sets the servers of a run apart
//! beside what the embedded server's profile does. All of it is known from their sources alone.

use core::time::Duration;

use zk_embedded::{Deviations, Profile};

/// The servers of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeeperLike {
    /// The server, as the embedded server has it.
    pub(super) profile: Profile,
    /// By how much the wall clocks of followers lag behind the leader's. They send it absolute times at
    /// which sessions end, and it takes them even if they are earlier. `RaftKeeper`:
    /// RequestForwarder.cpp:95-107, SessionManager.h:102-106.
    pub(super) skew: Duration,
}

impl KeeperLike {
    pub(super) fn draw(rng: &mut fastrand::Rng, profile: Profile, tick: Duration) -> Self {
        let skew = match profile {
            Profile::RaftKeeper => tick * rng.u32(0..1_500) / 1_000,
            _ => Duration::ZERO,
        };
        Self { profile, skew }
    }

    pub(super) const fn deviations(self) -> Deviations {
        Deviations::of(self.profile)
    }
}
