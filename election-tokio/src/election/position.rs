//! How many candidates are ahead of a nominee, by its last knowledge.

use core::time::Duration;

use election_core::Incarnation;
use election_core::election::{Nominee, Rank};
use election_core::name::Sequence;
use tokio::time::Instant;

/// How many candidates are ahead of a nominee, and since when it knows.
///
/// A follower watches only the next candidate, so it does not hear of changes farther ahead. The
/// number is an upper bound: candidates may leave from the middle, and none joins there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// How many candidates are ahead; 0 for the leader.
    pub ahead: u32,
    /// When the client learned it. The server may have been behind.
    pub learned_at: Instant,
}

impl Position {
    /// Returns the age of the knowledge.
    pub fn age(&self) -> Duration {
        self.learned_at.elapsed()
    }
}

/// The last one.
#[derive(Debug, Default)]
pub(super) struct LastPosition(Option<Learned>);

#[derive(Debug)]
struct Learned {
    candidate: (Incarnation, Sequence),
    rank: Rank,
    at: Instant,
}

impl LastPosition {
    pub(super) fn get(&self) -> Option<Position> {
        self.0
            .as_ref()
            .map(|learned| Position { ahead: learned.rank.ahead, learned_at: learned.at })
    }

    /// Takes in the nominee's place. The knowledge of a candidate lasts over lost connections,
    /// until the candidate is gone.
    pub(super) fn follow(&mut self, nominee: &Nominee) {
        let last = &mut self.0;
        let candidate = nominee.candidate().map(|name| (nominee.incarnation(), name.sequence()));
        match (candidate, nominee.rank()) {
            (Some(candidate), Some(rank)) => {
                let is_known = |it: &Learned| it.candidate == candidate && it.rank == rank;
                if !last.as_ref().is_some_and(is_known) {
                    *last = Some(Learned { candidate, rank, at: Instant::now() });
                }
            }
            (candidate, _) => {
                last.take_if(|it| candidate != Some(it.candidate));
            }
        }
    }
}
