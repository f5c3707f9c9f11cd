//! Probes of a nomination's health.

use std::sync::Arc;

use super::leaderless::LeaderlessSince;
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
    leaderless: LeaderlessSince,
}

impl Nomination {
    /// Returns the present health of the nomination and its client: see
    /// [`NominationProbe::health`].
    pub fn health(&self) -> NominationHealth {
        self.probe().health()
    }

    /// Returns a handle for the thread or task that answers liveness and readiness probes.
    pub fn probe(&self) -> NominationProbe {
        let shared = Arc::clone(self.inner().client.shared());
        let leaderless = self.inner().leaderless.clone();
        NominationProbe { shared, status: self.updates(), leaderless }
    }
}

impl NominationProbe {
    /// Returns the present health of the nomination and its client, for liveness and readiness
    /// probes.
    ///
    /// It does not wait, and does no IO. It answers on any thread, even while the runtime of the
    /// client is blocked, and then reports that, as [`Client::health`](crate::Client::health) does.
    pub fn health(&self) -> NominationHealth {
        // This avoids the hub, which may be locked. The status is locked only for a few steps, in
        // which no user code runs and nothing waits.
        let nominee = match self.status.latest().role {
            Role::Leading { token } | Role::Suspended { token, .. } => {
                let lease_remaining = self.shared.lease_remaining().unwrap_or_default();
                NomineeHealth::Leading { token, lease_remaining }
            }
            Role::Following { .. } => NomineeHealth::Following,
            Role::Leaving => NomineeHealth::Leaving,
            Role::Ended(reason) => NomineeHealth::Ended(reason),
            Role::Connecting | Role::Standing | Role::AwaitingLease { .. } | _ => {
                let lasted = self.leaderless.lasted(self.shared.clock.now());
                NomineeHealth::Leaderless { lasted }
            }
        };
        NominationHealth::new(&self.shared, nominee)
    }
}
