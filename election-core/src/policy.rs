//! Decisions for the user.

use core::time::Duration;

/// How a nomination behaves where there is a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The reaction to the loss of the candidate.
    pub on_loss: OnLoss,
    /// The reaction if the election node does not exist.
    pub election_node: ElectionNode,
    /// How long a new leader waits before its leadership begins, if the leader before it has not
    /// confirmed that it ended, for example because its session expired. At zero, the default,
    /// leaders leave no mark for this. All nominees of an election need a delay.
    pub lock_delay: Duration,
}

/// The reaction to the loss of the candidate: the session expired, the lease deadline passed, or
/// another client deleted the znode. A session that expires before there was a candidate counts
/// too.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLoss {
    /// Stand again, with a new candidate at the end of the queue.
    #[default]
    StandAgain,
    /// Stand again until it is elected; end when that leadership is lost.
    StandUntilElected,
    /// End the nomination.
    End,
}

/// The reaction if the election node does not exist.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElectionNode {
    /// Create it, and its ancestors as persistent znodes. The kind is for the driver, which creates
    /// the znodes.
    Create(NodeKind),
    /// Fail with [`NominationError::NoElectionNode`](crate::election::NominationError::NoElectionNode).
    MustExist,
}

impl Default for ElectionNode {
    fn default() -> Self {
        Self::Create(NodeKind::Persistent)
    }
}

/// The kind of an election node that has to be created.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// It stays until it is deleted.
    #[default]
    Persistent,
    /// Servers (since 3.5.1) delete it some time after the last candidate has gone.
    Container,
}

/// The answer of a nominee when the leader asks the nominees ahead of another candidate to stand
/// behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenAsked {
    /// Deletes its candidate and creates another one, at the end of the queue.
    #[default]
    StandsBehind,
    /// Keeps its place.
    Stays,
}

/// The service of a new leader to the candidate behind it.
///
/// A follower has seen which candidates are before its predecessor in its last list, and does not hear when
/// they go. So it learns at its next look only that it is the next to lead, and a promotion before that takes
/// a list. The writes are for candidates with a [wakeable](crate::NomineeId::wakeable) id alone, of nominees
/// with such an id, in formats that [can be ended](crate::format::Format::end_mark).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenPromoted {
    /// It writes its own candidate's data anew, as they were, in a transaction with a check of the candidate
    /// behind it, whose nominee is woken by the watch that it has, and looks once. No other participant watches
    /// that candidate while the one behind it stands; observers of the leader do.
    #[default]
    WakesNext,
    /// It writes nothing.
    Rests,
}
