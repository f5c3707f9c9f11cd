//! How soon the driver sends what callers submit.

use tokio::runtime::{Handle, RuntimeFlavor};

use super::inputs::Inputs;

/// Lets callers that were woken together submit, before the driver sends for the first of them.
///
/// A worker thread of tokio's runtime with several threads runs the task that was woken last before all others that
/// wait. So the driver would run as soon as the first caller has submitted its request, and again after each other
/// one: a system call a request. A task that wakes itself goes behind the others.
#[derive(Debug)]
pub(super) struct Pace {
    turns: Turns,
    callers: Callers,
}

/// The order in which the scheduler runs the tasks that are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    /// The one that was woken first: callers that were woken together run before the driver.
    InOrder,
    /// The one that was woken last.
    LastFirst,
}

/// The callers that the last answers have woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callers {
    One,
    /// They may not have run yet.
    Several,
}

impl Pace {
    /// Makes the pace of a driver in the current runtime.
    pub(super) fn new() -> Self {
        let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
        let turns = match flavor {
            Ok(RuntimeFlavor::CurrentThread) => Turns::InOrder,
            _ => Turns::LastFirst,
        };
        Self { turns, callers: Callers::One }
    }

    /// Notes that so many frames have come in together.
    pub(super) const fn have_come(&mut self, frames: usize) {
        self.callers = if frames > 1 { Callers::Several } else { Callers::One };
    }

    /// Returns whether the driver comes back later, because callers may be about to submit more. That is
    /// so once after frames have come in, and only if no input has woken the driver.
    #[inline]
    pub(super) fn lets_callers_run(&mut self, inputs: &Inputs) -> bool {
        self.callers == Callers::Several && self.goes_behind(inputs)
    }

    #[cold]
    fn goes_behind(&mut self, inputs: &Inputs) -> bool {
        self.callers = Callers::One;
        if self.turns == Turns::InOrder || inputs.have_come() {
            return false;
        }
        inputs.driver().wake_by_ref();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::Waker;

    fn lets_run(pace: &mut Pace) -> bool {
        let inputs = Inputs::of(Waker::noop());
        inputs.take();
        pace.lets_callers_run(&inputs)
    }

    #[test]
    fn callers_run_first_once_if_several_were_woken() {
        let mut pace = Pace { turns: Turns::LastFirst, callers: Callers::One };
        assert!(!lets_run(&mut pace), "none was woken");
        pace.have_come(1);
        assert!(!lets_run(&mut pace), "no other would come");
        pace.have_come(2);
        assert!(lets_run(&mut pace));
        assert!(!lets_run(&mut pace), "once");
        pace.have_come(2);
        assert!(!pace.lets_callers_run(&Inputs::of(Waker::noop())), "an input has come");
    }

    #[tokio::test]
    async fn one_thread_runs_callers_first_by_itself() {
        let mut pace = Pace::new();
        pace.have_come(2);
        assert!(!lets_run(&mut pace));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn several_threads_do_not() {
        let mut pace = Pace::new();
        pace.have_come(2);
        assert!(lets_run(&mut pace));
    }
}
