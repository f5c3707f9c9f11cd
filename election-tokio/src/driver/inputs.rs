//! The inputs that wake the driver.

use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
use std::sync::Arc;
use std::task::Wake;

/// Tells whether a transport, timer or question woke the driver. Callers that submit requests wake it
/// by the waker of its task, and the hub notes what else changes there. So if no input woke the driver,
/// it polls none.
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
        // The signal is set before the driver runs, because the driver then takes it.
        self.has_come.store(true, Ordering::Release);
        self.driver.wake_by_ref();
    }
}

impl Inputs {
    /// Makes the inputs of a driver in the task with this waker. None was polled yet, so each counts as
    /// ready.
    pub(super) fn of(driver: &Waker) -> Self {
        let signal = Signal { has_come: AtomicBool::new(true), driver: driver.clone() };
        let signal = Arc::new(signal);
        Self { waker: Waker::from(Arc::clone(&signal)), signal }
    }

    /// Returns whether the driver is still in the task with this waker.
    pub(super) fn are_of(&self, driver: &Waker) -> bool {
        self.signal.driver.will_wake(driver)
    }

    /// Returns the waker for inputs.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Returns the waker for callers that submit requests.
    pub(super) fn driver(&self) -> &Waker {
        &self.signal.driver
    }

    /// Returns whether an input has woken the driver since the last call of [`take`](Self::take).
    pub(super) fn have_come(&self) -> bool {
        self.signal.has_come.load(Ordering::Acquire)
    }

    /// Returns whether an input woke the driver since the last call.
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
        // Not `Waker::noop()` again: each unit of code may have a table of its own for it.
        assert!(inputs.are_of(inputs.driver()) && !inputs.are_of(inputs.waker()));
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
