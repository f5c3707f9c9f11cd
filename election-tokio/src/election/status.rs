//! What a nomination is doing, by tokio's clock.

use tokio::time::Instant;

pub use election_session::{EndReason, LostReason};

/// What a nomination is doing.
pub type Status = election_session::Status<Instant>;

/// The role of a nominee.
pub type Role = election_session::Role<Instant>;
