//! An acquisition: a contender, from standing in the queue to its end.

use std::sync::Arc;

use election_core::{Departure, LockEnd, NomineeId, Recovery};
use election_session::{RecipeKey, Site};
use zk_session::SessionEnd;

use super::contending::Contending;
use super::error::{LockError, LockLost, NotDowngraded, ReleaseError};
use super::face::{LockFace, Showing, Shown};
use crate::client::Client;
use crate::held::Tenure;
use crate::hub::Seat;
use crate::site::random;
use crate::updates::Updates;

/// A contender. Dropping it gives up the place in the queue, or the holding, in the background.
#[derive(Debug)]
pub(crate) struct Acquisition {
    pub(crate) client: Client,
    key: RecipeKey,
    shown: Updates<Shown>,
    /// Whether another client asks this contender to release.
    pub(super) requests: Updates<bool>,
}

/// The outcome of an acquisition.
enum Outcome {
    Held(Arc<Tenure<LockLost>>),
    NotAcquired,
    /// The holding was lost.
    Lost,
    Failed(LockError),
}

impl Acquisition {
    /// Stands with a contender until it holds, or has given up; then returns `None`. Cancel safe.
    pub(crate) async fn complete<C: Contending>(
        client: &Client,
        site: &Arc<Site>,
        contender: impl Fn(NomineeId) -> Result<C, LockError>,
    ) -> Result<Option<(Self, Arc<Tenure<LockLost>>)>, LockError> {
        loop {
            let id = NomineeId::from_bytes(random().map_err(LockError::Randomness)?);
            let mut acquisition = Self::begin(client, Arc::clone(site), contender(id)?)
                .ok_or_else(|| LockError::AlreadyContending { path: site.path().to_owned() })?;
            match acquisition.outcome().await {
                Outcome::Held(tenure) => return Ok(Some((acquisition, tenure))),
                Outcome::NotAcquired => return Ok(None),
                // The user was not told yet that it is held.
                Outcome::Lost => {}
                Outcome::Failed(error) => return Err(error),
            }
        }
    }

    /// Begins; `None` if the format has no ids, and the client has a contender at the node.
    fn begin<C: Contending>(client: &Client, site: Arc<Site>, contender: C) -> Option<Self> {
        let shared = client.shared();
        let recovery = contender.recovery();
        let (face, Showing { shown, requests }) =
            LockFace::new(shared.clock.clone(), Arc::clone(&site));
        let seat = <dyn Seat>::new(contender, face);
        let key = match recovery {
            Recovery::Id => shared.with(|hub, now| hub.stand(now, seat, site)),
            Recovery::SessionInName | Recovery::Owner => {
                shared.with(|hub, now| hub.stand_alone(now, seat, site))?
            }
        };
        let (shown, requests) = (Updates::new(shown), Updates::new(requests));
        Some(Self { client: client.clone(), key, shown, requests })
    }

    /// Waits until it holds or is over. Cancel safe.
    async fn outcome(&mut self) -> Outcome {
        let mut shown = self.shown.latest_and_update();
        loop {
            match shown {
                Shown::Contending => {}
                Shown::Held(tenure) | Shown::NotDowngraded(tenure, _) => {
                    return Outcome::Held(tenure);
                }
                Shown::Ended(LockEnd::NotAcquired(..) | LockEnd::Released(_)) => {
                    return Outcome::NotAcquired;
                }
                Shown::Ended(LockEnd::Lost(_)) => return Outcome::Lost,
                Shown::Ended(LockEnd::Failed(failure)) => {
                    return Outcome::Failed(LockError::Failed(failure));
                }
                Shown::ClientEnded(end) => return Outcome::Failed(LockError::ClientClosed(end)),
            }
            let Some(next) = self.shown.next().await else {
                return Outcome::Failed(LockError::ClientClosed(SessionEnd::Abandoned));
            };
            shown = next;
        }
    }

    pub(crate) fn withdraw(&self) {
        self.client.shared().with(|hub, now| hub.host.withdraw(now, self.key));
    }

    /// Lets a writer continue as a reader, and waits for that: the reader has another tenure.
    /// Cancel safe: the writer may still become one.
    pub(super) async fn downgraded(
        &mut self,
        tenure: &Arc<Tenure<LockLost>>,
    ) -> Result<Arc<Tenure<LockLost>>, NotDowngraded> {
        // Earlier reports do not count from here on.
        self.shown.latest_and_update();
        let asked = self.client.shared().with(|hub, now| {
            let asked = hub.recipe_mut(self.key).map(election_core::Lock::downgrade);
            if let Some(Ok(())) = asked {
                // The machine does it at its next event.
                hub.host.set_deadline(self.key, Some(now));
            }
            asked
        });
        match asked {
            Some(Ok(())) => {}
            Some(Err(refused)) => return Err(NotDowngraded::of(refused, tenure.lost())),
            None => return Err(NotDowngraded::Lost(tenure.until_lost().await)),
        }
        loop {
            match self.shown.next().await {
                Some(Shown::NotDowngraded(_, failure)) => {
                    return Err(NotDowngraded::Failed(failure));
                }
                Some(Shown::Held(next)) if !Arc::ptr_eq(&next, tenure) => return Ok(next),
                Some(Shown::Contending | Shown::Held(_)) => {}
                Some(Shown::Ended(_) | Shown::ClientEnded(_)) | None => {
                    return Err(NotDowngraded::Lost(tenure.until_lost().await));
                }
            }
        }
    }

    /// Waits for the end of a contender that was told to end. Cancel safe.
    pub(crate) async fn released(&mut self) -> Result<Departure, ReleaseError> {
        let mut shown = self.shown.latest_and_update();
        loop {
            match shown {
                Shown::Contending | Shown::Held(_) | Shown::NotDowngraded(..) => {}
                Shown::Ended(LockEnd::Released(departure) | LockEnd::NotAcquired(_, departure)) => {
                    return Ok(departure);
                }
                Shown::Ended(LockEnd::Lost(cause)) => {
                    return Err(ReleaseError::AlreadyLost(LockLost::of_cause(cause)));
                }
                Shown::Ended(LockEnd::Failed(failure)) => {
                    return Err(ReleaseError::AlreadyLost(LockLost::Failed(failure)));
                }
                Shown::ClientEnded(SessionEnd::Closed | SessionEnd::Expired(_)) => {
                    return Ok(Departure::WithSession);
                }
                Shown::ClientEnded(end) => return Err(ReleaseError::Unconfirmed(end)),
            }
            let Some(next) = self.shown.next().await else {
                return Err(ReleaseError::Unconfirmed(SessionEnd::Abandoned));
            };
            shown = next;
        }
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        self.withdraw();
    }
}
