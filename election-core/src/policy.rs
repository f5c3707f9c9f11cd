//! What is left to the user to decide.

/// How a nomination behaves where more than one way is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// What follows when the candidate is lost.
    pub on_loss: OnLoss,
    /// What follows when the election node does not exist.
    pub election_node: ElectionNode,
}

/// What follows when the candidate is lost: the session expired, the lease deadline passed, or
/// somebody deleted the znode. A session that expires before there was a candidate counts too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLoss {
    /// Stand again, with a new candidate at the end of the queue.
    #[default]
    StandAgain,
    /// End the nomination.
    End,
}

/// What follows when the election node does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ElectionNode {
    /// Create it.
    #[default]
    CreateIfMissing,
    /// Fail with [`NominationError::NoElectionNode`](crate::NominationError::NoElectionNode).
    MustExist,
}
