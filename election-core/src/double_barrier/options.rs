//! Options of entering a double barrier.

use core::num::NonZeroU32;

/// How to enter a double barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DoubleBarrierOptions {
    /// How many participants have to enter; the same number for all of them.
    pub participants: NonZeroU32,
    /// The reaction if a round is under way.
    pub when_under_way: WhenUnderWay,
}

/// The reaction if a round is under way that not all have left yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenUnderWay {
    /// The participant waits for the end, and enters the next one.
    #[default]
    Wait,
    /// The participant gives up: [`DoubleBarrierEnd::UnderWay`](super::DoubleBarrierEnd::UnderWay).
    GiveUp,
}
