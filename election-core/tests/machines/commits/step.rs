//! The next possible steps, and how often one may go wrong.

/// How many faults a run may still contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub losses: u8,
    pub expiries: u8,
    /// Processes that are killed, and start again.
    pub crashes: u8,
    /// Callers that give up, and begin again.
    pub withdrawals: u8,
    pub lost_watches: u8,
    pub throttles: u8,
    /// Requests of a participant that a server refuses for want of permission.
    pub refusals: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Connect(usize),
    Execute(usize),
    /// The client's server applies the next commit.
    Apply(usize),
    LearnExpiry(usize),
    Look(usize),
    /// It does from its beginning what it is to do.
    BeginAgain(usize),
    /// The session of a killed process expires.
    Bury(usize),
    /// A write of a killed process is executed.
    ApplyGhost(usize),
    ApplyInDoubt(usize),
    Disconnect(usize),
    Expire(usize),
    Kill(usize),
    Withdraw(usize),
    LoseWatch(usize, usize),
    Throttle(usize),
    Refuse(usize),
}
