//! The figures that are counted.

use crate::Outcome;
use crate::election::{Election, Measured};
use crate::requests;

/// A figure with a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// A `getData` of 256 that are in flight, each of a task of its own.
    Pipelined,
    /// A `getData` of 256 that are in flight, all in a `FuturesUnordered` of one task.
    Unordered,
    /// A `getData`, one after the other.
    OneAtATime,
    /// A list of 100,000 children, and a look at each name.
    Children,
    /// From a leader's withdrawal until its successor holds the grant: of all clients.
    TakeOver,
    /// From a nomination until the nominee has its place.
    Join,
    /// A minute of a client that does nothing.
    IdleMinute,
}

impl Figure {
    pub(crate) const ALL: [Self; 7] = [
        Self::Pipelined,
        Self::Unordered,
        Self::OneAtATime,
        Self::Children,
        Self::TakeOver,
        Self::Join,
        Self::IdleMinute,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pipelined => "get-data-pipelined",
            Self::Unordered => "get-data-unordered",
            Self::OneAtATime => "get-data-one-at-a-time",
            Self::Children => "children-100000",
            Self::TakeOver => "take-over",
            Self::Join => "join",
            Self::IdleMinute => "idle-minute",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.name() == name)
    }

    /// Returns how often it is done in two runs: the instructions that the second takes beyond the
    /// first is not what comes before, nor what is done the first time only.
    pub(crate) const fn counts(self) -> (u32, u32) {
        match self {
            Self::Pipelined | Self::Unordered => (20 * requests::WINDOW, 60 * requests::WINDOW),
            Self::OneAtATime => (1000, 3000),
            Self::Children => (2, 6),
            Self::TakeOver | Self::Join => (40, 120),
            Self::IdleMinute => (10, 60),
        }
    }

    /// Returns the function of which the instructions are counted, if not all are.
    pub(crate) const fn counted(self) -> Option<&'static str> {
        match self {
            Self::TakeOver => Some("*zk_budgets::election::in_take_over*"),
            Self::Join => Some("*zk_budgets::election::in_join*"),
            Self::Pipelined
            | Self::Unordered
            | Self::OneAtATime
            | Self::Children
            | Self::IdleMinute => None,
        }
    }

    /// Does it so many times.
    pub(crate) fn run(self, count: u32) -> Outcome<()> {
        match self {
            Self::Pipelined => requests::pipelined(count),
            Self::Unordered => requests::unordered(count),
            Self::OneAtATime => requests::one_at_a_time(count),
            Self::Children => requests::lists(count),
            Self::TakeOver | Self::Join => {
                let mut election = Election::new()?;
                for _ in 0..count {
                    election.change_leader(Measured::TakeOver, Measured::Join)?;
                }
                Ok(())
            }
            Self::IdleMinute => requests::idle_minutes(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_run() {
        for figure in Figure::ALL {
            let (few, _) = figure.counts();
            figure
                .run(few.min(requests::WINDOW))
                .unwrap_or_else(|error| panic!("{figure:?}: {error}"));
        }
    }
}
