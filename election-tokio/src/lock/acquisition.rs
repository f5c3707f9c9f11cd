//! An acquisition: a contender, from standing in the queue to its end.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use election_core::NomineeId;
use election_core::election::Departure;
use election_core::format::Recovery;
use election_core::lock::{LockEnd, LockFailure};
use election_session::Site;
use futures_core::Stream as _;
use zk_session::SessionEnd;

use super::contending::{Contending, Refusal};
use super::error::{LockError, NotDowngraded, ReleaseError};
use super::face::{LockFace, ShownContender};
use crate::client::Client;
use crate::error::Place;
use crate::error::lost::LockLost;
use crate::held::Tenure;
use crate::standing::{RecipeHandle, StandingRecipe};
use crate::updates::Updates;

/// The step of an acquisition, in errors.
pub(crate) const ACQUIRE: &str = "acquire";
pub(crate) const HOLD: &str = "hold";
pub(crate) const RELEASE: &str = "release";

/// A contender. Dropping it gives up the place in the queue, or the holding, in the background.
#[derive(Debug)]
pub(crate) struct Acquisition {
    pub(crate) recipe: StandingRecipe,
    shown: Updates<ShownContender>,
}

/// The outcome of an acquisition.
enum Outcome {
    Held(Arc<Tenure<LockLost>>),
    NotAcquired,
    /// The holding was lost.
    Lost,
    Refused(Box<Refusal>),
    Failed(LockFailure),
    ClientEnded(SessionEnd),
}

/// Stands with one contender after another, until one holds or has given up; then returns `None`.
/// Polled after that, it begins anew. Cancel safe.
///
/// It is no `async fn`: there may be thousands of waiters, and a future of nested ones holds each
/// argument and each result several times.
pub(crate) struct Acquiring<'l, F> {
    client: &'l Client,
    pub(crate) site: &'l Arc<Site>,
    /// Makes a contender with this id.
    contender: F,
    present: Option<Acquisition>,
}

impl<'l, C, F> Acquiring<'l, F>
where
    C: Contending,
    F: Fn(NomineeId) -> Result<C, LockError>,
{
    pub(crate) const fn new(client: &'l Client, site: &'l Arc<Site>, contender: F) -> Self {
        Self { client, site, contender, present: None }
    }

    fn place(&self) -> Place {
        Place::new(C::RECIPE, self.site.path(), ACQUIRE)
    }

    fn begin(&self) -> Result<Acquisition, LockError> {
        let Self { client, site, contender, .. } = self;
        let failed = |error| LockError::Randomness { at: self.place(), error };
        let id = client.shared().ids.nominee().map_err(failed)?;
        Acquisition::begin(client, Arc::clone(site), contender(id)?)
            .ok_or_else(|| LockError::AlreadyContending { path: site.path().to_owned() })
    }
}

impl<C, F> Future for Acquiring<'_, F>
where
    C: Contending,
    F: Fn(NomineeId) -> Result<C, LockError> + Unpin,
{
    type Output = Result<Option<(Acquisition, Arc<Tenure<LockLost>>)>, LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut acquisition = match self.present.take() {
                Some(present) => present,
                None => self.begin()?,
            };
            return Poll::Ready(match acquisition.poll_outcome(cx) {
                Poll::Pending => {
                    self.present = Some(acquisition);
                    return Poll::Pending;
                }
                Poll::Ready(Outcome::Held(tenure)) => Ok(Some((acquisition, tenure))),
                Poll::Ready(Outcome::NotAcquired) => Ok(None),
                // The user was not told yet that it is held.
                Poll::Ready(Outcome::Lost) => continue,
                Poll::Ready(Outcome::Refused(refusal)) => {
                    let Refusal { other, format } = *refusal;
                    let path = self.site.path().to_owned();
                    Err(LockError::OtherFormat { path, other, format })
                }
                Poll::Ready(Outcome::Failed(failure)) => {
                    Err(LockError::Failed { at: self.place(), failure })
                }
                Poll::Ready(Outcome::ClientEnded(end)) => {
                    Err(LockError::ClientClosed { at: self.place(), end })
                }
            });
        }
    }
}

