//! A leader without a connection.

/// The conduct of a leader while its connection is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhileSuspended {
    /// It goes on until the lease deadline: until then no other nominee can lead. If the session is
    /// resumed before, the same leadership goes on.
    #[default]
    UntilDeadline,
    /// It stops at once: its [`Leadership`](super::Leadership) is over, with
    /// [`LostReason::Suspended`](super::LostReason::Suspended), although no other nominee can lead yet. If the
    /// session is resumed before the lease deadline, the nominee is elected again, with the same token.
    Stop,
}
