//! The next possible steps, and how often one may go wrong.

use super::client::Rights;
use super::server::Name;

/// How many faults a run may still contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub losses: u8,
    pub expiries: u8,
    /// Processes that are killed.
    pub crashes: u8,
    pub withdrawals: u8,
    pub deadlines: u8,
    /// Entries that an operator deletes.
    pub deletions: u8,
    pub lost_watches: u8,
    pub looks: u8,
    pub throttles: u8,
    /// Rights that an operator takes from a client.
    pub prohibitions: u8,
}

pub const NO_FAULTS: Budget = Budget {
    losses: 0,
    expiries: 0,
    crashes: 0,
    withdrawals: 0,
    deadlines: 0,
    deletions: 0,
    lost_watches: 0,
    looks: 0,
    throttles: 0,
    prohibitions: 0,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Connect(usize),
    Execute(usize),
    /// The client's server applies the next commit.
    Apply(usize),
    /// A participant that is inside leaves.
    Leave(usize),
    BeginAgain(usize),
    LearnExpiry(usize),
    /// The session of a killed process expires.
    Bury(usize),
    Look(usize),
    ApplyInDoubt(usize),
    Disconnect(usize),
    Expire(usize),
    Kill(usize),
    Withdraw(usize),
    Deadline(usize),
    LoseWatch(usize, usize),
    Throttle(usize),
    /// From here on the client may do no more than this says.
    Forbid(usize, Rights),
    /// The operator gives back the right to delete.
    Permit(usize),
    OperatorDeletes(Name),
}
