//! The access that a contender asks for: exclusive or shared.

/// The access that a contender asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It alone: for a leader, the holder of a lock, a writer.
    Exclusive,
    /// Together with all others that share: for a reader.
    Shared,
}

impl Access {
    /// Returns whether contenders with these two accesses cannot hold at the same time.
    pub const fn excludes(self, other: Self) -> bool {
        matches!((self, other), (Self::Exclusive, _) | (_, Self::Exclusive))
    }
}
