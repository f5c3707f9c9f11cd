//! Checks whether a member is well: how many in a row change the verdict.

use core::num::NonZeroU32;

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The member is well, as far as the check sees.
    Passed,
    /// It is not, or the check did not end in time.
    Failed,
}

/// The verdict of the checks so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// No check has ended yet.
    #[default]
    Unchecked,
    /// The member is well.
    Well,
    /// It is not.
    Unwell,
}

/// How many checks in a row change a verdict, so that a single one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thresholds {
    /// How many checks have to pass, one after another, until an unwell member is well.
    pub rise: NonZeroU32,
    /// How many checks have to fail, one after another, until a well member is unwell.
    pub fall: NonZeroU32,
}

/// The verdict on a member, by its checks.
///
/// The first check decides alone. From then on only as many checks in a row as the thresholds say
/// change the verdict: one that confirms it begins the count anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hysteresis {
    thresholds: Thresholds,
    condition: Condition,
    /// How many checks in a row contradict the condition.
    against: u32,
}

impl Hysteresis {
    /// Begins without a check.
    pub const fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, condition: Condition::Unchecked, against: 0 }
    }

    /// Returns the present verdict.
    pub const fn condition(&self) -> Condition {
        self.condition
    }

    /// Takes in the outcome of the next check, and returns the verdict since.
    pub fn heed(&mut self, outcome: Outcome) -> Condition {
        let (contradicts, other, enough) = match (self.condition, outcome) {
            (Condition::Unchecked, Outcome::Passed) => (true, Condition::Well, 1),
            (Condition::Unchecked, Outcome::Failed) => (true, Condition::Unwell, 1),
            (Condition::Well, outcome) => {
                (outcome == Outcome::Failed, Condition::Unwell, self.thresholds.fall.get())
            }
            (Condition::Unwell, outcome) => {
                (outcome == Outcome::Passed, Condition::Well, self.thresholds.rise.get())
            }
        };
        self.against = if contradicts { self.against.saturating_add(1) } else { 0 };
        if self.against >= enough {
            (self.condition, self.against) = (other, 0);
        }
        self.condition
    }
}
