//! The law of guarded writes: they stand in the order of their tokens, and the holder of the token
//! wrote each.

use alloc::collections::BTreeMap;
use core::fmt;
use core::str::FromStr;

use election_tokio::Token;

use super::writes::{Entry, NoEntry};

/// An entry that a leader writes under the guard of its leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// By which token.
    pub token: Token,
    /// The entry; its writer is the nominee.
    pub entry: Entry,
}

/// A breach of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A write under an earlier token came after one under a later token.
    #[error("{later} stands before {earlier}")]
    OutOfOrder {
        /// Of the earlier leader.
        earlier: Seal,
        /// Of the later leader.
        later: Seal,
    },
    /// Two nominees wrote under one token.
    #[error("{0} and {1} have one token")]
    SharedToken(Seal, Seal),
}

/// Goes through what is there, in its order.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check(seals: &[Seal]) -> Result<(), Violation> {
    let mut holders: BTreeMap<Token, Seal> = BTreeMap::new();
    let mut latest: Option<Seal> = None;
    for seal in seals {
        if let Some(later) = latest.filter(|latest| latest.token > seal.token) {
            return Err(Violation::OutOfOrder { earlier: *seal, later });
        }
        let holder = holders.entry(seal.token).or_insert(*seal);
        if holder.entry.writer != seal.entry.writer {
            return Err(Violation::SharedToken(*holder, *seal));
        }
        latest = Some(*seal);
    }
    Ok(())
}

impl fmt::Display for Seal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.entry, self.token)
    }
}

impl FromStr for Seal {
    type Err = NoEntry;

    fn from_str(text: &str) -> Result<Self, NoEntry> {
        let (entry, token) = text.split_once('@').unwrap_or((text, ""));
        let entry = entry.parse()?;
        let token = token.parse().map_err(|_| NoEntry::in_text(text))?;
        Ok(Self { token: Token::new(token), entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seals(texts: &[&str]) -> Vec<Seal> {
        texts.iter().map(|text| text.parse().expect("a seal")).collect()
    }

    #[test]
    fn leaders_one_after_another_are_fine() {
        let seals = seals(&["1:1@5", "1:2@5", "2:1@9", "1:3@12"]);
        assert_eq!(check(&seals), Ok(()));
        assert_eq!(seals[2].to_string(), "2:1@9");
    }

    #[test]
    fn a_write_of_a_deposed_leader_is_found() {
        let seals = seals(&["1:1@5", "2:1@9", "1:2@5"]);
        let wrong = Violation::OutOfOrder { earlier: seals[2], later: seals[1] };
        assert_eq!(check(&seals), Err(wrong));
    }

    #[test]
    fn a_token_that_two_have_is_found() {
        let seals = seals(&["1:1@5", "2:1@5"]);
        assert_eq!(check(&seals), Err(Violation::SharedToken(seals[0], seals[1])));
    }
}
