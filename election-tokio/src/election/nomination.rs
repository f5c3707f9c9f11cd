//! Nominations.

use core::fmt;
use core::time::Duration;

use election_core::NomineeId;
use election_core::election::Departure;
use tokio::time::timeout;
use zk_jute::Escaped;
use zk_session::SessionEnd;

use super::inner::{NominationEnded, NominationInner, WithdrawError};
use super::leadership::Leadership;
use super::position::Position;
use super::status::{EndReason, Role, Status};
use crate::updates::Updates;

/// Stands for election in the background, until it is withdrawn or dropped, its leadership is
/// resigned, or its policy ends it.
///
/// Dropping it withdraws: the client deletes the candidate as soon as a server is in reach, even
/// one that is still being created. Otherwise the candidate goes with the session.
#[must_use = "a nomination that is dropped withdraws"]
pub struct Nomination {
    inner: NominationInner,
    status: Updates<Status>,
}

impl fmt::Debug for Nomination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { role, .. } = self.status();
        let election = self.inner.facts.settings.site.path();
        f.debug_struct("Nomination")
            .field("election", &format_args!("{}", Escaped(election)))
            .field("role", &role)
            .finish_non_exhaustive()
    }
}

/// The steps that errors name.
const STAND: &str = "stand";
const WITHDRAW: &str = "withdraw";

impl Nomination {
    pub(super) const fn new(inner: NominationInner, status: Updates<Status>) -> Self {
        Self { inner, status }
    }

    pub(super) fn inner(&self) -> &NominationInner {
        &self.inner
    }

    /// Returns the id that the names of this nomination's candidates are made of, in formats that have ids. The last
    /// digits in a name may differ from it: they count the candidates, so that no two have one name.
    pub fn id(&self) -> NomineeId {
        self.inner.id
    }

    /// Returns the present status of the nomination.
    pub fn status(&self) -> Status {
        self.status.latest()
    }

    /// Returns the status, with its changes.
    pub fn updates(&self) -> Updates<Status> {
        self.status.clone()
    }

    /// Waits until this nominee leads. Returns at once if it does already.
    ///
    /// It may be called again after a leadership was lost: by the default policy the nominee stands
    /// again.
    ///
    /// Cancel safe: dropping the future changes nothing, and the nomination goes on.
    ///
    /// # Errors
    ///
    /// [`NominationEnded`], with the reason.
    pub async fn elected(&mut self) -> Result<Leadership, NominationEnded> {
        loop {
            if let Some(leadership) = self.try_elected()? {
                return Ok(leadership);
            }
            if self.status.next().await.is_none() {
                let reason = EndReason::ClientClosed(SessionEnd::Abandoned);
                return Err(self.inner.ended(STAND, reason));
            }
        }
    }

    /// Waits until this nominee leads, up to a bound. Returns `None` if it does not lead by then;
    /// the nomination goes on.
    ///
    /// Cancel safe, as [`Nomination::elected`].
    ///
    /// # Errors
    ///
    /// [`NominationEnded`], with the reason.
    pub async fn elected_within(
        &mut self,
        longest: Duration,
    ) -> Result<Option<Leadership>, NominationEnded> {
        match timeout(longest, self.elected()).await {
            Ok(elected) => elected.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Returns the leadership if this nominee leads now, without waiting. A suspended leader leads
    /// until its lease deadline.
    ///
    /// # Errors
    ///
    /// [`NominationEnded`], with the reason.
    pub fn try_elected(&mut self) -> Result<Option<Leadership>, NominationEnded> {
        match self.status.latest_and_update().role {
            Role::Ended(reason) => Err(self.inner.ended(STAND, reason)),
            Role::Leading { .. } | Role::Suspended { .. } => Ok(self
                .inner
                .facts
                .tenure()
                .map(|tenure| Leadership::new(self.inner.clone(), tenure, self.updates()))),
            Role::Connecting
            | Role::Standing
            | Role::Following { .. }
            | Role::AwaitingLease { .. }
            | Role::AwaitingLockDelay { .. }
            | Role::Leaving
            | _ => Ok(None),
        }
    }

    /// Returns how many candidates are ahead of this one, by its last knowledge. `None` if its
    /// present candidate has no place yet: while it connects for the first time, and between two
    /// candidates.
    ///
    /// Without a connection the last answer stays, and grows older.
    pub fn position(&self) -> Option<Position> {
        self.inner.facts.position()
    }

    /// Ends the nomination: resigns if it leads, withdraws otherwise. A leadership ends with the
    /// call. Then this waits until the candidate znode is gone; if the server is out of reach,
    /// until it is back or the session is over.
    ///
    /// Cancel safe: once polled, the nomination ends, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// [`WithdrawError::Unconfirmed`] if the client ended first. The znode may then remain for at
    /// most the session timeout, or, after [`Client::detach`](crate::Client::detach), for as long
    /// as the session goes on elsewhere. [`WithdrawError::AlreadyEnded`] if the nomination had
    /// ended already.
    pub async fn withdraw(self) -> Result<Departure, WithdrawError> {
        self.inner.recipe.withdraw();
        self.inner.withdrawn(WITHDRAW, self.status.clone()).await
    }
}

impl Drop for Nomination {
    fn drop(&mut self) {
        // Work that panics has not confirmed its end.
        if std::thread::panicking() {
            self.inner.end_uncleanly();
        }
        self.inner.recipe.withdraw();
    }
}
