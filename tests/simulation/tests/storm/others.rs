//! Servers that speak ZooKeeper's protocol and are not ZooKeeper: what is promised there, and the ends of sessions that
//! no client can foresee. All of it is known from their sources alone.

use core::time::Duration;

use tokio::time::sleep;
use zk_embedded::{Deviations, Profile, Resumption, Shutdown};
use zk_jute::OpCode;

use crate::scene::Scene;
use crate::servers::{Condition, TICK};
use crate::setting::LONGEST;

/// The promise that clients are given of what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// By Apache ZooKeeper: a lease. Of all that exclude each other at most one is valid.
    Lease,
    /// By the others, to clients that ask for no lease: it is valid at most for as long as the client is connected.
    Advice,
    /// By the others, to all other clients: none, so they are given nothing that could be valid.
    Nothing,
}

/// The servers of a run that are not ZooKeeper's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherServers {
    profile: Profile,
    promise: Promise,
    /// By how much the wall clocks of followers lag behind the leader's, which takes their times for its own.
    skew: Duration,
}

impl OtherServers {
    pub(crate) fn draw(rng: &mut fastrand::Rng, profile: Profile) -> Self {
        let promise = if rng.u8(..4) == 0 { Promise::Nothing } else { Promise::Advice };
        let skew = match profile {
            Profile::RaftKeeper => TICK * rng.u32(..1_500) / 1_000,
            _ => Duration::ZERO,
        };
        Self { profile, promise, skew }
    }

    pub(crate) const fn promise(self) -> Promise {
        self.promise
    }

    pub(crate) const fn skew(self) -> Duration {
        self.skew
    }

    /// Whether processes hand sessions over: not where a session goes on, and no server tells the next process what is
    /// left in it.
    pub(crate) fn hand_over(self) -> bool {
        !self.sessions_go_on() || !self.deviations().without.contains(&OpCode::GET_EPHEMERALS)
    }

    pub(crate) fn sessions_go_on(self) -> bool {
        self.deviations().resumption == Resumption::Continued
    }

    pub(crate) const fn deviations(self) -> Deviations {
        Deviations::of(self.profile)
    }
}

impl Scene {
    /// Brings, beside each third plague, one that befalls no ensemble of Apache ZooKeeper.
    pub(crate) fn plague_of_others(&mut self) {
        let Some(others) = self.setting.others else { return };
        if self.rng_of_others.u8(..3) > 0 {
            return;
        }
        let ends = others.deviations().shutdown == Shutdown::SessionsEnd;
        let plague = self.rng_of_others.u8(..6);
        let victim = self.rng_of_others.usize(..self.servers.count());
        self.laws.tell(|| format!("plague {plague} of other servers, for {victim}"));
        match plague {
            0..=2 if ends => self.shut_down(victim),
            0..=3 => {
                // One that was just heard of: the leader had not applied that yet.
                let sessions = self.servers.sessions();
                let session = self.rng_of_others.choice(&sessions).copied();
                self.servers.end_sessions(&session.into_iter().collect::<Vec<_>>());
            }
            _ => {
                let step = LONGEST * self.rng_of_others.u32(50..1_200) / 1_000;
                self.servers.step_wall_clock(step);
            }
        }
        self.laws.count(|tally| tally.plagues_of_others += 1);
    }

    /// Shuts a member down in order, which ends the sessions of its clients, and starts it again.
    fn shut_down(&mut self, place: usize) {
        let time = Duration::from_millis(self.rng_of_others.u64(50..3_000));
        let servers = self.servers.clone();
        if servers.shut_down(place) {
            self.healers.spawn(async move {
                sleep(time).await;
                servers.turn(place, Condition::Down, Condition::Running);
            });
        }
    }
}
