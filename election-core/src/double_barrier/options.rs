//! How a participant enters a double barrier.

use core::num::NonZeroU32;

/// How a double barrier is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DoubleBarrierOptions {
    /// How many have to enter; the same number for all participants.
    pub participants: NonZeroU32,
    /// What follows when a round is under way.
    pub when_under_way: WhenUnderWay,
}

/// What follows when a round is under way that was not left by all yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenUnderWay {
    /// The participant waits for its end, and enters the next one.
    #[default]
    Wait,
    /// It gives up: [`DoubleBarrierEnd::UnderWay`](super::DoubleBarrierEnd::UnderWay).
    GiveUp,
}
