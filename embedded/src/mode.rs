//! The role of a server in its ensemble.

/// The role of a server in its ensemble; `srvr` and `isro` report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerMode {
    /// The server has no ensemble.
    Standalone,
    /// The server decides.
    Leader,
    /// The server votes.
    Follower,
    /// The server does not vote.
    Observer,
    /// The server is cut off from the others, and answers reads of clients that accept such a
    /// server.
    ReadOnly,
    /// The server has no leader, and closes every connection.
    NotServing,
}

impl ServerMode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Observer => "observer",
            Self::ReadOnly => "read-only",
            Self::NotServing => "not serving",
        }
    }
}
