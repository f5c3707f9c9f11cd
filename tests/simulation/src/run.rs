//! Runs a plan.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use super::clock::Time;
use super::outcome::{Law, Outcome, Stats, Violation};
use super::plan::Plan;
use super::story::{Recording, Story};
use super::world;

thread_local! {
    /// The place where the last panic of this thread began.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics off standard error for this process; [`run`] tells them, with their places.
pub fn keep_panics_quiet() {
    set_hook(Box::new(|panic| {
        PLACE.with_borrow_mut(|place| *place = panic.location().map(ToString::to_string));
    }));
}

/// Runs a plan to its end, or to the first law that is broken. A panic breaks one.
pub fn run(plan: &Plan, recording: Recording) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| world::run(plan, recording))).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let place = PLACE.take().map(|place| format!(", at {place}"));
        let detail = message.unwrap_or("without a message").to_owned() + &place.unwrap_or_default();
        Outcome {
            violation: Some(Violation { at: Time::ORIGIN, law: Law::NoPanic, detail }),
            stats: Stats::default(),
            story: Story::new(recording),
        }
    })
}
