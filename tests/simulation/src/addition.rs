//! Additions to a run, beside what its seed draws.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::plan::Plan;
use super::profile::UnknownName;
use super::round::Rounds;
use super::schedule;

/// Something that no seed draws, so that it does not change what the seeds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// At times, a client's connections break at the first answer.
    BrokenAnswers,
    /// Clients play rounds of a recipe that none of the published crates knows.
    Rounds,
}

impl Addition {
    const ALL: [Self; 2] = [Self::BrokenAnswers, Self::Rounds];
}

impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BrokenAnswers => "broken-answers",
            Self::Rounds => "rounds",
        })
    }
}

impl FromStr for Addition {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|addition| addition.to_string() == text);
        found.ok_or(UnknownName("broken-answers, rounds"))
    }
}

impl Plan {
    /// Returns the same run, with this addition.
    #[must_use]
    pub fn with(mut self, addition: Addition) -> Self {
        self.addition = Some(addition);
        match addition {
            Addition::BrokenAnswers => {
                self.incidents.extend(schedule::draw_broken_answers(&self));
                self.incidents.sort_by_key(|incident| incident.at);
            }
            Addition::Rounds => self.rounds = Some(Rounds { every: Duration::from_millis(1_500) }),
        }
        self
    }
}
