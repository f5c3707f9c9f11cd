//! The next possible steps, and how often each.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Candidates that join.
    pub joins: u8,
    /// Candidates that go, of which each may be the one.
    pub leaves: u8,
    /// Candidates that write their data.
    pub writes: u8,
    /// Children of another format that come, each of another session, of none, or of that of the candidates.
    pub strangers: u8,
    /// Times that the election node is deleted with all in it.
    pub wipes: u8,
    /// Candidates that may no longer be read.
    pub bars: u8,
    pub losses: u8,
    pub expiries: u8,
    pub lost_watches: u8,
    pub throttles: u8,
    pub looks: u8,
    pub withdrawals: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Connect,
    /// By a server that has applied so many trees.
    ConnectAnew(usize),
    Execute,
    /// The server applies the next commit.
    Apply,
    LearnExpiry,
    Look,
    Disconnect,
    Expire,
    LoseWatch,
    Throttle,
    Withdraw,
    Join,
    /// A child of another format comes, with this owner.
    Intrude(i64),
    /// The candidate in this place goes.
    Leave(usize),
    Write(usize),
    Wipe,
    Bar(usize),
}
