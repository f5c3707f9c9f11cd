//! The metrics of elections without the feature `metrics`: nothing.

use core::time::Duration;

use election_session::LostReason;

use super::seen::{AfterSuspension, SeenBy};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElectionLabel;

impl ElectionLabel {
    pub(crate) const NONE: Self = Self;
}

pub(crate) const fn nomination_began(_: ElectionLabel) {}

pub(crate) const fn blocked_began(_: ElectionLabel) {}

pub(crate) const fn blocked_ended(_: ElectionLabel) {}

pub(crate) const fn tenure_began(_: ElectionLabel) {}

pub(crate) const fn tenure_ended(_: ElectionLabel, _: LostReason, _: Duration) {}

pub(crate) const fn leaderless_began(_: ElectionLabel, _: SeenBy) {}

pub(crate) const fn leaderless_ended(_: ElectionLabel, _: SeenBy, _: Option<Duration>) {}

pub(crate) const fn took_over(_: ElectionLabel, _: Duration) {}

pub(crate) const fn suspension_ended(_: ElectionLabel, _: Duration, _: AfterSuspension) {}

pub(crate) const fn ambiguous_create(_: ElectionLabel) {}

pub(crate) const fn ghost_removed(_: ElectionLabel) {}
