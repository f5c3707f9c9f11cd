//! Revocation: asking a contender to release, and removing it if it does not.

use bytes::Bytes;
use election_core::Token;
use election_core::format::{Format, Revocation};
use election_core::lock::{REVOKE_REQUEST, is_revoke_request};
use tokio::time::{Instant, timeout_at};
use zk_jute::OpCode;

use super::HOLD;
use super::contenders::{Contender, Removal, Turn};
use super::error::GuardLost;
use super::{Lock, LockGuard};
use crate::Error;
use crate::error::Place;
use crate::state::ConnectionState;

/// The outcome of a request to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevokeRequest {
    /// The request is at the contender's znode, written by this call or before. The contender
    /// decides by itself.
    Made,
    /// The contender's znode is gone.
    Gone,
}

/// How a contender went that had to release by a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Revoked {
    /// Before the deadline: it released, was removed by another client, or ended with its session.
    LetGo,
    /// It was removed at the deadline.
    Removed,
}

/// The step that errors name.
const REVOKE: &str = "revoke";

/// Why a contender was not asked to release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevokeError {
    /// In this format contenders cannot be asked: those of other libraries would fail on the
    /// request, or do not expect it.
    #[error(
        "{at}: nothing is to be written to contenders in {format:?}, so they cannot be asked to release"
    )]
    Format {
        /// The recipe, its path and the step.
        at: Place,
        /// The format.
        format: Format,
    },
    /// The contender's data has changed since it was read. Read it again, so that nothing is
    /// overwritten unseen.
    #[error("{at}: the contender's data was written meanwhile: look at the contenders again")]
    Changed {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// A request to the server failed.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
}

impl Contender {
    /// Returns whether it is asked to release, by the data of its znode.
    pub fn is_revoke_requested(&self) -> bool {
        let version = election_core::Version::new(self.version.get());
        is_revoke_request(&self.data, version)
    }
}

