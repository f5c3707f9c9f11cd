//! How many faults a run of contenders may contain: those of the laboratory, and what users and operators do.

/// How many faults a run may still contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Connections lost.
    pub losses: u8,
    /// Sessions expired by the ensemble.
    pub expiries: u8,
    /// Reconnects that are handed another session, while the old one still lives.
    pub swaps: u8,
    pub withdrawals: u8,
    pub lapses: u8,
    /// Candidates that an operator deletes.
    pub deletions: u8,
    /// Candidates that an operator writes to.
    pub writes: u8,
    /// Times that an operator deletes the election node and all in it.
    pub wipes: u8,
    /// Candidates that an operator lets no client read any more.
    pub bars: u8,
    /// Watches that are lost while the connection stands, of which the driver tells.
    pub lost_watches: u8,
    /// Looks that no lost event makes necessary.
    pub looks: u8,
    /// Requests that a server has too much to do to look at.
    pub throttles: u8,
    /// Requests with data that a driver does not send: for now, or for good.
    pub held_back: u8,
    pub too_large: u8,
    /// Lists and deletions that a server refuses.
    pub refusals: u8,
    /// Processes that hand their session, and their nomination, to another one.
    pub handovers: u8,
    /// Deadlines of contenders for a lock, and leaders that step down.
    pub deadlines: u8,
    /// Foreign writers that go on as readers.
    pub downgrades: u8,
    /// Writers of ours that do.
    pub own_downgrades: u8,
    /// Contenders that are asked to let go.
    pub requests: u8,
    /// Replies and changes of a lost connection that are delivered long after it.
    pub stragglers: u8,
    /// Times that an operator ends the election.
    pub ends: u8,
    /// Operators that are killed while they end it.
    pub killed_operators: u8,
    /// Times that an operator reopens it.
    pub reopens: u8,
    /// Leaders that hand the leadership over to a candidate.
    pub hand_overs: u8,
    /// Writes of leaders that are guarded by their candidates.
    pub guarded: u8,
}

/// Whatever is not named does not happen.
pub const NO_FAULTS: Budget = Budget {
    losses: 0,
    expiries: 0,
    swaps: 0,
    withdrawals: 0,
    lapses: 0,
    deletions: 0,
    writes: 0,
    wipes: 0,
    bars: 0,
    lost_watches: 0,
    looks: 0,
    throttles: 0,
    held_back: 0,
    too_large: 0,
    refusals: 0,
    handovers: 0,
    deadlines: 0,
    downgrades: 0,
    own_downgrades: 0,
    requests: 0,
    stragglers: 0,
    ends: 0,
    killed_operators: 0,
    reopens: 0,
    hand_overs: 0,
    guarded: 0,
};
