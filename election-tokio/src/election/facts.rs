//! What a nomination shares with its holder besides its status.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::Nominee;
use zk_session::Instant;

use super::leaderless::LeaderlessSince;
use super::position::{LastPosition, Position};
use super::status::LostReason;
use crate::held::Tenure;

/// What is known of a nomination besides its status.
#[derive(Debug)]
pub(super) struct Facts {
    last: Mutex<Last>,
    pub(super) leaderless: LeaderlessSince,
}

#[derive(Debug, Default)]
struct Last {
    /// The present one.
    tenure: Option<Arc<Tenure<LostReason>>>,
    position: LastPosition,
}

impl Facts {
    pub(super) fn new(now: Instant) -> Self {
        Self { last: Mutex::default(), leaderless: LeaderlessSince::new(now) }
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

    /// For a step that runs nothing of a user's.
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
