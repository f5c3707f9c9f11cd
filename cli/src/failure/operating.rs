//! Failures of an operator's commands on an election.

use core::time::Duration;

use election_tokio::ErrorCode;
use election_tokio::election::{EndError, HandOverError, ObserverFailure, VerifyError};
use election_tokio::error::Place;
use election_tokio::lock::RevokeError;

use crate::exit::Exit;

/// Makes the error of an observer of the election at a path that has failed.
pub(crate) fn observer_failed(path: &str, failure: ObserverFailure) -> VerifyError {
    VerifyError::Failed { at: Place::new("election", path, "observe"), failure }
}

/// Makes the error of an observer of the election at a path that has ended.
pub(crate) fn observer_ended(path: &str) -> VerifyError {
    VerifyError::ClientClosed { at: Place::new("election", path, "observe") }
}

/// Why an election could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperatingFailure {
    #[error("{0}")]
    Verify(#[from] VerifyError),
    #[error("{who} leads still after {}", humantime::format_duration(*within))]
    StillLeads { who: String, within: Duration },
    #[error("{contender} is still at {path} after {}", humantime::format_duration(*within))]
    StillThere { contender: String, path: String, within: Duration },
    #[error(
        "several candidates are called {id}, such as those with the tokens {} and {}",
        tokens[0],
        tokens[1]
    )]
    Ambiguous { id: String, tokens: [i64; 2] },
    #[error("{0}")]
    End(#[from] EndError),
    #[error("{0}")]
    HandOver(#[from] HandOverError),
    #[error("{0}")]
    Revoke(RevokeError),
    #[error("{who} has gone, and cannot lead")]
    CandidateGone { who: String },
    #[error("{to} does not lead after {}: ahead of it stand {ahead}", humantime::format_duration(*within))]
    NotHandedOver { to: String, within: Duration, ahead: String },
}

impl OperatingFailure {
    /// Returns the exit code, also for refusals other than missing permission.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Verify(VerifyError::Hidden { .. }) => Exit::NoPermission,
            Self::Verify(VerifyError::Failed { .. }) | Self::End(EndError::OtherChild { .. }) => {
                Exit::WrongSetUp
            }
            Self::Verify(VerifyError::ClientClosed { .. }) => Exit::Internal,
            Self::StillLeads { .. }
            | Self::StillThere { .. }
            | Self::CandidateGone { .. }
            | Self::NotHandedOver { .. } => Exit::Busy(1),
            Self::Verify(_)
            | Self::Ambiguous { .. }
            | Self::Revoke(RevokeError::Format { .. })
            | Self::End(EndError::ForeignFormat { .. })
            | Self::HandOver(HandOverError::ForeignFormat { .. }) => Exit::Usage,
            Self::HandOver(_) => Exit::Internal,
            Self::End(_) | Self::Revoke(_) => Exit::InDoubt,
        }
    }

    /// Returns the error code with which a server refused.
    pub(super) fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::Verify(VerifyError::Failed {
                failure: ObserverFailure::Rejected(code), ..
            }) => Some(ErrorCode::new(*code)),
            Self::End(EndError::Transaction { error, .. }) => error.code(),
            _ => None,
        }
    }

    /// Returns advice, if there is any.
    pub(super) fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Verify(VerifyError::Hidden { .. }) => {
                "the access list (ACL) of the candidate must let this client read it; a candidate with a \
                 name above 64 bytes blocks the election (`zkelect list` shows it): evict it"
            }
            Self::StillLeads { .. } => {
                "it may still do it; wait longer with --within, end its process, or remove its candidate by \
                 `zkelect evict`, which does not ask"
            }
            Self::StillThere { .. } => {
                "it may not heed requests (`zkelect lock` does with --revocable), or its work has not ended yet: \
                 wait longer with --within, end its process, or remove its znode with --break, which does not ask"
            }
            Self::CandidateGone { .. } => {
                "the leader leads on (`zkelect list` shows which, and which others stand): name another candidate, \
                 or let the next one lead, whichever that is, by `zkelect step-down`"
            }
            Self::NotHandedOver { .. } => {
                "the first of them leads on: it may not heed requests (`zkelect run` does, but for \
                 --ignore-step-down), or its work has not ended yet; those between that the leader cannot wake look once a minute: wait longer \
                 with --within, or end those that do not give way"
            }
            Self::HandOver(HandOverError::ForeignFormat { .. }) => {
                "ask the leader to let the next one lead, whichever that is: `zkelect step-down`"
            }
            Self::Ambiguous { .. } => "say which by --token; `zkelect list` shows all of them",
            Self::End(EndError::ForeignFormat { .. }) => {
                "end the processes that stand there, or evict them one by one by `zkelect evict`"
            }
            Self::End(EndError::OtherChild { .. }) => {
                "delete that child if it is not needed (`deleteall` in zkCli.sh), and do it again"
            }
            Self::End(EndError::CandidatesKeepComing { .. }) => {
                "find out which processes stand there (`zkelect list`), end them, and do it again"
            }
            Self::Revoke(RevokeError::Format { .. }) => {
                "end its process, or remove its znode with --break, which does not ask"
            }
            Self::End(_) | Self::Revoke(_) => "do it again: it may be repeated",
            Self::Verify(_) | Self::HandOver(_) => return None,
        })
    }
}
