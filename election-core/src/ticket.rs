//! Tickets, which tie an answer to its command.

use core::fmt;

/// Counts how often a recipe began anew: a nominee does so for each new candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incarnation(u32);

impl Incarnation {
    /// The first one.
    pub const FIRST: Self = Self(0);

    /// Returns the next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Returns the count; the first incarnation is 0.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The ticket of a command. Its reply has the same ticket, and so does the change of a watch that
/// the command left. Answers with a ticket that is no longer awaited change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Request { part: Part, incarnation: Incarnation, step: u32 },
    Cleanup,
}

/// One of the two machines that make up one recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    First,
    Second,
}

impl Ticket {
    /// The ticket of each command with a reply that the recipe does not wait for.
    pub const CLEANUP: Self = Self(Kind::Cleanup);

    /// Returns the ticket of a recipe's command number `step` since it last began anew.
    pub const fn request(incarnation: Incarnation, step: u32) -> Self {
        Self::of_part(Part::First, incarnation, step)
    }

    pub(crate) const fn of_part(part: Part, incarnation: Incarnation, step: u32) -> Self {
        Self(Kind::Request { part, incarnation, step })
    }

    /// Returns the machine of the ticket; a cleanup belongs to neither.
    pub(crate) const fn part(self) -> Option<Part> {
        match self.0 {
            Kind::Request { part, .. } => Some(part),
            Kind::Cleanup => None,
        }
    }

    pub(crate) fn is_of(self, other: Incarnation) -> bool {
        matches!(self.0, Kind::Request { incarnation, .. } if incarnation == other)
    }

    /// Returns whether the command cleans up behind the recipe. The recipe does not wait for its
    /// reply, so the driver may deliver or drop it.
    pub const fn is_cleanup(self) -> bool {
        matches!(self.0, Kind::Cleanup)
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Request { part: Part::First, incarnation, step } => {
                write!(f, "{incarnation}.{step}")
            }
            Kind::Request { part: Part::Second, incarnation, step } => {
                write!(f, "{incarnation}.{step}'")
            }
            Kind::Cleanup => f.write_str("cleanup"),
        }
    }
}
