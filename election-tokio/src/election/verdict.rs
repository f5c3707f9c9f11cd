//! Whether a token's leader still leads, as a third party asks.

use core::cmp::Ordering;

use election_core::Token;
use election_core::election::ObserverFailure;
use zk_jute::SessionId;

use super::observation::{Follow, ForeignZnode, Observation};
use super::{Election, ElectionError};
use crate::error::Place;

/// The verdict about a token's leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It led at some moment between the call and the reply, or is the first and about to lead: no
    /// znode shows when its nominee has proved its lease.
    Leads,
    /// Its candidate is the first, and no nominee leads with it, as far as can be seen: see
    /// [`Observation::Blocked`].
    Blocked {
        /// The znode in the way.
        by: ForeignZnode,
    },
    /// It is that of the first candidate, which is not ephemeral: no nominee leads by such a znode.
    NotEphemeral,
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

/// The step that errors name.
const OBSERVE: &str = "observe";

/// Why it is not known whether a token's leader leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// This election cannot be observed.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The first candidate may not be read, or its name is longer than 64 bytes.
    #[error("{at}: the candidate that leads may not be read by this client")]
    Hidden {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The observer failed in a way that trying again does not repair.
    #[error("{at}: {failure}")]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: ObserverFailure,
    },
    /// The client ended first.
    #[error("{at}: the client was closed")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
    },
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
        let seen = self.first_observation().await?;
        let Some(first) = seen.first() else {
            return Ok(Verdict::Over { leader: None });
        };
        Ok(match token.cmp(&first.token) {
            Ordering::Less => Verdict::Over { leader: Some(first.token) },
            Ordering::Greater => Verdict::NotYet { leader: first.token },
            Ordering::Equal if first.session == SessionId::NONE => Verdict::NotEphemeral,
            Ordering::Equal => match seen {
                Observation::Blocked { by, .. } => Verdict::Blocked { by },
                _ => Verdict::Leads,
            },
        })
    }

    /// Returns the token of the first candidate at some moment between the call and the reply.
    pub(super) async fn first_token(&self) -> Result<Option<Token>, VerifyError> {
        Ok(self.first_observation().await?.first().map(|first| first.token))
    }

    /// Observes the first candidate, if there is one, at some moment between the call and the reply.
    async fn first_observation(&self) -> Result<Observation, VerifyError> {
        let mut observer = self.observe(Follow::Leader)?;
        let seen = observer.wait_for(|seen| *seen != Observation::Unknown).await;
        let at = || self.place(OBSERVE);
        match seen.map_err(|_| VerifyError::ClientClosed { at: at() })? {
            Observation::Hidden => Err(VerifyError::Hidden { at: at() }),
            Observation::Failed(failure) => Err(VerifyError::Failed { at: at(), failure }),
            Observation::Unknown => Err(VerifyError::ClientClosed { at: at() }),
            seen @ (Observation::Led(_) | Observation::Blocked { .. } | Observation::Vacant) => {
                Ok(seen)
            }
        }
    }
}
