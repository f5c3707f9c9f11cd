//! The words of election metrics.

/// The observer of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenBy {
    Nominee,
    Observer,
}

/// The outcome of a suspended leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterSuspension {
    Resumed,
    Lost,
}
