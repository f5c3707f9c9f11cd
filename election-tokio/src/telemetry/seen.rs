//! The words of what is measured of elections.

/// What sees an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenBy {
    Nominee,
    Observer,
}

/// What became of a leadership that was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterSuspension {
    Resumed,
    Lost,
}
