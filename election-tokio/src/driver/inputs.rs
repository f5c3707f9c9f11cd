//! What the driver is woken for.

use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
use std::sync::Arc;
use std::task::Wake;

/// Tells whether a transport, timer or question woke the driver. Callers that submit requests wake it by the
/// waker of its task, and what else changes the hub is noted there: where no input woke it, none is asked.
#[derive(Clone)]
pub(super) struct Inputs {
    signal: Arc<Signal>,
    /// Wakes the driver by the signal.
    waker: Waker,
}

struct Signal {
    has_come: AtomicBool,
    driver: Waker,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Before the driver runs: it takes the signal then.
        self.has_come.store(true, Ordering::Release);
        self.driver.wake_by_ref();
    }
}

impl Inputs {
    /// The inputs of a driver in the task with this waker. None was asked yet, so each counts as ready.
    pub(super) fn of(driver: &Waker) -> Self {
        let signal = Signal { has_come: AtomicBool::new(true), driver: driver.clone() };
        let signal = Arc::new(signal);
        Self { waker: Waker::from(Arc::clone(&signal)), signal }
    }

    /// Whether the driver is still in the task with this waker.
    pub(super) fn are_of(&self, driver: &Waker) -> bool {
        self.signal.driver.will_wake(driver)
    }

    /// What inputs wake.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// What callers that submit requests wake.
    pub(super) fn driver(&self) -> &Waker {
        &self.signal.driver
    }

    /// Whether an input woke the driver since this was asked last.
    pub(super) fn take(&self) -> bool {
        self.signal.has_come.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_told_from_callers_that_submit() {
        let inputs = Inputs::of(Waker::noop());
        assert!(inputs.are_of(Waker::noop()) && !inputs.are_of(inputs.waker()));
        assert!(inputs.take(), "none was asked yet");
        assert!(!inputs.take());
        inputs.driver().wake_by_ref();
        assert!(!inputs.take(), "a caller that submits is no input");
        let waker = inputs.waker().clone();
        waker.wake();
        assert!(inputs.take(), "each input counts");
        assert!(!inputs.take(), "it is taken once");
    }
}
