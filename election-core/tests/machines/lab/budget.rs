//! How often a run may go wrong. Each world has each of these faults.

/// Of faults: without a limit.
pub const ANY_NUMBER: u8 = u8::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub losses: u8,
    pub expiries: u8,
    /// Expiries that are told, and are none: the session lives on.
    pub lies: u8,
    /// Other sessions that are handed out, without a word about the one before, which lives on.
    pub swaps: u8,
    /// Processes that are killed.
    pub crashes: u8,
    pub withdrawals: u8,
    pub deadlines: u8,
    /// Leases that lapse while a machine holds something.
    pub lapses: u8,
    pub looks: u8,
    /// Watches that are gone, of which the driver tells.
    pub lost_watches: u8,
    /// Watches that are gone, of which nobody knows.
    pub dropped_watches: u8,
    pub throttles: u8,
    /// Requests with data that the driver holds back, since connections were lost over requests as long.
    pub held_back: u8,
    /// Requests with data that the driver does not send, since no server takes one as long.
    pub too_large: u8,
    /// Single requests that are refused for want of permission.
    pub refusals: u8,
    /// Rights that are taken from a client.
    pub prohibitions: u8,
    /// Transactions in the middle of which a server answers.
    pub halves: u8,
    /// Answers of a lost connection that come after all.
    pub stragglers: u8,
    /// By an operator.
    pub deletions: u8,
    pub writes: u8,
    pub bars: u8,
}

/// Whatever is not named does not happen.
pub const NONE: Budget = Budget {
    losses: 0,
    expiries: 0,
    lies: 0,
    swaps: 0,
    crashes: 0,
    withdrawals: 0,
    deadlines: 0,
    lapses: 0,
    looks: 0,
    lost_watches: 0,
    dropped_watches: 0,
    throttles: 0,
    held_back: 0,
    too_large: 0,
    refusals: 0,
    prohibitions: 0,
    halves: 0,
    stragglers: 0,
    deletions: 0,
    writes: 0,
    bars: 0,
};

/// Takes one of the faults that are left.
pub fn spend(faults: &mut u8) {
    if *faults != ANY_NUMBER {
        *faults -= 1;
    }
}
