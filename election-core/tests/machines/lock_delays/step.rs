//! The next possible steps.

/// How much may go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub losses: u8,
    pub expiries: u8,
    pub withdrawals: u8,
    pub steps_down: u8,
    pub lapses: u8,
    /// Candidates that an operator deletes.
    pub evictions: u8,
    /// Marks that an operator deletes.
    pub erasures: u8,
    /// Leaders that do not end their work.
    pub unclean: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Connect(usize),
    LearnExpiry(usize),
    Disconnect(usize),
    /// The server executes the request.
    Execute(usize),
    /// The client's server applies the next commit, or hands out the reply.
    Hear(usize),
    /// A request of a lost connection is executed.
    ApplyInDoubt(usize, usize),
    /// The server never executes the requests of lost connections.
    DropInDoubt(usize),
    /// The lock delay has passed.
    PassDelay(usize),
    Expire(usize),
    Withdraw(usize),
    GiveUp(usize),
    Lapse(usize),
    EndUncleanly(usize),
    Evict,
    Erase,
}
