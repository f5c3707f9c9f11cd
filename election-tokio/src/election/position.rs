//! How many candidates are ahead of a nominee, as it learned last.

use core::time::Duration;

use election_core::{Incarnation, Nominee, Rank, Sequence};
use tokio::time::Instant;

/// How many candidates are ahead of a nominee, and since when it knows.
///
/// A follower watches the next candidate only, so it does not hear of changes farther ahead: the number is
/// an upper bound, for candidates go from the middle and none comes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// How many candidates are ahead. None are of the leader.
    pub ahead: u32,
    /// When the client learned it, from a server that may have lagged.
    pub learned_at: Instant,
}

impl Position {
    /// How old the knowledge is.
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

    /// What was learned of a candidate stays over lost connections, until the candidate is gone.
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
