//! Asking a contender to let go, and removing it if it does not.

use core::future::{Future as _, pending, poll_fn};
use core::pin::pin;
use core::task::Poll;

use bytes::Bytes;
use election_core::{Format, REVOKE_REQUEST, Revocation, Token, is_revoke_request};
use tokio::time::{Instant, timeout_at};
use zk_jute::OpCode;

use super::contenders::{Contender, Removal, Turn};
use super::error::LockLost;
use super::{Lock, LockGuard};
use crate::error::Error;
use crate::state::ConnectionState;

/// What became of a request to let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevokeRequest {
    /// It is at the contender's znode, written by this call or before. Whether the contender heeds it is
    /// its own affair.
    Made,
    /// The contender's znode is gone.
    Gone,
}

/// How a contender went that was to let go by a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Revoked {
    /// Before the deadline: it let go, was removed by another client, or ended with its session.
    LetGo,
    /// It was removed at the deadline.
    Removed,
}

/// Why a contender was not asked to let go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevokeError {
    /// In this format nothing is written to a contender: those of other libraries do not survive it, or
    /// do not expect it.
    #[error("nothing is to be written to contenders in {0:?}, so they cannot be asked to let go")]
    Format(Format),
    /// The contender's data is another one than it was when it was shown: look at it again, so that
    /// nothing is overwritten unseen.
    #[error("the contender's data was written meanwhile: look at the contenders again")]
    Changed,
    /// A request to the server failed.
    #[error(transparent)]
    Request(#[from] Error),
}

impl Contender {
    /// Whether it is asked to let go, by the data of its znode.
    pub fn is_revoke_requested(&self) -> bool {
        let version = election_core::Version::new(self.version.get());
        is_revoke_request(&self.data, version)
    }
}

