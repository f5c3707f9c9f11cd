//! How the elections of a run are operated: they are ended and reopened, the leadership is handed over
//! to a named candidate, and new leaders have a lock delay.

use core::time::Duration;

use election_core::election::WhenAsked;

/// How they are, in runs in which they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operating {
    /// How long a new leader waits if the one before it has not said that it ended.
    pub(super) lock_delay: Duration,
    pub(super) ends: Ends,
    /// The clients whose nominees keep their places in a hand-over, a bit for each.
    stays: u8,
}

/// How an operator ends an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// It leaves the sign of the end, and takes it away later.
    BySign,
    /// At times it deletes the election, with its epoch and its other marks, once no candidate has come for
    /// this time.
    ByDeletion { quiet: Duration },
}

/// How a leader gives the leadership up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivingUp {
    /// It resigns.
    Resign,
    /// It resigns, and its work may go on.
    ResignUncleanly,
    /// It steps down, and stands again behind the others.
    StepDown,
}

impl Operating {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        let millis = rng.choice([0, 300, 2_000, 6_000]).unwrap_or(0);
        let stays = if rng.bool() { rng.u8(..) & rng.u8(..) } else { 0 };
        Self { lock_delay: Duration::from_millis(millis), ends: Ends::BySign, stays }
    }

    /// What the nominees of a client do in a hand-over.
    pub(super) const fn when_asked(self, client: usize) -> WhenAsked {
        if self.stays >> (client % 8) & 1 == 1 { WhenAsked::Stays } else { WhenAsked::StandsBehind }
    }
}
