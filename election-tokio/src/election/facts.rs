//! The facts that a nomination shares with its holder besides its status.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::election::{Nominee, Notice};
use election_core::name::CandidateName;

use super::blocker::{BlockChange, Blocker, PresentBlocker};
use super::leaderless::LeaderlessSince;
use super::position::{LastPosition, Position};
use super::settings::NominationSettings;
use super::status::{LostReason, Role};
use crate::held::Tenure;

/// The facts about a nomination besides its status.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) settings: Arc<NominationSettings>,
    last: Mutex<Last>,
    pub(super) leaderless: LeaderlessSince,
}

#[derive(Debug, Default)]
struct Last {
    /// The present tenure, if there is one.
    tenure: Option<Arc<Tenure<LostReason>>>,
    position: LastPosition,
    blocker: PresentBlocker,
}

impl Facts {
    pub(super) fn new(settings: Arc<NominationSettings>) -> Self {
        let leaderless = LeaderlessSince::new(settings.clock.now());
        Self { settings, last: Mutex::default(), leaderless }
    }

    /// Returns the present tenure, if there is one.
    pub(super) fn tenure(&self) -> Option<Arc<Tenure<LostReason>>> {
        self.last().tenure.clone()
    }

    /// Replaces the tenure. Returns the former one, if there was one.
    pub(super) fn replace_tenure(
        &self,
        tenure: Option<Arc<Tenure<LostReason>>>,
    ) -> Option<Arc<Tenure<LostReason>>> {
        core::mem::replace(&mut self.last().tenure, tenure)
    }

    pub(super) fn position(&self) -> Option<Position> {
        self.last().position.get()
    }

    /// Takes in the position that the nominee has learned.
    pub(super) fn follow(&self, nominee: &Nominee) {
        self.last().position.follow(nominee);
    }

    /// Returns the znode that blocks the nominee, if one does.
    pub(super) fn blocker(&self) -> Option<Blocker> {
        self.last().blocker.get()
    }

    /// Returns whether this candidate blocks the nominee, so that it leads nothing.
    pub(super) fn is_blocked_by(&self, candidate: &CandidateName) -> bool {
        self.last().blocker.is(candidate)
    }

    /// Takes in the nominee's notice, and its role since.
    pub(super) fn follow_blocker(
        &self,
        notice: Option<Notice>,
        role: &Role,
    ) -> Option<BlockChange> {
        self.last().blocker.follow(notice, role)
    }

    /// Notes that nothing blocks any more.
    pub(super) fn unblock(&self) -> Option<BlockChange> {
        self.last().blocker.end()
    }

    /// Locks the facts for a step that runs no code of the user's.
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
