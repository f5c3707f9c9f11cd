//! Fewer steps to the same end.

use core::fmt;

use crate::differential::duel::{Difference, Duel, Stop};
use crate::differential::request::Step;

/// Steps after which the servers differ.
#[derive(Debug)]
pub(crate) struct Shortest {
    pub(crate) steps: Vec<Step>,
    difference: Box<Difference>,
}

/// Leaves out what can be left out, half of it at first, one step and one request in the end.
pub(crate) fn shrink(duel: &mut Duel, steps: &[Step], difference: Box<Difference>) -> Shortest {
    let steps = steps.iter().take(difference.step + 1).cloned().collect();
    let mut shortest = Shortest { steps, difference };
    let mut length = shortest.steps.len().div_ceil(2);
    loop {
        let mut from = 0;
        while from < shortest.steps.len() {
            let mut fewer = shortest.steps.clone();
            fewer.drain(from..fewer.len().min(from + length));
            if !shortest.take(duel, fewer) {
                from += length;
            }
        }
        if length <= 1 {
            break;
        }
        length = length.div_ceil(2);
    }
    shortest.shrink_requests(duel);
    shortest
}

impl Shortest {
    fn shrink_requests(&mut self, duel: &mut Duel) {
        let mut at = (0, 0);
        while let Some(step) = self.steps.get(at.0) {
            let mut fewer = self.steps.clone();
            match (step, &mut fewer[at.0]) {
                (Step::Ask { requests, .. }, Step::Ask { requests: left, .. })
                    if requests.len() > 1 && at.1 < requests.len() =>
                {
                    left.remove(at.1);
                    if !self.take(duel, fewer) {
                        at.1 += 1;
                    }
                }
                _ => at = (at.0 + 1, 0),
            }
        }
    }

    /// Goes on with these if they show a difference as well.
    fn take(&mut self, duel: &mut Duel, mut steps: Vec<Step>) -> bool {
        match duel.play(&steps) {
            Err(Stop::Differed(difference)) => {
                steps.truncate(difference.step + 1);
                *self = Self { steps, difference };
                true
            }
            Ok(()) | Err(Stop::Failed(_)) => false,
        }
    }
}

impl fmt::Display for Shortest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(formatter, "{index}: {step:?}")?;
        }
        write!(formatter, "{}", self.difference)
    }
}
