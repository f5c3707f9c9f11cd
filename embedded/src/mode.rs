//! What a server is to its ensemble.

/// What a server is to its ensemble; `srvr` and `isro` tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerMode {
    /// There is no ensemble.
    Standalone,
    /// It decides.
    Leader,
    /// It votes.
    Follower,
    /// It does not vote.
    Observer,
    /// Cut off from the others, it answers reads of clients that will do with that.
    ReadOnly,
    /// It has no leader: it closes every connection.
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
