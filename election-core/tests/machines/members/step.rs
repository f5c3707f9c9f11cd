//! The next possible steps, and how often one may go wrong.

/// How many faults, and wishes of the user, a run may still contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    pub losses: u8,
    pub expiries: u8,
    /// Expiries that are told, and are none: the old session lives on.
    pub lies: u8,
    pub withdrawals: u8,
    /// Deletions by an operator.
    pub deletions: u8,
    /// Writes by an operator.
    pub writes: u8,
    /// The user sets other data.
    pub data: u8,
    pub lost_watches: u8,
    pub looks: u8,
    pub throttles: u8,
    /// Creates and deletions that a server refuses for want of permission.
    pub refusals: u8,
}

impl Budget {
    pub const NONE: Self = Self {
        losses: 0,
        expiries: 0,
        lies: 0,
        withdrawals: 0,
        deletions: 0,
        writes: 0,
        data: 0,
        lost_watches: 0,
        looks: 0,
        throttles: 0,
        refusals: 0,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Connect(usize),
    Execute(usize),
    /// The client's server applies the next commit.
    Apply(usize),
    ApplyInDoubt(usize),
    LearnExpiry(usize),
    /// A session expires after its client has gone on to another.
    Bury(usize),
    NeededLook(usize),
    Disconnect(usize),
    Expire(usize),
    Lie(usize),
    Withdraw(usize),
    SetData(usize),
    LoseWatch(usize),
    Look(usize),
    Throttle(usize),
    Refuse(usize),
    OperatorDeletes,
    OperatorWrites,
}

impl Step {
    pub fn is_calm(self) -> bool {
        matches!(
            self,
            Self::Connect(_)
                | Self::Execute(_)
                | Self::Apply(_)
                | Self::LearnExpiry(_)
                | Self::Bury(_)
                | Self::NeededLook(_)
        )
    }
}
