//! Additions to a run, beside what its seed draws.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use zk_embedded::Profile;
use zk_session::lease::LeaseGrade;

use super::ensemble::TouchLoss;
use super::keeper::KeeperLike;
use super::locks::Locks;
use super::many::Many;
use super::operating::{Ends, Operating};
use super::plan::Plan;
use super::profile::UnknownName;
use super::round::Rounds;
use super::schedule;
use super::uses::Uses;

/// Something that no seed draws, so that it does not change what the seeds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// At times, a client's connections break at the first answer.
    BrokenAnswers,
    /// Clients play rounds of a recipe that none of the published crates knows.
    Rounds,
    /// Elections are ended and reopened, the leadership is handed over to a named candidate, and
    /// new leaders have a lock delay.
    Operating,
    /// The same, and at times the operator deletes an election, while leaders write in epochs.
    Deletions,
    /// Hypervisors hold the machines of clients, whose clocks stand still meanwhile.
    HeldMachines,
    /// The servers are `ClickHouse` Keeper.
    Keeper,
    /// They are one of before 25.12.
    OldKeeper,
    /// They are `RaftKeeper`.
    RaftKeeper,
    /// Clients keep a tree in caches, write to it, and share slots.
    Many,
    /// They do, and the servers are `ClickHouse` Keeper.
    ManyOnKeeper,
    /// They do, and the servers are Keeper of before 25.12.
    ManyOnOldKeeper,
    /// They do, and the servers are `RaftKeeper`.
    ManyOnRaftKeeper,
    /// Clients use all recipes, and their connections are cut at requests, many in a row.
    Cuts,
}

impl Addition {
    const ALL: [Self; 13] = [
        Self::BrokenAnswers,
        Self::Rounds,
        Self::Operating,
        Self::Deletions,
        Self::HeldMachines,
        Self::Keeper,
        Self::OldKeeper,
        Self::RaftKeeper,
        Self::Cuts,
        Self::Many,
        Self::ManyOnKeeper,
        Self::ManyOnOldKeeper,
        Self::ManyOnRaftKeeper,
    ];
}

impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BrokenAnswers => "broken-answers",
            Self::Rounds => "rounds",
            Self::Operating => "operating",
            Self::Deletions => "deletions",
            Self::HeldMachines => "held-machines",
            Self::Keeper => "keeper",
            Self::OldKeeper => "old-keeper",
            Self::RaftKeeper => "raft-keeper",
            Self::Cuts => "cuts",
            Self::Many => "many",
            Self::ManyOnKeeper => "many-on-keeper",
            Self::ManyOnOldKeeper => "many-on-old-keeper",
            Self::ManyOnRaftKeeper => "many-on-raft-keeper",
        })
    }
}

impl FromStr for Addition {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|addition| addition.to_string() == text);
        found.ok_or(UnknownName(
            "broken-answers, rounds, operating, deletions, held-machines, keeper, old-keeper, \
             raft-keeper, cuts, many, many-on-keeper, many-on-old-keeper, many-on-raft-keeper",
        ))
    }
}

impl Plan {
    /// Returns the same run, with this addition.
    #[must_use]
    pub fn with(mut self, addition: Addition) -> Self {
        self.addition = Some(addition);
        match addition {
            Addition::BrokenAnswers => {
                self.incidents.extend(schedule::draw_broken_answers(&self));
                self.incidents.sort_by_key(|incident| incident.at);
            }
            Addition::Rounds => self.rounds = Some(Rounds { every: Duration::from_millis(1_500) }),
            Addition::Operating => self.operate(),
            Addition::Deletions => {
                self.operate();
                self.delete_elections();
            }
            Addition::HeldMachines => self.hold_machines(),
            Addition::Keeper => self.be_like(Profile::Keeper),
            Addition::OldKeeper => self.be_like(Profile::KeeperBefore2512),
            Addition::RaftKeeper => self.be_like(Profile::RaftKeeper),
            Addition::Cuts => self.cut(),
            Addition::Many => self.have_many(),
            Addition::ManyOnKeeper => self.have_many_on(Profile::Keeper),
            Addition::ManyOnOldKeeper => self.have_many_on(Profile::KeeperBefore2512),
            Addition::ManyOnRaftKeeper => self.have_many_on(Profile::RaftKeeper),
        }
        self
    }

    /// Draws from numbers of its own, so that the rest of the run stays as it is.
    fn operate(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0000_09e7_a7e5);
        let operating = Operating::draw(&mut rng);
        for standing in &mut self.nominees {
            standing.policy.lock_delay = operating.lock_delay;
        }
        // Nominees hear of a hand-over at their next look.
        self.look_every = self.timeout * rng.u32(500..2_000) / 1_000;
        self.operating = Some(operating);
        self.incidents.extend(schedule::draw_of_operating(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
    }

    /// Draws from numbers of its own, too.
    fn delete_elections(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0000_de1e_7ed0);
        let quiet = Duration::from_millis(rng.u64(0..1_500));
        if let Some(operating) = &mut self.operating {
            operating.ends = Ends::ByDeletion { quiet };
        }
        self.work_every = Some(self.work_every.unwrap_or(Duration::from_millis(400)));
        self.incidents.extend(schedule::draw_of_deletions(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
    }

    /// Draws from numbers of its own, too. Leaders ask for confirmation where they write.
    fn hold_machines(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0000_4e1d_4e1d);
        self.work_every = Some(self.work_every.unwrap_or(Duration::from_millis(400)));
        self.incidents.extend(schedule::draw_of_held_machines(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
    }

    /// Draws from numbers of its own, too. In half of the runs clients ask for no lease, but for what passes
    /// for one while they are connected.
    fn be_like(&mut self, profile: Profile) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x00c1_1c4b_0a5e);
        self.like = Some(KeeperLike::draw(&mut rng, profile, self.tick));
        if rng.bool() {
            self.grade = LeaseGrade::Advisory;
        }
        // The recipes that want a lease have elections for an example.
        (self.locks, self.uses) = (None, None);
        self.work_every = Some(self.work_every.unwrap_or(Duration::from_millis(400)));
        // Reads at a follower do not touch the leader's clock: ClickHouse #111102.
        let within = self.timeout;
        self.touch_loss = TouchLoss { per_mille: rng.u16(0..=1_000), within, ..self.touch_loss };
        self.incidents.extend(schedule::draw_of_keepers(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
    }

    /// Draws from numbers of its own, too. All recipes are used, so that all have their requests cut.
    fn cut(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0000_00c0_75c0_75c0);
        let (locks, uses) = (Locks::draw(&mut rng, self), Uses::draw(&mut rng, self));
        self.locks.get_or_insert(locks);
        self.uses.get_or_insert(uses);
        self.incidents.extend(schedule::draw_of_cuts(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
    }

    fn have_many_on(&mut self, profile: Profile) {
        self.be_like(profile);
        self.have_many();
    }

    /// Draws from numbers of its own, too.
    fn have_many(&mut self) {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x0000_3a2c_3a2c);
        self.many = Some(Many::draw(&mut rng, self));
        self.incidents.extend(schedule::draw_of_many(&mut rng, self));
        self.incidents.sort_by_key(|incident| incident.at);
    }
}
