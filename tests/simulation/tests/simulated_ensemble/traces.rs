//! Traces of the session on its ensemble are runs of the proof's model: `proof/replay.py` checks the
//! guard of each step, the invariant after it, and that the client says what the model's says.

use core::time::Duration;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use zk_embedded::{ExpiryPace, Throttling};
use zk_session::lease::{HeartbeatPace, LeaseGrade};
use zk_simulation::ensemble::{Member, MemberId, MemberRole};

use crate::leased::{Leased, TIMEOUT};
use crate::leases;
use crate::network::{Network, TICK};

/// How many seeds of each world are replayed unless `TRACE_SEEDS` says otherwise.
const SEEDS: u64 = 30;

/// How often something befalls the session or its ensemble.
const ACTS: u32 = 30;

#[test]
fn the_model_of_the_proof_makes_each_step_of_the_traces() {
    let seeds = env::var("TRACE_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    fs::create_dir_all(&folder).expect("a folder");
    let mut files = Vec::new();
    for seed in 0..seeds {
        for (world, trace) in [("roaming", World::traced(seed)), ("leases", leases::traced(seed))] {
            let file = folder.join(format!("{world}-{seed}"));
            fs::write(&file, trace).expect("a file");
            files.push(file);
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/replay.py");
    let replayed = Command::new("python3").arg("-B").arg(script).args(files).output();
    let replayed = replayed.expect("python3");
    let said = String::from_utf8_lossy(&replayed.stdout);
    let failed = String::from_utf8_lossy(&replayed.stderr);
    assert!(replayed.status.success(), "{said}{failed}");
}

/// A session that roams: its connections break, members are cut off, leaders fall, touches are
/// lost, the ends of sessions take their time.
struct World {
    random: fastrand::Rng,
    /// Of their own, so that writes change nothing else that is drawn.
    random_of_writes: fastrand::Rng,
    network: Network,
    grade: LeaseGrade,
    /// No two losses come together.
    lost_at: Option<Duration>,
}

impl World {
    fn traced(seed: u64) -> String {
        let mut random = fastrand::Rng::with_seed(seed);
        let size = if random.bool() { 3 } else { 5 };
        let mut network = Network::with_rates(size, seed, 900..=1111);
        // Below a twelfth of the timeout, by any clock.
        let to_closing = if random.bool() { TIMEOUT / 15 } else { Duration::ZERO };
        network.trace(to_closing);
        network.settle();
        let pace = ExpiryPace { to_closing, to_proposal: Duration::ZERO };
        for id in network.ids() {
            network.with(id, |member, _| member.set_expiry_pace(pace));
        }
        // Two pings, so that what they carry is known.
        network.pass(TICK * 2);
        let grade = if random.bool() { LeaseGrade::Quorum } else { LeaseGrade::Sync };
        let random_of_writes = fastrand::Rng::with_seed(!seed);
        let mut world = Self { random, random_of_writes, network, grade, lost_at: None };
        world.play();
        world.network.take_trace()
    }

    fn play(&mut self) {
        let (grade, seed) = (self.grade, self.random.u64(..));
        let pace = if self.random.bool() { HeartbeatPace::Thirds } else { HeartbeatPace::Sixths };
        let member = self.follower();
        let mut leased = Leased::connect(&mut self.network, member, seed, |config| {
            config.grade = grade;
            config.pace = pace;
        });
        // A handshake that is lost makes a session that nobody knows.
        let end = self.network.now() + TICK;
        while !leased.session.is_connected() {
            assert!(leased.step(&mut self.network, end), "no session");
        }
        for _ in 0..ACTS {
            let up = self.soon(TICK / 50);
            let late = self.random.u8(0..8) == 0;
            let down = self.soon(if late { TIMEOUT / 4 } else { TICK / 50 });
            leased.set_delays(up, down);
            self.befall(&mut leased);
            if self.network.has_closed() || leased.session.ended().is_some() {
                break;
            }
        }
        leased.leave(&mut self.network);
        self.network.heal();
        // The end of the session is in the trace, too.
        self.network.pass(TIMEOUT * 2);
    }

    fn befall(&mut self, leased: &mut Leased) {
        let member = self.network.leader();
        match (self.random.u8(0..16), member) {
            (0, _) => self.return_after(leased, TIMEOUT / 4),
            (1, _) => self.return_after(leased, TIMEOUT * 3 / 2),
            (2, _) => {
                let follower = self.follower();
                self.part(leased, &[follower], TIMEOUT);
            }
            // Under `Sync` no leader may be deposed unawares.
            (3 | 4, Some(leader)) if self.grade == LeaseGrade::Quorum => {
                let with = leased.member(&self.network).filter(|_| self.network.ids().len() == 5);
                let parted: Vec<MemberId> = [leader].into_iter().chain(with).collect();
                self.part(leased, &parted, TIMEOUT * 8);
            }
            (5, _) => {
                for id in self.network.ids() {
                    self.network.with(id, |member, _| member.set_throttling(Throttling::On));
                }
                self.pass(leased, TIMEOUT / 2);
                for id in self.network.ids() {
                    self.network.with(id, |member, _| member.set_throttling(Throttling::Off));
                }
            }
            (6..=8, _) => self.lose_touch(leased),
            _ => self.pass(leased, TIMEOUT),
        }
    }

    /// Holds up what the session sends until its member has swapped its table, and loses its touch.
    fn lose_touch(&mut self, leased: &mut Leased) {
        let now = self.network.now();
        if self.lost_at.is_some_and(|at| now < at + TIMEOUT * 2) {
            return self.pass(leased, TIMEOUT);
        }
        leased.set_delays(TIMEOUT / 4, Duration::ZERO);
        let end = now + TIMEOUT / 2;
        let mut seen = self.network.said.len();
        while self.network.now() < end && leased.step(&mut self.network, end) {
            let member = leased.member(&self.network);
            let swaps = self.network.said[seen..].iter().any(|(_, (from, _), message)| {
                Some(*from) == member && format!("{message:?}").starts_with("alive")
            });
            seen = self.network.said.len();
            if swaps && leased.lose_touch(&mut self.network) {
                self.lost_at = Some(self.network.now());
                break;
            }
        }
        leased.set_delays(Duration::ZERO, Duration::ZERO);
        self.return_if_dropped(leased);
    }

    /// Cuts these members off from the others for a while.
    fn part(&mut self, leased: &mut Leased, parted: &[MemberId], most: Duration) {
        for (from, to) in self.network.pairs() {
            if parted.contains(&from) != parted.contains(&to) {
                self.network.cut_one_way(from, to);
            }
        }
        self.pass(leased, most);
        if self.random.bool() {
            self.return_after(leased, TIMEOUT / 4);
            self.pass(leased, TIMEOUT);
        }
        self.network.heal();
    }

    fn return_after(&mut self, leased: &mut Leased, most: Duration) {
        leased.leave(&mut self.network);
        let wait = self.soon(most);
        self.network.pass(wait);
        let member = self.follower();
        leased.set_delays(Duration::ZERO, Duration::ZERO);
        if leased.session.ended().is_some() {
            return;
        }
        leased.connect_to(&mut self.network, member);
    }

    fn pass(&mut self, leased: &mut Leased, most: Duration) {
        let end = self.network.now() + self.soon(most);
        while self.network.now() < end && leased.step(&mut self.network, end) {
            self.return_if_dropped(leased);
            if self.random_of_writes.u8(0..50) == 0 && leased.session.ended().is_none() {
                leased.write(&mut self.network);
            }
        }
    }

    fn return_if_dropped(&mut self, leased: &mut Leased) {
        if leased.is_dropped(&self.network) && !self.network.has_closed() {
            self.return_after(leased, TICK / 10);
        }
    }

    /// Returns a member that follows; the trace has no clients of a leader.
    fn follower(&mut self) -> MemberId {
        for _ in 0..1000 {
            let following = self.network.members().filter(|member| {
                matches!(member.role(), MemberRole::Following(_)) && member.takes_writes()
            });
            let followers: Vec<_> = following.map(Member::id).collect();
            if let Some(follower) = self.random.choice(&followers) {
                return *follower;
            }
            self.network.pass(TICK / 10);
        }
        panic!("no follower")
    }

    fn soon(&mut self, most: Duration) -> Duration {
        most * self.random.u32(0..1000) / 1000
    }
}
