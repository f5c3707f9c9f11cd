//! What a session does for its lease.

/// What a session does for a lease of the grades [`Sync`](crate::LeaseGrade::Sync) and
/// [`Quorum`](crate::LeaseGrade::Quorum). One of the grade [`Contact`](crate::LeaseGrade::Contact) is
/// kept by pings, whatever this is.
///
/// See [`Session::keep_lease`](crate::Session::keep_lease).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseUpkeep<'a> {
    /// Sends pings. The lease lapses, and to prove it again takes a third of the timeout, and a
    /// twelfth more if it has lapsed before.
    #[default]
    Idle,
    /// Sends a pair of `sync`s in place of each ping, so that one check proves the lease within a
    /// round trip. Under the grade `Sync` the lease is proved all the time.
    Ready,
    /// Sends heartbeats of the session's grade, so that the lease is proved all the time.
    InForce {
        /// The znode that heartbeats check. It has to exist, or they are refused
        /// ([`Event::HeartbeatRefused`](crate::Event::HeartbeatRefused)) and prove nothing: name the
        /// own candidate, so that the answer also shows that it stood. (Under `Sync` it is looked at
        /// only after a lapse or a hand-over.)
        znode: &'a str,
    },
}
