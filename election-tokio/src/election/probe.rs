//! Probes of a nomination's health.

use std::sync::Arc;

use super::facts::Facts;
use super::nomination::Nomination;
use super::status::{Role, Status};
use crate::health::{NominationHealth, NomineeHealth};
use crate::hub::Shared;
use crate::updates::Updates;

/// Reports the health of a nomination to probes, while the nomination itself is in use; made by
/// [`Nomination::probe`].
///
/// It keeps neither the nomination nor the client alive. Once these are dropped, it reports that
/// they are over.
#[derive(Clone, Debug)]
pub struct NominationProbe {
    shared: Arc<Shared>,
    status: Updates<Status>,
    facts: Arc<Facts>,
}

impl Nomination {
    /// Returns the present health of the nomination and its client: see
    /// [`NominationProbe::health`].
    pub fn health(&self) -> NominationHealth {
        self.probe().health()
    }

    /// Returns a handle for the thread or task that answers liveness and readiness probes.
    pub fn probe(&self) -> NominationProbe {
        let shared = Arc::clone(self.inner().recipe.client().shared());
        let facts = Arc::clone(&self.inner().facts);
        NominationProbe { shared, status: self.updates(), facts }
    }
}

impl NominationProbe {
    /// Returns the present health of the nomination and its client, for liveness and readiness
    /// probes.
    ///
    /// It does not wait, and does no IO. It answers on any thread, even while the runtime of the
    /// client is blocked, and then reports that, as [`Client::health`](crate::Client::health) does.
    pub fn health(&self) -> NominationHealth {
        // This avoids the hub, which may be locked. Those of the status and the blocker are held for a few
        // steps alone, in which nothing of a user's runs and nothing is waited for.
        let role = self.status.latest().role;
        let lasted = self.facts.leaderless.lasted(self.shared.clock.now());
        let blocker = match role {
            Role::Following { .. } | Role::Standing => self.facts.blocker(),
            _ => None,
        };
        let nominee = match (role, blocker) {
            (_, Some(by)) => NomineeHealth::Blocked { by, leaderless: lasted },
            (Role::Leading { token } | Role::Suspended { token, .. }, None) => {
                let lease_remaining = self.shared.lease_remaining().unwrap_or_default();
                NomineeHealth::Leading { token, lease_remaining }
            }
            (Role::Following { .. }, None) => NomineeHealth::Following,
            (Role::Leaving, None) => NomineeHealth::Leaving,
            (Role::Ended(reason), None) => NomineeHealth::Ended(reason),
            (Role::Connecting | Role::Standing | Role::AwaitingLease { .. } | _, None) => {
                NomineeHealth::Leaderless { lasted }
            }
        };
        NominationHealth::new(&self.shared, nominee)
    }
}
