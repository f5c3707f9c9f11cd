//! A register that several leaders read and write, and its record of their accesses.

use alloc::collections::BTreeMap;
use core::time::Duration;

use election_tokio::Token;

/// The register's treatment of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// Takes all.
    Open,
    /// Refuses those that are smaller than the greatest it has seen.
    Closed,
}

/// A number that each write raises. A writer reads it, works, and writes what it made of it: so a
/// write that another one has come before is *lost upon*: what that one wrote is gone.
#[derive(Debug)]
pub(super) struct Register {
    fence: Fence,
    version: u64,
    accesses: u64,
    /// The last access of each token, counted in accesses.
    seen: BTreeMap<Token, u64>,
    /// The last read of each token, counted in accesses.
    read: BTreeMap<Token, u64>,
    /// The greatest token that has written.
    greatest_written: Option<Token>,
    tally: Tally,
}

/// The fate of the writes under one guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Writes that were taken.
    pub written: u64,
    /// Reads and writes that were refused.
    pub refused: u64,
    /// Writes of another leader that were overwritten by one that had not read them, and when.
    pub lost: Vec<Duration>,
    /// Writes with another leader at the register between their read and themselves.
    pub overlapped: u64,
    /// Writes by a leader when a later one had written already.
    pub stale: u64,
}

impl Tally {
    /// Whether all went as if there had been one leader at a time.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.overlapped == 0 && self.stale == 0
    }
}

/// The token is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused;

impl Register {
    pub(super) const fn new(fence: Fence) -> Self {
        Self {
            fence,
            version: 0,
            accesses: 0,
            seen: BTreeMap::new(),
            read: BTreeMap::new(),
            greatest_written: None,
            tally: Tally { written: 0, refused: 0, lost: Vec::new(), overlapped: 0, stale: 0 },
        }
    }

    pub(super) const fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(super) fn read(&mut self, token: Token) -> Result<u64, Refused> {
        let access = self.admit(token)?;
        self.read.insert(token, access);
        Ok(self.version)
    }

    /// Writes what a leader made of the version `base`.
    pub(super) fn write(&mut self, at: Duration, token: Token, base: u64) -> Result<u64, Refused> {
        let read_at = self.read.get(&token).copied().unwrap_or_default();
        self.admit(token)?;
        self.tally.written += 1;
        if base != self.version {
            self.tally.lost.push(at);
        }
        if self.seen.iter().any(|(other, seen_at)| *other != token && *seen_at > read_at) {
            self.tally.overlapped += 1;
        }
        if self.greatest_written.is_some_and(|greatest| token < greatest) {
            self.tally.stale += 1;
        }
        self.greatest_written = self.greatest_written.max(Some(token));
        self.version += 1;
        Ok(self.version)
    }

    fn admit(&mut self, token: Token) -> Result<u64, Refused> {
        let greatest = self.seen.last_key_value().map(|(greatest, _)| *greatest);
        if self.fence == Fence::Closed && greatest.is_some_and(|greatest| token < greatest) {
            self.tally.refused += 1;
            return Err(Refused);
        }
        self.accesses += 1;
        self.seen.insert(token, self.accesses);
        Ok(self.accesses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Token = Token::new(3);
    const NEW: Token = Token::new(7);

    /// Writes in this order: the old leader reads, the new one reads and writes, the old one
    /// writes.
    fn in_one_another(fence: Fence) -> Tally {
        let mut register = Register::new(fence);
        let old = register.read(OLD).expect("the first");
        let new = register.read(NEW).expect("greater");
        register.write(Duration::from_secs(1), NEW, new).expect("the greatest");
        let _ = register.write(Duration::from_secs(2), OLD, old);
        register.tally().clone()
    }

    #[test]
    fn a_write_that_comes_too_late_is_seen() {
        let tally = in_one_another(Fence::Open);
        assert_eq!((tally.written, tally.lost.len(), tally.overlapped, tally.stale), (2, 1, 1, 1));
        assert!(!tally.is_clean());
    }

    #[test]
    fn a_fence_refuses_it() {
        let tally = in_one_another(Fence::Closed);
        assert_eq!((tally.written, tally.refused), (1, 1));
        assert!(tally.is_clean());
    }

    #[test]
    fn leaders_that_follow_each_other_are_clean() {
        let mut register = Register::new(Fence::Open);
        for token in [OLD, OLD, NEW, NEW] {
            let base = register.read(token).expect("open");
            register.write(Duration::ZERO, token, base).expect("open");
        }
        assert!(register.tally().is_clean());
    }
}