impl Acquisition {
    /// Begins; `None` if the format has no ids, and the client has a contender at the node.
    fn begin<C: Contending>(client: &Client, site: Arc<Site>, contender: C) -> Option<Self> {
        let (face, shown) = LockFace::new(client.shared().clock.clone(), Arc::clone(&site));
        let recipe = match contender.recovery() {
            Recovery::Id => RecipeHandle::stand(client, site, contender, face),
            Recovery::SessionInName | Recovery::Owner => {
                RecipeHandle::stand_alone(client, site, contender, face)?
            }
        };
        Some(Self { recipe: recipe.into(), shown: Updates::new(shown) })
    }

    /// Waits until it holds or is over.
    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            let shown = match Pin::new(&mut self.shown).poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => ShownContender::ClientEnded(SessionEnd::Abandoned),
                Poll::Ready(Some(shown)) => shown,
            };
            return Poll::Ready(match shown {
                ShownContender::Contending => continue,
                ShownContender::Held(tenure) | ShownContender::NotDowngraded(tenure, _) => {
                    Outcome::Held(tenure)
                }
                ShownContender::Ended(LockEnd::NotAcquired(..) | LockEnd::Released(_)) => {
                    Outcome::NotAcquired
                }
                ShownContender::Ended(LockEnd::Lost(_)) => Outcome::Lost,
                ShownContender::Ended(LockEnd::Failed(failure)) => Outcome::Failed(failure),
                ShownContender::Refused(refusal) => Outcome::Refused(refusal),
                ShownContender::ClientEnded(end) => Outcome::ClientEnded(end),
            });
        }
    }

    /// Lets a writer continue as a reader, and waits for that: the reader has another tenure.
    /// Cancel safe: the writer may still become one.
    pub(super) async fn downgraded(
        &mut self,
        tenure: &Arc<Tenure<LockLost>>,
    ) -> Result<Arc<Tenure<LockLost>>, NotDowngraded> {
        // Earlier reports do not count from here on.
        self.shown.latest_and_update();
        let asked = self.recipe.with(|hub, now, key| {
            let asked = hub.recipe_mut(key).map(election_core::lock::Lock::downgrade);
            if let Some(Ok(())) = asked {
                // The machine does it at its next event.
                hub.host.set_deadline(key, Some(now));
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
                Some(ShownContender::NotDowngraded(_, failure)) => {
                    return Err(NotDowngraded::Failed(failure));
                }
                Some(ShownContender::Held(next)) if !Arc::ptr_eq(&next, tenure) => return Ok(next),
                Some(ShownContender::Contending | ShownContender::Held(_)) => {}
                Some(
                    ShownContender::Ended(_)
                    | ShownContender::Refused(_)
                    | ShownContender::ClientEnded(_),
                )
                | None => {
                    return Err(NotDowngraded::Lost(tenure.until_lost().await));
                }
            }
        }
    }

    /// Waits for the end of a contender that its holder releases. Cancel safe.
    pub(crate) async fn released(&mut self, at: Place) -> Result<Departure, ReleaseError> {
        let lost = |lost, at| Err(ReleaseError::AlreadyLost { at, lost });
        let mut shown = self.shown.latest_and_update();
        loop {
            match shown {
                ShownContender::Contending
                | ShownContender::Held(_)
                | ShownContender::NotDowngraded(..) => {}
                ShownContender::Ended(
                    LockEnd::Released(departure) | LockEnd::NotAcquired(_, departure),
                ) => {
                    return Ok(departure);
                }
                ShownContender::Ended(LockEnd::Lost(cause)) => {
                    return lost(LockLost::of_cause(cause), at);
                }
                ShownContender::Ended(LockEnd::Failed(failure)) => {
                    return lost(LockLost::Failed(failure), at);
                }
                // It has not held.
                ShownContender::Refused(_) => {
                    return lost(LockLost::Failed(LockFailure::OtherFormat), at);
                }
                ShownContender::ClientEnded(SessionEnd::Closed | SessionEnd::Expired(_)) => {
                    return Ok(Departure::WithSession);
                }
                ShownContender::ClientEnded(end) => {
                    return Err(ReleaseError::Unconfirmed { at, end });
                }
            }
            let Some(next) = self.shown.next().await else {
                return Err(ReleaseError::Unconfirmed { at, end: SessionEnd::Abandoned });
            };
            shown = next;
        }
    }
}
