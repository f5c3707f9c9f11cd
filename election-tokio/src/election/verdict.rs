//! Whether a token's leader still leads, as a third party asks.

use election_core::{ObserverFailure, Token};

use super::observation::{Follow, Observation};
use super::{Election, ElectionError};

/// The verdict about a token's leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It led at some moment between the call and the reply.
    Leads,
    /// It does not lead, and never will again: a candidate with a greater token is the first, or
    /// none stands.
    Over {
        /// The token of the first candidate.
        leader: Option<Token>,
    },
    /// It does not lead yet: a candidate with a smaller token is the first. There may be no
    /// candidate with this token at all.
    NotYet {
        /// The token of the first candidate.
        leader: Token,
    },
}

/// Why it is not known whether a token's leader leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// This election cannot be observed.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The first candidate may not be read, or its name is longer than 64 bytes.
    #[error("the candidate that leads may not be read by this client")]
    Hidden,
    /// The observer failed in a way that trying again does not repair.
    #[error(transparent)]
    Failed(#[from] ObserverFailure),
    /// The client ended first.
    #[error("the client was closed")]
    ClientClosed,
}

impl Election {
    /// Asks whether a token's leader still leads, for a resource that is handed tokens.
    ///
    /// First a quorum commits something on this connection. So the list that follows shows
    /// everything that had been committed when this was called. A `sync` would not do, because a
    /// ZooKeeper leader that was deposed unawares answers it. Even so the answer belongs to the
    /// past when it arrives. A resource that keeps the greatest token it has seen, and refuses
    /// smaller ones, needs no such question.
    ///
    /// Without a connection this waits for one. Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`VerifyError`]: nothing is known.
    pub async fn verify(&self, token: Token) -> Result<Verdict, VerifyError> {
        let Some(leader) = self.first_token().await? else {
            return Ok(Verdict::Over { leader: None });
        };
        Ok(match token.cmp(&leader) {
            core::cmp::Ordering::Equal => Verdict::Leads,
            core::cmp::Ordering::Less => Verdict::Over { leader: Some(leader) },
            core::cmp::Ordering::Greater => Verdict::NotYet { leader },
        })
    }

    /// Returns the token of the first candidate at some moment between the call and the reply.
    pub(super) async fn first_token(&self) -> Result<Option<Token>, VerifyError> {
        let mut observer = self.observe(Follow::Leader)?;
        let seen = observer.wait_for(|seen| *seen != Observation::Unknown).await;
        match seen.map_err(|_| VerifyError::ClientClosed)? {
            Observation::Led(leader) => Ok(Some(leader.token)),
            Observation::Vacant => Ok(None),
            Observation::Hidden => Err(VerifyError::Hidden),
            Observation::Failed(failure) => Err(failure.into()),
            Observation::Unknown => Err(VerifyError::ClientClosed),
        }
    }
}
