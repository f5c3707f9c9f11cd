//! Leases at their limits: a timeout of two ticks, clocks that differ by the whole margin, a touch that
//! is lost in the swap of a member's table, answers that are late, and a member that is cut off just
//! after a proof.

use core::ops::Range;
use core::time::Duration;

use zk_session::lease::{HeartbeatPace, LeaseGrade};
use zk_simulation::ensemble::{MemberId, PeerMessage, TouchLoss};

use crate::leased::{Leased, TIMEOUT};
use crate::network::{Network, TICK};

/// A margin of a tenth covers servers' clocks between these rates, in thousandths of the client's.
const RATES: core::ops::RangeInclusive<u64> = 900..=1111;

/// The seeds that are played unless `LEASE_SEEDS` names others.
const SEEDS: Range<u64> = 0..500;

/// How often the leader and its follower are parted in the run of a seed.
const PARTINGS: u32 = 20;

/// While the lease lasts on the client's clock, the leader has the session.
#[test]
fn no_lease_outlives_its_session() {
    let (mut proofs, mut ends) = (0, 0);
    for seed in seeds() {
        let mut world = World::new(seed);
        for _ in 0..PARTINGS {
            world.part();
        }
        proofs += world.proofs;
        ends += world.ends;
    }
    assert!(proofs > ends && ends > 0, "{proofs} proofs, {ends} sessions that expired");
}

/// Plays a seed; returns its trace.
pub(crate) fn traced(seed: u64) -> String {
    let mut world = World::new(seed);
    world.network.trace(Duration::ZERO);
    world.part();
    world.network.take_trace()
}

fn seeds() -> Range<u64> {
    let Ok(named) = std::env::var("LEASE_SEEDS") else {
        return SEEDS;
    };
    let (from, to) = named.split_once("..").expect("LEASE_SEEDS=0..1000");
    from.parse().expect("a number")..to.parse().expect("a number")
}

struct World {
    seed: u64,
    random: fastrand::Rng,
    network: Network,
    proofs: u32,
    ends: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let rates = if random.bool() { RATES } else { *RATES.start()..=*RATES.start() };
        let network = Network::with_rates(3, seed, rates);
        Self { seed, random, network, proofs: 0, ends: 0 }
    }

    /// Lets a session prove its lease some times, and cuts its member off from the others, soon
    /// after a proof, until the session has ended.
    fn part(&mut self) {
        let (leader, follower) = self.settle();
        let grade = if self.random.bool() { LeaseGrade::Quorum } else { LeaseGrade::Sync };
        let pace = if self.random.bool() { HeartbeatPace::Thirds } else { HeartbeatPace::Sixths };
        let seed = self.random.u64(..);
        let mut leased = Leased::connect(&mut self.network, follower, seed, |config| {
            config.grade = grade;
            config.pace = pace;
        });
        let mut wanted = self.random.u32(2..6);
        let usual = if self.random.bool() { TICK / 1000 } else { TICK / 100 };
        let give_up = self.network.now() + TIMEOUT * 20;
        let mut before = None;
        while wanted > 0 && self.network.now() < give_up {
            let late = self.random.u8(0..4) == 0;
            let (up, down) = (self.soon(usual), self.soon(if late { TIMEOUT / 3 } else { usual }));
            leased.set_delays(up, down);
            self.step(&mut leased, leader, give_up);
            if leased.deadline() > before {
                before = leased.deadline();
                wanted -= 1;
                self.proofs += 1;
            }
        }
        let cut_off = self.network.now() + self.soon(TICK / 20);
        while self.step(&mut leased, leader, cut_off) {}
        self.network.isolate(follower);
        let end = self.network.now() + TIMEOUT * 2;
        while self.step(&mut leased, leader, end) {}
        let session = leased.session.id();
        self.ends += u32::from(session.is_some_and(|id| !self.has(leader, id)));
        leased.leave(&mut self.network);
        self.network.heal();
    }

    fn settle(&mut self) -> (MemberId, MemberId) {
        let leader = self.network.settle();
        let followers: Vec<_> = self.network.ids().into_iter().filter(|id| *id != leader).collect();
        let follower = *self.random.choice(&followers).expect("two of them");
        let slowest = self.random.u64(0..=1);
        for (from, to) in self.network.pairs() {
            self.network.delay(from, to, 0..=slowest);
        }
        let (per_mille, within) = (self.random.u16(0..=1000), self.soon(TICK / 20));
        let loss = TouchLoss { per_mille, within, apart: TIMEOUT * 2 };
        // Such a request overtakes the swap that loses its touch, which no real one does.
        let loss = if self.network.is_traced() { TouchLoss::default() } else { loss };
        self.network.with(follower, |member, _| member.set_touch_loss(loss));
        (leader, follower)
    }

    /// Does one step, and holds the law against it.
    fn step(&mut self, leased: &mut Leased, leader: MemberId, end: Duration) -> bool {
        let goes_on = leased.step(&mut self.network, end);
        let now = self.network.now();
        if let (Some(id), Some(deadline)) = (leased.session.id(), leased.deadline())
            && now < deadline
        {
            assert!(
                self.has(leader, id),
                "seed {}: at {now:?} the session has ended, and its lease lasts until {deadline:?}",
                self.seed
            );
        }
        goes_on
    }

    fn has(&self, leader: MemberId, session: zk_jute::SessionId) -> bool {
        self.network.member(leader).database().has_session(session)
    }

    fn soon(&mut self, most: Duration) -> Duration {
        most * self.random.u32(0..1000) / 1000
    }
}

