//! The status of a nomination, on tokio's clock.

use tokio::time::Instant;

pub use election_session::{EndReason, LostReason};

/// The status of a nomination.
pub type Status = election_session::Status<Instant>;

/// The role of a nominee.
pub type Role = election_session::Role<Instant>;
