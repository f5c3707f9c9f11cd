//! Asking for the health of a nomination.

use std::sync::Arc;

use super::facts::Facts;
use super::nomination::Nomination;
use super::status::{Role, Status};
use crate::health::{NominationHealth, NomineeHealth};
use crate::hub::Shared;
use crate::updates::Updates;

/// Tells the health of a nomination to probes, while the nomination itself is in use; made by
/// [`Nomination::probe`].
///
/// It keeps neither the nomination nor the client: once these are dropped, it tells that they are over.
#[derive(Clone, Debug)]
pub struct NominationProbe {
    shared: Arc<Shared>,
    status: Updates<Status>,
    facts: Arc<Facts>,
}

impl Nomination {
    /// How the nomination and its client are at this moment: see [`NominationProbe::health`].
    pub fn health(&self) -> NominationHealth {
        self.probe().health()
    }

    /// A handle for the thread or task that answers liveness and readiness probes.
    pub fn probe(&self) -> NominationProbe {
        let shared = Arc::clone(self.inner().client.shared());
        let facts = Arc::clone(&self.inner().facts);
        NominationProbe { shared, status: self.updates(), facts }
    }
}

impl NominationProbe {
    /// How the nomination and its client are at this moment, for liveness and readiness probes.
    ///
    /// Waits for nothing and does no IO: it answers from any thread, also while the runtime of the client
    /// is blocked, and then says so, as [`Client::health`](crate::Client::health) does.
    pub fn health(&self) -> NominationHealth {
        // Not by the hub, whose lock may be held. That of the status is held for a few steps alone, in
        // which nothing of a user's runs and nothing is waited for.
        let nominee = match self.status.latest().role {
            Role::Leading { token } | Role::Suspended { token, .. } => {
                let lease_remaining = self.shared.lease_remaining().unwrap_or_default();
                NomineeHealth::Leading { token, lease_remaining }
            }
            Role::Following { .. } => NomineeHealth::Following,
            Role::Leaving => NomineeHealth::Leaving,
            Role::Ended(reason) => NomineeHealth::Ended(reason),
            Role::Connecting | Role::Standing | Role::AwaitingLease { .. } | _ => {
                let lasted = self.facts.leaderless.lasted(self.shared.clock.now());
                NomineeHealth::Leaderless { lasted }
            }
        };
        NominationHealth::new(&self.shared, nominee)
    }
}
