//! The metrics without the feature `metrics`: nothing.

use core::time::Duration;

use election_core::lock::GaveUp;
use zk_jute::records::EventType;
use zk_jute::{Frames, OpCode};

use super::Outcome;
use crate::error::lost::LockLost;

#[derive(Debug)]
pub(crate) struct RequestMeter;

impl RequestMeter {
    pub(crate) const fn start(_: OpCode) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same with metrics")]
    pub(crate) const fn finished(&self, _: Outcome) {}
}

pub(crate) const fn client_begun(_: &'static str) {}

pub(crate) const fn state_entered(_: &'static str, _: &'static str) {}

pub(crate) const fn state_ended(_: &'static str) {}

pub(crate) const fn lock_acquired(_: &'static str, _: Duration) {}

pub(crate) const fn lock_given_up(_: &'static str, _: GaveUp) {}

pub(crate) const fn lock_lost(_: &'static str, _: LockLost, _: Duration) {}

pub(crate) const fn recipe_request(_: &'static str, _: Outcome) {}

pub(crate) const fn sent(_: usize) {}

pub(crate) const fn received(_: &[Frames]) {}

pub(crate) const fn watch_event(_: EventType) {}

pub(crate) const fn connect_failed() {}

pub(crate) const fn connection_lost() {}

pub(crate) const fn session_resumed() {}

pub(crate) const fn suspension_ended(_: &'static str, _: Duration) {}

pub(crate) const fn lease_remaining(_: Duration) {}

pub(crate) const fn session_granted() {}

pub(crate) const fn connected_without_lease() {}

pub(crate) const fn session_expired() {}

pub(crate) const fn rolled_back() {}
