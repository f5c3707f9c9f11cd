//! What the nominations of an election that are made alike have in common.

use std::sync::Arc;

use election_core::Format;
use election_session::Site;

use super::suspension::WhileSuspended;
use crate::clock::Clock;
use crate::telemetry::ElectionLabel;

/// By what nominations stand: one for all that are made alike.
#[derive(Debug)]
pub(super) struct NominationSettings {
    pub(super) site: Arc<Site>,
    pub(super) clock: Clock,
    pub(super) format: Format,
    pub(super) label: ElectionLabel,
    pub(super) while_suspended: WhileSuspended,
}
