//! What a contender wants: to hold alone, or together with others.

/// What a contender wants of what it contends for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// To have it alone: a leader, the holder of a lock, a writer.
    Exclusive,
    /// To have it together with all others that share: a reader.
    Shared,
}

impl Access {
    /// Whether a contender with this access and one with the other cannot hold at the same time.
    pub const fn excludes(self, other: Self) -> bool {
        matches!((self, other), (Self::Exclusive, _) | (_, Self::Exclusive))
    }
}
