//! The metrics without the feature `metrics`: nothing.

use zk_jute::records::EventType;
use zk_jute::{Frame, OpCode};

use super::Outcome;
use crate::election::LostReason;

#[derive(Debug)]
pub(crate) struct RequestMeter;

impl RequestMeter {
    pub(crate) const fn start(_: OpCode) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn finished(&self, _: Outcome) {}
}

/// The state of a client's connection, by its name.
#[derive(Debug)]
pub(crate) struct StateGauge(&'static str);

impl StateGauge {
    pub(crate) const fn new(state: &'static str) -> Self {
        Self(state)
    }

    pub(crate) const fn state(&self) -> &'static str {
        self.0
    }

    pub(crate) const fn enter(&mut self, state: &'static str) {
        self.0 = state;
    }
}

#[derive(Debug)]
pub(crate) struct TenureMeter;

impl TenureMeter {
    pub(crate) const fn start() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn ended(&self, _: LostReason) {}
}

pub(crate) const fn election_request(_: &'static str, _: Outcome) {}

pub(crate) const fn sent(_: usize) {}

pub(crate) const fn received(_: &[Frame]) {}

pub(crate) const fn watch_event(_: EventType) {}

pub(crate) const fn connect_failed() {}

pub(crate) const fn connection_lost() {}

pub(crate) const fn session_resumed() {}

pub(crate) const fn session_granted() {}

pub(crate) const fn session_expired() {}
