//! Clocks of the day that are set, forward and back, on one server at a time. No session of Apache ZooKeeper ends by them, and
//! no lease; runs of the job do count by them.

use core::time::Duration;

use zk_embedded::Timestamp;

use crate::scene::{Cast, Scene};
use crate::several::PERIOD;

/// The fate of the servers' clocks of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WallClocks {
    GoOn,
    /// They are set now and then.
    AreSet,
}

impl WallClocks {
    /// From this seed on they are set, where processes run the job. So the others are what they were.
    const FIRST: u64 = 40_000;

    pub(crate) fn of(seed: u64, cast: Cast) -> Self {
        if seed < Self::FIRST || cast != Cast::AllAndTrees { Self::GoOn } else { Self::AreSet }
    }
}

/// How far a clock is set at most.
const FARTHEST: Duration = PERIOD.saturating_mul(20);

impl Scene {
    /// Sets, beside each second plague, the clock of a server: the one that leads, in most cases.
    pub(crate) fn plague_of_clocks(&mut self) {
        if self.wall_clocks == WallClocks::GoOn || self.rng_of_clocks.bool() {
            return;
        }
        let any = self.rng_of_clocks.usize(..self.servers.count());
        let leader = self.servers.leader().filter(|_| self.rng_of_clocks.u8(..4) > 0);
        let victim = leader.unwrap_or(any);
        let most = match self.rng_of_clocks.u8(..3) {
            0 => PERIOD * 2,
            _ => FARTHEST,
        };
        let most = i64::try_from(most.as_millis()).unwrap_or(i64::MAX);
        let offset = self.rng_of_clocks.i64(-most..=most);
        self.laws.tell(|| format!("the clock of server {victim} is set {offset} ms off"));
        self.servers.set_wall_clock_at_origin(victim, Timestamp::from_millis(offset));
        self.laws.count(|tally| tally.clocks_set += 1);
    }
}
