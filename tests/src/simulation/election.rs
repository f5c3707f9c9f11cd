//! The elections of a run, each with its election node and the resource that its leaders write to.

use core::fmt;

/// One of the elections, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Election(u8);

impl Election {
    pub(super) const FIRST: Self = Self(0);

    /// All elections that a run may have.
    pub(super) const ALL: [Self; 3] = [Self(0), Self(1), Self(2)];

    /// The election of this number, or the one that stands in for it among so many.
    pub(super) fn nth(number: u8, of: u8) -> Self {
        Self(number % of.clamp(1, 3))
    }

    pub(super) const fn number(self) -> u8 {
        self.0
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The path of the election node.
    pub(super) const fn node(self) -> &'static str {
        match self.0 {
            0 => "/election",
            1 => "/election-2",
            _ => "/election-3",
        }
    }

    /// What leaders write to, under the guard of their candidate.
    pub(super) const fn resource(self) -> &'static str {
        match self.0 {
            0 => "/resource",
            1 => "/resource-2",
            _ => "/resource-3",
        }
    }

    /// The path of a child of the election node.
    pub(super) fn child(self, name: impl fmt::Display) -> String {
        format!("{}/{name}", self.node())
    }
}

impl fmt::Display for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.node())
    }
}
