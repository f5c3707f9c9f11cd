//! What a participant in a double barrier tells its user.

use crate::barrier::{BarrierFailure, BarrierGaveUp};
use crate::outcome::Cause;

/// How far a participant has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleBarrierState {
    /// It has no entry yet.
    Entering,
    /// It has none, and waits for the end of a round that is under way.
    RoundUnderWay,
    /// It has entered, and waits for others.
    Gathering,
    /// Enough have entered.
    Inside,
    /// It leaves, or gives up.
    Leaving,
    /// Over.
    Ended(DoubleBarrierEnd),
}

/// What changed for a participant. Feeding an event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleBarrierNotice {
    /// A round is under way that was not left by all yet: the participant waits for its end.
    RoundUnderWay,
    /// It has entered, and so many have by the last look, itself included: not enough.
    Gathering(u32),
    /// The entry is gone of a participant that waits for others; it enters again.
    EntryLost(Cause),
    /// Enough have entered.
    Inside,
    /// It is over. Reported exactly once, and last.
    Ended(DoubleBarrierEnd),
}

/// How it ended for a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleBarrierEnd {
    /// It was inside and has left, and all others of the round have left, too, or are gone.
    Left,
    /// It was inside and has left, and did not wait for the others any longer.
    LeftAlone,
    /// It gave up before enough had entered, or at that moment; nothing is left of it.
    GaveUp(BarrierGaveUp),
    /// A round was under way, and it was not to wait:
    /// [`WhenUnderWay::GiveUp`](super::WhenUnderWay::GiveUp).
    UnderWay,
    /// It was inside, and its entry is gone: to the others it has left. Or that happened as it began to
    /// leave, before it knew which end of a round to wait for.
    Lost(Cause),
    /// Something that entering again does not repair.
    Failed(BarrierFailure),
}
