//! The upkeep of a lease: the requests that a session sends for it.

/// The requests that a session sends for a lease of the grades [`Sync`](crate::lease::LeaseGrade::Sync)
/// and [`Quorum`](crate::lease::LeaseGrade::Quorum). Pings keep a lease of the grade
/// [`Contact`](crate::lease::LeaseGrade::Contact), at any upkeep.
///
/// See [`Session::keep_lease`](crate::Session::keep_lease).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseUpkeep<'a> {
    /// Sends pings. The lease lapses. To prove it again takes a third of the timeout, and a twelfth
    /// more if it has lapsed before.
    #[default]
    Idle,
    /// Sends a pair of `sync`s in place of each ping, so that one check proves the lease within a
    /// round trip. Under the grade `Sync` this proves the lease all the time.
    Ready,
    /// Sends heartbeats of the session's grade, which prove the lease all the time.
    InForce {
        /// The znode that heartbeats check. It has to exist, or the server refuses them
        /// ([`Event::HeartbeatRefused`](crate::Event::HeartbeatRefused)) and they prove nothing.
        /// Name the own candidate, so the answer also shows that the candidate stood. (Under `Sync`
        /// it is checked only after a lapse or a hand-over.)
        znode: &'a str,
    },
}
