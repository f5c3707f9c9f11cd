//! How a nominee runs the work of a leader.

use core::time::Duration;

/// How [`Nomination::run_with`](super::super::Nomination::run_with) ends the work, and itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct RunOptions {
    pub(super) grace: Duration,
    pub(super) resignation: Duration,
    pub(super) on_step_down_request: OnStepDownRequest,
}

/// What follows when a client asks the leader to
/// [step down](super::super::Election::request_step_down).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStepDownRequest {
    /// It consents: the work is cancelled, and the nominee stands again behind the others.
    #[default]
    Consent,
    /// The request is for the work to hear, by
    /// [`Leadership::step_down_requested`](super::super::Leadership::step_down_requested); it consents by
    /// [`Leadership::step_down`](super::super::Leadership::step_down). The leader has no watch for it
    /// but the work's.
    LeaveToWork,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RunOptions {
    /// A grace of ten seconds, a resignation within five, and consent to requests to step down.
    pub const fn new() -> Self {
        Self {
            grace: Duration::from_secs(10),
            resignation: Duration::from_secs(5),
            on_step_down_request: OnStepDownRequest::Consent,
        }
    }

    /// How long the work may go on once it is cancelled, before it is dropped. A leader whose connection is
    /// lost gives half of what is left of its lease, if that is less.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long `run` waits, when it ends, until the candidate znode is gone.
    pub const fn resignation(mut self, longest: Duration) -> Self {
        self.resignation = longest;
        self
    }

    /// What follows when a client asks the leader to step down.
    pub const fn on_step_down_request(mut self, follows: OnStepDownRequest) -> Self {
        self.on_step_down_request = follows;
        self
    }
}
