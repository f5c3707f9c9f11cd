//! The nomination of `run`, if there is one.

use core::future::pending;
use core::time::Duration;

use election_tokio::Updates;
use election_tokio::election::{EndReason, Nomination, Status, WithdrawError};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// The nomination, if there is one.
pub(super) enum Candidacy {
    Standing {
        nomination: Nomination,
        status: Updates<Status>,
    },
    /// The nominee does not stand.
    Aside,
    /// It failed while it withdrew.
    Ended(EndReason),
}

impl Candidacy {
    /// Waits for a change of the status.
    ///
    /// Cancel safe: the last status stands, and the next look finds it.
    pub(super) async fn changed(&mut self) {
        if let Self::Standing { status, .. } = self
            && status.next().await.is_some()
        {
            return;
        }
        pending::<()>().await;
    }

    /// Withdraws within a time, if there is something to withdraw.
    pub(super) async fn leave(self, bound: Duration) -> Result<Withdrawal, Elapsed> {
        match self {
            Self::Standing { nomination, .. } => {
                Ok(match timeout(bound, nomination.withdraw()).await? {
                    Ok(_) => Withdrawal::Now,
                    Err(WithdrawError::AlreadyEnded { reason, .. }) => Withdrawal::Before(reason),
                    Err(error) => Withdrawal::Unconfirmed(error),
                })
            }
            // The end of the session confirms what no server has confirmed yet.
            Self::Aside => Ok(Withdrawal::Now),
            Self::Ended(reason) => Ok(Withdrawal::Before(reason)),
        }
    }
}

/// The end of a nomination that was withdrawn.
pub(super) enum Withdrawal {
    Now,
    /// It had ended before.
    Before(EndReason),
    Unconfirmed(WithdrawError),
}
