//! Reports of a participant in a double barrier.

use crate::barrier::{BarrierFailure, BarrierGaveUp};
use crate::outcome::Cause;

/// The progress of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleBarrierState {
    /// It has no entry yet.
    Entering,
    /// It has no entry, and waits for the end of a round that is under way.
    RoundUnderWay,
    /// It has entered, and waits for others.
    Gathering,
    /// Enough have entered.
    Inside,
    /// It leaves, or gives up.
    Leaving,
    /// It has ended.
    Ended(DoubleBarrierEnd),
}

/// A change for a participant. An event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleBarrierNotice {
    /// A round is under way that not all have left yet. The participant waits for its end.
    RoundUnderWay,
    /// It has entered, and so have this many by the last look, itself included: not enough.
    Gathering(u32),
    /// The entry of a participant that waits for others is gone; it enters again.
    EntryLost(Cause),
    /// Enough have entered.
    Inside,
    /// It has ended. Reported exactly once, and last.
    Ended(DoubleBarrierEnd),
}

/// How it ended for a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleBarrierEnd {
    /// It was inside and has left, and all others of the round have left, too, or are gone.
    Left,
    /// It was inside and has left, and did not wait for the others any longer.
    LeftAlone,
    /// It gave up before enough had entered, or at that moment. Nothing of it is left.
    GaveUp(BarrierGaveUp),
    /// A round was under way, and the participant was not to wait:
    /// [`WhenUnderWay::GiveUp`](super::WhenUnderWay::GiveUp).
    UnderWay,
    /// It was inside, and its entry is gone: for the others it has left. Or this happened as it
    /// began to leave, before it knew which round's end to wait for.
    Lost(Cause),
    /// It failed in a way that entering again does not repair.
    Failed(BarrierFailure),
}