/// The run that a proof by machine found: at a timeout of two ticks the leader's pings are a quarter of
/// it apart, and further if its clock is slow. The touch of a heartbeat is lost in the swap for one
/// ping, its confirmation is answered just after the next one, and the heartbeat that is to prove
/// both is answered before the third.
#[test]
fn a_lease_of_two_ticks_bears_a_lost_touch_and_a_slow_clock() {
    let mut broken = Vec::new();
    for rate in [900, 950] {
        for seed in 0..30 {
            for loss in [Loss::None, Loss::First] {
                let (deadline, end) = schedule(seed, rate, loss);
                if end < deadline {
                    broken.push((rate, seed, loss, deadline.saturating_sub(end)));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{} of 120: {broken:#?}", broken.len());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    First,
}

/// Runs it; returns the deadline, and when the leader ended the session.
fn schedule(seed: u64, rate: u64, loss: Loss) -> (Duration, Duration) {
    const STEP: Duration = Duration::from_micros(40);
    let mut network = Network::with_rates(3, seed, rate..=rate);
    let leader = network.settle();
    let follower = network.ids().into_iter().find(|id| *id != leader).expect("a follower");
    for (from, to) in network.pairs() {
        network.delay(from, to, 0..=0);
    }
    network.pass(TICK * 2);
    let half_tick = TICK / 2 * 1000 / u32::try_from(rate).expect("small");
    // The session is made 5 ms before a ping.
    let ping = next_ping(&mut network, leader, follower);
    network.pass(half_tick.saturating_sub(Duration::from_millis(5)));
    let mut leased = Leased::idle(&mut network, follower, seed, |_| {});
    leased.pass(&mut network, Duration::from_millis(4));
    let session = leased.session.id().expect("a session");
    let before = next_ping(&mut network, leader, follower);
    assert!(before > ping);
    // The heartbeat, right before the next ping.
    let right_before = (before + half_tick).saturating_sub(Duration::from_micros(300));
    network.pass(right_before.saturating_sub(network.now()));
    let sent_at = network.now();
    if loss == Loss::First {
        let loss = TouchLoss { per_mille: 1000, within: STEP * 25, apart: TIMEOUT };
        network.with(follower, |member, _| member.set_touch_loss(loss));
    }
    leased.keep(&mut network);
    let first = next_ping(&mut network, leader, follower);
    leased.set_delays(Duration::ZERO, Duration::ZERO);
    // Its confirmation is late: it arrives right after the ping after that.
    let late = (first + half_tick + STEP).saturating_sub(network.now());
    leased.set_delays(late, Duration::ZERO);
    let has_deadline = |leased: &Leased| leased.deadline() == Some(sent_at + TIMEOUT * 9 / 10);
    while !has_deadline(&leased) {
        assert!(leased.step(&mut network, sent_at + TIMEOUT), "it is proved");
        if network.now() > first + half_tick {
            leased.set_delays(Duration::ZERO, Duration::ZERO);
        }
    }
    network.isolate(follower);
    network.wait(TICK * 8, "the end", |network| {
        (!network.member(leader).database().has_session(session)).then_some(())
    });
    (leased.deadline().expect("a lease"), network.now())
}

/// Waits for the leader's next ping of this follower; returns when it was sent.
fn next_ping(network: &mut Network, leader: MemberId, follower: MemberId) -> Duration {
    let is_ping = |said: &(Duration, (MemberId, MemberId), PeerMessage)| {
        said.1 == (leader, follower) && format!("{:?}", said.2) == "heartbeat"
    };
    let end = network.now() + TICK * 2;
    let mut seen = network.said.len();
    while network.step_until(end) {
        if network.said[seen..].iter().any(is_ping) {
            return network.now();
        }
        seen = network.said.len();
    }
    panic!("no ping within two ticks")
}

/// Why the bounds of session timeouts have to be the same on all members, or to allow what clients ask
/// for: a member that grants less answers a handshake, and the answer is lost. The leader counts the
/// lesser timeout then, and the client cannot know.
#[test]
fn bounds_that_differ_let_a_lease_outlive_its_session() {
    for (longest, asked, holds) in
        [(TICK * 4, TICK * 10, false), (TICK * 20, TICK * 10, true), (TICK * 4, TICK * 4, true)]
    {
        let mut network = Network::new(3, 1);
        let leader = network.settle();
        let other = network.ids().into_iter().find(|id| *id != leader).expect("a follower");
        network.with(other, |member, now| {
            member.set_session_timeouts(TICK * 2..=longest);
            member.restart(now);
        });
        assert_eq!(network.settle(), leader);
        let mut leased =
            Leased::connect(&mut network, leader, 1, |config| config.session_timeout = asked);
        leased.pass(&mut network, TICK);
        let session = leased.session.id().expect("a session");
        leased.connect_to(&mut network, other);
        network.pass(TICK / 10);
        leased.leave(&mut network);
        let deadline = leased.deadline().expect("a lease");
        network.wait(TICK * 20, "the end", |network| {
            (!network.member(leader).database().has_session(session)).then_some(())
        });
        assert_eq!(network.now() >= deadline, holds, "{asked:?} where {longest:?} is allowed");
    }
}