impl Lock {
    /// Asks a contender, which [`Lock::contenders`] has shown, to let go. Its holder hears of it by
    /// [`LockGuard::revoke_requested`], and consents by releasing the lock; one that waits hears of it as
    /// soon as it holds.
    ///
    /// The request is what Curator's `Revoker` writes, in place of the contender's data. It is written to
    /// that znode alone, and only if its data is still what was shown.
    ///
    /// Cancel safe: the contender may be asked all the same.
    ///
    /// # Errors
    ///
    /// [`RevokeError`]. After a request that [may have happened](Error::may_have_happened) it may be
    /// called again.
    pub async fn request_revoke(
        &self,
        contender: &Contender,
    ) -> Result<RevokeRequest, RevokeError> {
        let format = self.options.format;
        if format.layout().revocation != Revocation::ByData {
            return Err(RevokeError::Format(format));
        }
        let path = self.path_of(contender);
        let is_it = |stat: &zk_jute::records::Stat| Token::new(stat.czxid.get()) == contender.token;
        loop {
            let (data, stat) = match self.client.get_data(&path).await {
                Err(error) if error.is_no_node() => return Ok(RevokeRequest::Gone),
                read => read?,
            };
            if !is_it(&stat) {
                return Ok(RevokeRequest::Gone);
            }
            if is_revoke_request(&data, election_core::Version::new(stat.version.get())) {
                return Ok(RevokeRequest::Made);
            }
            if stat.version != contender.version {
                return Err(RevokeError::Changed);
            }
            let request = Bytes::from_static(REVOKE_REQUEST);
            match self.client.set_data(&path, request, contender.version).await {
                Ok(stat) if is_it(&stat) => return Ok(RevokeRequest::Made),
                // By a znode that was created since under the same name.
                Ok(_) => return Ok(RevokeRequest::Gone),
                Err(error) if error.is_no_node() => return Ok(RevokeRequest::Gone),
                // Another client was faster: perhaps with the same request.
                Err(error) if error.is_bad_version() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Asks all that hold the lock to let go: those that it names. Of those that have gone meanwhile it
    /// names none.
    ///
    /// Cancel safe: some may be asked all the same.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::request_revoke`].
    pub async fn request_revoke_of_holders(&self) -> Result<Vec<Contender>, RevokeError> {
        let mut asked = Vec::new();
        for contender in self.contenders().await? {
            if contender.turn == Turn::Holds
                && self.request_revoke(&contender).await? == RevokeRequest::Made
            {
                asked.push(contender);
            }
        }
        Ok(asked)
    }

    /// Asks a contender to let go, waits until its znode is gone, and removes it at the deadline, as
    /// [`Lock::break_lock`] does: also where it could not be asked by then. Lost connections do not end
    /// the wait; while there is none, nothing is removed.
    ///
    /// Once it was asked, no znode can be hit that was created under the same name since: its data would
    /// have to be written as often.
    ///
    /// Cancel safe: the contender may be asked, and past the deadline be removed, all the same.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::request_revoke`], but for lost connections.
    pub async fn revoke_by(
        &self,
        contender: &Contender,
        deadline: Instant,
    ) -> Result<Revoked, RevokeError> {
        match timeout_at(deadline, self.let_go(contender)).await {
            Ok(let_go) => let_go.map(|()| Revoked::LetGo),
            Err(_) => self.removed(contender).await,
        }
    }

    /// Asks, and waits for the end of the znode.
    async fn let_go(&self, contender: &Contender) -> Result<(), RevokeError> {
        loop {
            let error = match self.request_revoke(contender).await {
                Ok(RevokeRequest::Gone) => return Ok(()),
                Ok(RevokeRequest::Made) => break,
                Err(RevokeError::Request(error)) => error,
                Err(refused) => return Err(refused),
            };
            self.connected_again(error).await?;
        }
        let path = self.path_of(contender);
        loop {
            let error = match self.client.get_data_and_watch(&path).await {
                Err(error) if error.is_no_node() => return Ok(()),
                Ok((_, stat, _)) if Token::new(stat.czxid.get()) != contender.token => {
                    return Ok(());
                }
                Ok((.., watch)) => {
                    // What it says, or that it is lost: the znode is read again.
                    let _ = watch.await;
                    continue;
                }
                Err(error) => error,
            };
            self.connected_again(error).await?;
        }
    }

    async fn removed(&self, contender: &Contender) -> Result<Revoked, RevokeError> {
        let mut gone = Revoked::LetGo;
        loop {
            match self.break_lock(contender).await {
                Ok(Removal::Removed) => return Ok(Revoked::Removed),
                Ok(Removal::Gone) => return Ok(gone),
                Err(error) => {
                    if error.operation() == OpCode::DELETE && error.may_have_happened() {
                        gone = Revoked::Removed;
                    }
                    self.connected_again(error).await?;
                }
            }
        }
    }

    /// Waits for a connection, where the want of one is what went wrong.
    async fn connected_again(&self, error: Error) -> Result<(), Error> {
        if !error.is_connection_loss() && !error.is_not_connected() {
            return Err(error);
        }
        let mut updates = self.client.connection_updates();
        let is_settled = |state: &ConnectionState| {
            matches!(
                state,
                ConnectionState::Connected { read_only: false, .. }
                    | ConnectionState::Closed { .. }
            )
        };
        match updates.wait_for(is_settled).await {
            Ok(ConnectionState::Connected { .. }) => Ok(()),
            _ => Err(error),
        }
    }
}

impl LockGuard {
    /// Waits until another client asks this holder to let go; at once if one has, also before the lock
    /// was acquired. To consent is to [release](LockGuard::release) the lock. Nothing forces the holder
    /// to, but the asker may remove its znode after a time ([`LockLost::Broken`]).
    ///
    /// Cancel safe: dropping the future changes nothing.
    ///
    /// # Errors
    ///
    /// Why the lock was lost, if it was before a client asked.
    pub async fn revoke_requested(&self) -> Result<(), LockLost> {
        let mut requests = self.requests();
        let mut requested = pin!(async {
            // Where no more are told of, the lock is lost.
            if requests.wait_for(|is_requested| *is_requested).await.is_err() {
                pending::<()>().await;
            }
        });
        let mut lost = pin!(self.lost());
        poll_fn(|cx| match lost.as_mut().poll(cx) {
            Poll::Ready(reason) => Poll::Ready(Err(reason)),
            Poll::Pending => requested.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// Whether another client asks this holder to let go, as far as is known here.
    pub fn is_revoke_requested(&self) -> bool {
        self.requests().latest()
    }
}
