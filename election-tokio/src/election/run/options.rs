//! Options of running a leader's work.

use core::time::Duration;

use crate::election::preferring::PreferBetter;

/// How [`Nomination::run_with`](super::super::Nomination::run_with) ends the work, and itself.
#[derive(Clone, Debug)]
#[must_use]
pub struct RunOptions {
    pub(super) grace: Duration,
    pub(super) resignation: Duration,
    pub(super) on_step_down_request: OnStepDownRequest,
    pub(super) prefer: PreferBetter,
}

/// The reaction when a client asks the leader to [step
/// down](super::super::Election::request_step_down).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStepDownRequest {
    /// The leader consents: the work is cancelled, and the nominee stands again behind the others.
    #[default]
    Consent,
    /// The work handles the request: it hears of it by
    /// [`Leadership::step_down_requested`](super::super::Leadership::step_down_requested), and
    /// consents by [`Leadership::step_down`](super::super::Leadership::step_down). Only the work's
    /// own watch is set for requests.
    LeaveToWork,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RunOptions {
    /// Returns the defaults: a grace of ten seconds, a resignation within five, consent to requests to
    /// step down, and no preference.
    pub const fn new() -> Self {
        Self {
            grace: Duration::from_secs(10),
            resignation: Duration::from_secs(5),
            on_step_down_request: OnStepDownRequest::Consent,
            prefer: PreferBetter::Never,
        }
    }

    /// Sets how long the work may go on once it is cancelled, before it is dropped. A leader that
    /// has lost its connection gives half of what is left of its lease, if that is less.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long `run` waits, when it ends, until the candidate znode is gone.
    pub const fn resignation(mut self, longest: Duration) -> Self {
        self.resignation = longest;
        self
    }

    /// Sets what happens when a client asks the leader to step down.
    pub const fn on_step_down_request(mut self, follows: OnStepDownRequest) -> Self {
        self.on_step_down_request = follows;
        self
    }

    /// Sets whether the leader hands over to a better candidate, and when (default: never).
    /// [`Election::preference`](super::super::Election::preference) states how good a candidate is.
    pub fn prefer(mut self, prefer: PreferBetter) -> Self {
        self.prefer = prefer;
        self
    }
}
