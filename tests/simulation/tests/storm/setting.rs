//! The setting of a run, drawn before it begins.

use core::time::Duration;

use zk_embedded::ExpiryPace;
use zk_simulation::ensemble::TouchLoss;

use crate::others::{OtherServers, Promise};
use crate::slots::Terms;
use crate::well;

/// The timeout that sessions ask for, unless they ask for different ones.
const USUAL: Duration = Duration::from_secs(2);
const SHORT: Duration = Duration::from_millis(1500);
/// The longest timeout that servers grant.
pub(crate) const LONGEST: Duration = Duration::from_secs(4);

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// One on its own, or the members of an ensemble.
    pub(crate) servers: usize,
    /// Each process stands in all of them.
    pub(crate) elections: usize,
    pub(crate) timeouts: Timeouts,
    /// The bound of the servers, until the operator raises it, if that happens.
    pub(crate) longest_at_first: Duration,
    /// Ticks until a leader gives up its followers, and they their leader.
    pub(crate) sync_limit: u32,
    pub(crate) release: Release,
    pub(crate) expiry_pace: ExpiryPace,
    pub(crate) touch_loss: TouchLoss,
    /// Of each process.
    pub(crate) slots: Vec<Terms>,
    pub(crate) checked: Vec<well::Terms>,
    /// The servers, where they are not ZooKeeper's.
    pub(crate) others: Option<OtherServers>,
}

/// The release of all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    Present,
    /// One without what came with 3.6: watches that stay, and many reads in one request.
    Before36,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeouts {
    /// All sessions have the same, for as long as they last.
    Same,
    /// Each client asks for its own, also one that goes on with the session of another.
    Mixed,
}

impl Setting {
    /// Draws one; those of slots and of health from numbers of their own.
    pub(crate) fn draw(
        rng: &mut fastrand::Rng,
        (rng_of_slots, rng_of_groups): (&mut fastrand::Rng, &mut fastrand::Rng),
        rng_of_health: &mut fastrand::Rng,
    ) -> Self {
        let servers = if rng.u8(..4) == 0 { 1 } else { 3 };
        let pace = |rng: &mut fastrand::Rng| Duration::from_millis(rng.u64(..150));
        let expiry_pace = match rng.u8(..4) {
            0 => ExpiryPace { to_closing: pace(rng), to_proposal: pace(rng) },
            _ => ExpiryPace::default(),
        };
        let touch_loss = match rng.u8(..8) {
            0 => TouchLoss {
                per_mille: rng.u16(..300),
                within: Duration::from_millis(5),
                ..TouchLoss::default()
            },
            _ => TouchLoss::default(),
        };
        let timeouts = if rng.bool() { Timeouts::Same } else { Timeouts::Mixed };
        Self {
            servers,
            elections: rng.usize(1..=3),
            timeouts,
            longest_at_first: if rng.u8(..3) == 0 { USUAL } else { LONGEST },
            sync_limit: rng.u32(3..=10),
            release: Release::Present,
            expiry_pace,
            touch_loss,
            slots: Terms::draw(rng_of_slots, rng_of_groups),
            checked: well::Terms::draw(rng_of_health),
            others: None,
        }
    }

    /// Whether processes hand their sessions over.
    pub(crate) fn hands_over(&self) -> bool {
        self.others.is_none_or(OtherServers::hand_over)
    }

    /// Whether a session goes on when its connection is lost.
    pub(crate) fn sessions_go_on(&self) -> bool {
        self.others.is_none_or(OtherServers::sessions_go_on)
    }

    pub(crate) fn promise(&self) -> Promise {
        self.others.map_or(Promise::Lease, OtherServers::promise)
    }

    /// Draws the timeout that the session of a new client asks for.
    pub(crate) fn timeout(&self, rng: &mut fastrand::Rng) -> Duration {
        match self.timeouts {
            Timeouts::Same => USUAL,
            Timeouts::Mixed => [SHORT, USUAL, LONGEST / 4 * 3, LONGEST][rng.usize(..4)],
        }
    }

    /// Draws the timeout that a session asks for when it goes on, if that is not the one that it
    /// had.
    pub(crate) fn new_timeout(&self, rng: &mut fastrand::Rng) -> Option<Duration> {
        (self.timeouts == Timeouts::Mixed && rng.bool()).then(|| self.timeout(rng))
    }
}
