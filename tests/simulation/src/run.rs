//! Running a plan.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::clock::Time;
use super::outcome::{Law, Outcome, Stats, Violation};
use super::plan::Plan;
use super::story::{Recording, Story};
use super::world;

/// Runs a plan to its end, or to the first law that is broken. A panic breaks one.
pub fn run(plan: &Plan, recording: Recording) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| world::run(plan, recording))).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let detail = message.unwrap_or("without a message").to_owned();
        Outcome {
            violation: Some(Violation { at: Time::ORIGIN, law: Law::NoPanic, detail }),
            stats: Stats::default(),
            story: Story::new(recording),
        }
    })
}
