//! The guards between a leader and its registers.

use core::fmt;
use core::str::FromStr;

/// The check between a leader and the register that it writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// Nothing: the leader writes until it has been told of its loss.
    Nothing,
    /// The leader asks `is_valid` right before it writes.
    IsValid,
    /// The register refuses tokens that are smaller than the greatest it has seen.
    Token,
    /// The register is a znode, written to by `Leadership::transaction`.
    Transaction,
}

impl Guard {
    /// All of them, the weakest first.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::IsValid, Self::Token, Self::Transaction];

    /// Whether no write may be lost under it, whatever happens.
    pub const fn is_absolute(self) -> bool {
        matches!(self, Self::Token | Self::Transaction)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::IsValid => "is_valid",
            Self::Token => "token",
            Self::Transaction => "transaction",
        }
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// No guard is called that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no guard {0:?}")]
pub struct UnknownGuard(String);

impl FromStr for Guard {
    type Err = UnknownGuard;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|guard| guard.name() == name);
        found.ok_or_else(|| UnknownGuard(name.to_owned()))
    }
}
