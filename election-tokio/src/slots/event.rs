//! Events of slots.

use election_session::slots::SlotName;
use tokio::time::Instant;

use super::SlotGuard;

/// An event of a member's slots.
#[derive(Debug)]
#[non_exhaustive]
pub enum SlotEvent {
    /// The member holds a slot.
    Gained(SlotGuard),
    /// The slot is another member's: end the work on it, and drop its guard.
    GiveUp {
        /// The slot.
        slot: SlotName,
        /// When its lock is released although its guard was not dropped.
        by: Instant,
    },
}
