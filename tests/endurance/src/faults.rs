//! The faults of the ensemble. Each fault lasts until the clients have shown its effect on them. It is
//! over once all members serve and all clients have made progress.

use core::time::Duration;
use std::time::Instant;

use fastrand::Rng;
use zk_test_kit::failure::TestFailure;
use zk_test_kit::wait::{NotInTime, eventually};
use zk_test_kit::zookeeper::{Ensemble, Member};

use super::workload::{Crew, Patience};

/// How long an ensemble may take to find a leader, or a member to follow one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Each member in turn is killed and started again.
    RollingRestart,
    /// A follower stands still while its connections stay open, until all clients have left it.
    FrozenFollower,
    /// So does ZooKeeper's leader, until the others have elected another one and brief clients have
    /// left it.
    FrozenLeader,
    /// Two members are killed, and come back after brief sessions have expired.
    LostQuorum,
}

impl Fault {
    /// Each kind.
    pub const ALL: [Self; 4] =
        [Self::RollingRestart, Self::FrozenFollower, Self::FrozenLeader, Self::LostQuorum];

    /// Lets it happen and blocks until it is over. Returns for how long at most the ensemble had no
    /// leader, and so served no client.
    ///
    /// # Errors
    ///
    /// The ensemble or a client did not get on.
    pub fn strike(
        self,
        ensemble: &Ensemble,
        crew: &Crew,
        rng: &mut Rng,
    ) -> Result<Duration, TestFailure> {
        let outage = match self {
            Self::RollingRestart => restart_all(ensemble, crew, rng)?,
            Self::FrozenFollower => freeze_follower(ensemble, crew)?,
            Self::FrozenLeader => freeze_leader(ensemble, crew)?,
            Self::LostQuorum => lose_quorum(ensemble, crew, rng)?,
        };
        wait_until_whole(ensemble)?;
        crew.wait_for_progress(&format!("after {self:?}"))?;
        Ok(outage)
    }
}

/// Returns one fault after another, each kind once in a round; the seed decides.
pub fn schedule(mut rng: Rng) -> impl Iterator<Item = Fault> {
    core::iter::repeat_with(move || {
        let mut round = Fault::ALL;
        rng.shuffle(&mut round);
        round
    })
    .flatten()
}

fn restart_all(ensemble: &Ensemble, crew: &Crew, rng: &mut Rng) -> Result<Duration, TestFailure> {
    let mut members = Member::ALL;
    rng.shuffle(&mut members);
    let mut outage = Duration::ZERO;
    for member in members {
        let begin = Instant::now();
        ensemble.member(member).kill()?;
        ensemble.wait_for_leader(PATIENCE)?;
        outage = outage.max(begin.elapsed());
        crew.wait_for_progress(&format!("without {member:?}"))?;
        ensemble.member(member).restart()?;
        wait_until_whole(ensemble)?;
    }
    Ok(outage)
}

fn freeze_follower(ensemble: &Ensemble, crew: &Crew) -> Result<Duration, TestFailure> {
    wait_until_whole(ensemble)?;
    // Freezes the follower with the most connections: one that has just come back has none.
    let connections = |member: &Member| {
        let count = ensemble.member(*member).metric("zk_num_alive_connections");
        count.unwrap_or_default()
    };
    let frozen = ensemble.followers().into_iter().max_by_key(connections);
    let frozen = frozen.ok_or(NotInTime::new("a member follows", PATIENCE))?;
    ensemble.member(frozen).pause()?;
    crew.wait_for_progress(&format!("with {frozen:?} frozen, which follows"))?;
    ensemble.member(frozen).resume()?;
    Ok(Duration::ZERO)
}

fn freeze_leader(ensemble: &Ensemble, crew: &Crew) -> Result<Duration, TestFailure> {
    let frozen = ensemble.wait_for_leader(PATIENCE)?;
    let begin = Instant::now();
    ensemble.member(frozen).pause()?;
    ensemble.wait_for_leader(PATIENCE)?;
    let outage = begin.elapsed();
    // Others are still connected to it when it goes on, and has to find that it is deposed.
    crew.wait_for_progress_of_the_brief(&format!("with {frozen:?} frozen, which led"))?;
    ensemble.member(frozen).resume()?;
    Ok(outage)
}

fn lose_quorum(ensemble: &Ensemble, crew: &Crew, rng: &mut Rng) -> Result<Duration, TestFailure> {
    let mut members = Member::ALL;
    rng.shuffle(&mut members);
    let [one, other, _] = members;
    let begin = Instant::now();
    ensemble.member(one).kill()?;
    ensemble.member(other).kill()?;
    crew.wait_for_expiry(Patience::Brief)?;
    ensemble.start_all()?;
    ensemble.wait_for_leader(PATIENCE)?;
    Ok(begin.elapsed())
}

/// Waits until a member leads and two follow.
fn wait_until_whole(ensemble: &Ensemble) -> Result<(), NotInTime> {
    eventually(PATIENCE, "the ensemble is whole", || {
        ensemble.leader().is_some() && ensemble.followers().len() == 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_holds_each_kind_and_a_seed_decides_the_order() {
        let rounds = |seed| schedule(Rng::with_seed(seed)).take(8).collect::<Vec<_>>();
        let mut round = rounds(1)[..4].to_vec();
        round.sort_unstable();
        assert_eq!(round, Fault::ALL);
        assert_eq!(rounds(1), rounds(1));
        assert!((2..20).any(|seed| rounds(seed) != rounds(1)));
    }
}
