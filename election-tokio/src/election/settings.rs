//! The settings that similar nominations of an election share.

use std::sync::Arc;

use election_core::election::WhenPromoted;
use election_core::format::Format;
use election_session::Site;

use super::suspension::WhileSuspended;
use crate::clock::Clock;
use crate::telemetry::ElectionLabel;

/// The settings of nominations: one value for all that are made alike.
#[derive(Debug)]
pub(super) struct NominationSettings {
    pub(super) site: Arc<Site>,
    pub(super) clock: Clock,
    pub(super) format: Format,
    pub(super) label: ElectionLabel,
    pub(super) while_suspended: WhileSuspended,
    pub(super) when_promoted: WhenPromoted,
}
