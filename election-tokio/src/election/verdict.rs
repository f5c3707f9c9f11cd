//! Whether a token still leads, asked by a third party.

use election_core::{ObserverFailure, Token};

use super::observation::{Follow, Observation};
use super::{Election, ElectionError};

/// Whether a token leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It did at some moment between the call and the reply.
    Leads,
    /// It does not, and will not any more: a candidate with a greater token is the first, or none stands.
    Over {
        /// The token of the first candidate.
        leader: Option<Token>,
    },
    /// It does not yet: a candidate with a smaller token is the first. Whether one with this token stands
    /// at all is not said.
    NotYet {
        /// The token of the first candidate.
        leader: Token,
    },
}

/// Why it is not known whether a token leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The election cannot be asked about.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The first candidate may not be read, or its name is longer than 64 bytes.
    #[error("the candidate that leads may not be read by this client")]
    Hidden,
    /// Something that asking again does not repair.
    #[error(transparent)]
    Failed(#[from] ObserverFailure),
    /// The client ended first.
    #[error("the client was closed")]
    ClientClosed,
}

impl Election {
    /// Asks whether a leader's token still leads, for a resource that is handed tokens.
    ///
    /// A quorum commits something on this connection first, so that the list that follows shows all that
    /// had been committed when this was called. A `sync` would not do: a ZooKeeper leader that was deposed
    /// unawares answers it. Even so it is the past by the time that the answer is there: a resource
    /// that keeps the greatest token it has seen, and refuses smaller ones, needs no such question.
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

    /// The token of the first candidate at some moment between the call and the reply.
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
