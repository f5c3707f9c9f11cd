//! What is left to the user to decide.

use core::time::Duration;

/// How a nomination behaves where more than one way is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// What follows when the candidate is lost.
    pub on_loss: OnLoss,
    /// What follows when the election node does not exist.
    pub election_node: ElectionNode,
    /// How long a new leader waits before its leadership begins, where the leader before it has not said
    /// that it ended: its session expired, say. With no time at all, the default, there is no mark by which
    /// leaders say so. All nominees of an election are to have one.
    pub lock_delay: Duration,
}

/// What follows when the candidate is lost: the session expired, the lease deadline passed, or
/// somebody deleted the znode. A session that expires before there was a candidate counts too.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLoss {
    /// Stand again, with a new candidate at the end of the queue.
    #[default]
    StandAgain,
    /// Stand again as long as it was not elected; end when that leadership is lost.
    StandUntilElected,
    /// End the nomination.
    End,
}

/// What follows when the election node does not exist.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElectionNode {
    /// Create it, and its ancestors as persistent znodes. The kind is for the driver, which carries
    /// the creation out.
    Create(NodeKind),
    /// Fail with [`NominationError::NoElectionNode`](crate::NominationError::NoElectionNode).
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

/// What a nominee does when the leader asks those ahead of another candidate to stand behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenAsked {
    /// Deletes its candidate and creates another one, at the end of the queue.
    #[default]
    StandsBehind,
    /// Keeps its place.
    Stays,
}