impl Lock {
    /// Asks a contender of [`Lock::contenders`] to release. Its holder hears of it by
    /// [`LockGuard::revoke_requested`], and consents by releasing the lock. A contender that waits
    /// hears of it as soon as it holds.
    ///
    /// The request is that of Curator's `Revoker`, and replaces the contender's data. It is written
    /// only to that znode, and only if its data has not changed since it was read.
    ///
    /// Cancel safe: the contender may still be asked.
    ///
    /// # Errors
    ///
    /// [`RevokeError`]. After a request that [may have happened](Error::may_have_happened) it may
    /// be called again.
    pub async fn request_revoke(
        &self,
        contender: &Contender,
    ) -> Result<RevokeRequest, RevokeError> {
        let format = self.settings.options.format;
        if format.layout().revocation != Revocation::ByData {
            return Err(RevokeError::Format { at: self.place(REVOKE), format });
        }
        let failed = |error| RevokeError::Request { at: self.place(REVOKE), error };
        let path = self.path_of(contender);
        let is_it = |stat: &zk_jute::records::Stat| Token::new(stat.czxid.get()) == contender.token;
        loop {
            let (data, stat) = match self.client().get_data(&path).await {
                Err(error) if error.is_no_node() => return Ok(RevokeRequest::Gone),
                read => read.map_err(failed)?,
            };
            if !is_it(&stat) {
                return Ok(RevokeRequest::Gone);
            }
            if is_revoke_request(&data, election_core::Version::new(stat.version.get())) {
                return Ok(RevokeRequest::Made);
            }
            if stat.version != contender.version {
                return Err(RevokeError::Changed { at: self.place(REVOKE) });
            }
            let request = Bytes::from_static(REVOKE_REQUEST);
            match self.client().set_data(&path, request, contender.version).await {
                Ok(stat) if is_it(&stat) => return Ok(RevokeRequest::Made),
                // A znode was created since under the same name.
                Ok(_) => return Ok(RevokeRequest::Gone),
                Err(error) if error.is_no_node() => return Ok(RevokeRequest::Gone),
                // Another client was faster, perhaps with the same request.
                Err(error) if error.is_bad_version() => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Asks all holders of the lock to release, and returns them. It leaves out holders that have
    /// gone meanwhile.
    ///
    /// Cancel safe: some may still be asked.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::request_revoke`].
    pub async fn request_revoke_of_holders(&self) -> Result<Vec<Contender>, RevokeError> {
        let mut asked = Vec::new();
        let contenders = self.contenders().await;
        let failed = |error| RevokeError::Request { at: self.place(REVOKE), error };
        for contender in contenders.map_err(failed)? {
            if contender.turn == Turn::Holds
                && self.request_revoke(&contender).await? == RevokeRequest::Made
            {
                asked.push(contender);
            }
        }
        Ok(asked)
    }

    /// Asks a contender to release, waits until its znode is gone, and removes it at the deadline,
    /// like [`Lock::break_lock`], even if it could not be asked by then. Lost connections do not
    /// end the wait. Without a connection nothing is removed.
    ///
    /// Once the contender was asked, this cannot hit a znode that was created under the same name
    /// since: its data would have to be written as often.
    ///
    /// Cancel safe: the contender may still be asked, and removed after the deadline.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::request_revoke`], except lost connections.
    pub async fn revoke_by(
        &self,
        contender: &Contender,
        deadline: Instant,
    ) -> Result<Revoked, RevokeError> {
        match timeout_at(deadline, self.revoke(contender)).await {
            Ok(let_go) => let_go.map(|()| Revoked::LetGo),
            Err(_) => self.removed(contender).await,
        }
    }

    /// Asks a contender to release, and waits until its znode is gone: released, removed by another
    /// client, or ended with its session. Lost connections do not end the wait; a holder that does
    /// not heed the request does not either, so bound it, or see [`Lock::revoke_by`].
    ///
    /// Cancel safe: the contender may still be asked.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::request_revoke`], except lost connections.
    pub async fn revoke(&self, contender: &Contender) -> Result<(), RevokeError> {
        loop {
            let error = match self.request_revoke(contender).await {
                Ok(RevokeRequest::Gone) => return Ok(()),
                Ok(RevokeRequest::Made) => break,
                Err(RevokeError::Request { error, .. }) => error,
                Err(refused) => return Err(refused),
            };
            self.connected_again(error).await?;
        }
        let path = self.path_of(contender);
        loop {
            let error = match self.client().get_data_and_watch(&path).await {
                Err(error) if error.is_no_node() => return Ok(()),
                Ok((_, stat, _)) if Token::new(stat.czxid.get()) != contender.token => {
                    return Ok(());
                }
                Ok((.., watch)) => {
                    // It may fire or be lost: read the znode again.
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

    /// Waits for a connection, if the error was the lack of one.
    async fn connected_again(&self, error: Error) -> Result<(), RevokeError> {
        let failed = |error| RevokeError::Request { at: self.place(REVOKE), error };
        if !error.is_connection_loss() && !error.is_not_connected() {
            return Err(failed(error));
        }
        let mut updates = self.client().connection_updates();
        let is_settled = |state: &ConnectionState| {
            matches!(
                state,
                ConnectionState::Connected { read_only: false, .. }
                    | ConnectionState::Closed { .. }
            )
        };
        match updates.wait_for(is_settled).await {
            Ok(ConnectionState::Connected { .. }) => Ok(()),
            _ => Err(failed(error)),
        }
    }
}

impl LockGuard {
    /// Waits until another client asks this holder to release; at once if one has, even before the
    /// lock was acquired. To consent, [release](LockGuard::release) the lock. Nothing forces the
    /// holder, but the other client may remove its znode after a time
    /// ([`LockLost::Broken`](super::LockLost::Broken)).
    ///
    /// Cancel safe: dropping the future changes nothing.
    ///
    /// # Errors
    ///
    /// [`GuardLost`], if the lock was lost before a client asked.
    pub async fn revoke_requested(&self) -> Result<(), GuardLost> {
        let asked = self.held.tenure.until_asked().await;
        asked.map_err(|lost| GuardLost { at: self.place(HOLD), lost })
    }

    /// Returns whether another client asks this holder to release, as far as is known here.
    pub fn is_revoke_requested(&self) -> bool {
        self.held.tenure.is_asked()
    }
}
