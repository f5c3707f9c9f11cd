//! What a nomination shares with its holder besides its status.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::{CandidateName, Nominee, Notice};

use super::blocker::{BlockChange, Blocker, PresentBlocker};
use super::leaderless::LeaderlessSince;
use super::position::{LastPosition, Position};
use super::settings::NominationSettings;
use super::status::{LostReason, Role};
use crate::held::Tenure;

/// What is known of a nomination besides its status.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) settings: Arc<NominationSettings>,
    last: Mutex<Last>,
    pub(super) leaderless: LeaderlessSince,
}

#[derive(Debug, Default)]
struct Last {
    /// The present one.
    tenure: Option<Arc<Tenure<LostReason>>>,
    position: LastPosition,
    blocker: PresentBlocker,
}

impl Facts {
    pub(super) fn new(settings: Arc<NominationSettings>) -> Self {
        let leaderless = LeaderlessSince::new(settings.clock.now());
        Self { settings, last: Mutex::default(), leaderless }
    }

    /// The present tenure, if there is one.
    pub(super) fn tenure(&self) -> Option<Arc<Tenure<LostReason>>> {
        self.last().tenure.clone()
    }

    /// Gives the tenure before, if there was one.
    pub(super) fn replace_tenure(
        &self,
        tenure: Option<Arc<Tenure<LostReason>>>,
    ) -> Option<Arc<Tenure<LostReason>>> {
        core::mem::replace(&mut self.last().tenure, tenure)
    }

    pub(super) fn position(&self) -> Option<Position> {
        self.last().position.get()
    }

    /// Takes in what the nominee has learned of its position.
    pub(super) fn follow(&self, nominee: &Nominee) {
        self.last().position.follow(nominee);
    }

    /// What blocks the nominee, if a znode does.
    pub(super) fn blocker(&self) -> Option<Blocker> {
        self.last().blocker.get()
    }

    /// Whether this candidate blocks the nominee, so that it leads nothing.
    pub(super) fn is_blocked_by(&self, candidate: &CandidateName) -> bool {
        self.last().blocker.is(candidate)
    }

    /// Takes in what the nominee has noticed, and its role since.
    pub(super) fn follow_blocker(
        &self,
        notice: Option<Notice>,
        role: &Role,
    ) -> Option<BlockChange> {
        self.last().blocker.follow(notice, role)
    }

    /// Nothing blocks any more.
    pub(super) fn unblock(&self) -> Option<BlockChange> {
        self.last().blocker.end()
    }

    /// For a step that runs nothing of a user's.
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
