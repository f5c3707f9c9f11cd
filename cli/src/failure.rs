//! What can go wrong.

mod advice;

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use election_tokio::{
    ConnectError, ElectionError, EndReason, Error, ErrorCode, ErrorKind, LockError, LockFailure,
    NominationError, SessionEnd,
};

use crate::args::LockFormat;
use crate::exit::Exit;

/// Why `zkelect` ends without having done its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Election(#[from] ElectionError),
    #[error("the chroot {0} does not exist on the server")]
    NoChroot(String),
    #[error("{0}")]
    Operation(#[from] Error),
    #[error("no answer within {}", humantime::format_duration(*.0))]
    NoAnswer(Duration),
    #[error("the nomination ended: {0}")]
    Nomination(EndReason),
    #[error("{0}")]
    Lock(#[from] LockError),
    #[error("a lock in the format {0} cannot be shared")]
    NotShared(LockFormat),
    #[error("{path} does not exist, and the access list (ACL) of {parent} forbids to create it")]
    Forbidden { parent: String, path: String },
    #[error("not elected within {}", humantime::format_duration(*.0))]
    NotElected(Duration),
    #[error(
        "standard input is a terminal, which COMMAND, in a process group of its own, cannot read"
    )]
    TerminalInput,
    #[error("what was held was lost, or given up, and COMMAND cannot be stopped")]
    OutOfReach,
    #[error("the events file {} cannot be opened: {error}", path.display())]
    EventsFile { path: PathBuf, error: io::Error },
    #[error("the password file {} cannot be read: {error}", path.display())]
    PasswordFile { path: PathBuf, error: io::Error },
    #[error("{} cannot be started: {error}", command.display())]
    Command { command: OsString, error: io::Error },
    #[error("{what}: {error}")]
    System { what: &'static str, error: io::Error },
    #[error("{0}")]
    Internal(&'static str),
    #[error("cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    #[error("nobody took over within {}", humantime::format_duration(*.0))]
    NoTakeOver(Duration),
}

impl Failure {
    /// For `map_err`.
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { what, error }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Connect(ConnectError::NoServer { .. })
            | Self::NoAnswer(_)
            | Self::NotElected(_)
            | Self::NoTakeOver(_) => Exit::NoServer,
            Self::Forbidden { .. } => Exit::NoPermission,
            Self::Connect(ConnectError::Randomness(_))
            | Self::Election(ElectionError::Randomness(_))
            | Self::Lock(LockError::Randomness(_))
            | Self::System { .. }
            | Self::OutOfReach
            | Self::PasswordFile { .. }
            | Self::Listen { .. } => Exit::System,
            Self::Connect(ConnectError::Ended(end))
            | Self::Nomination(EndReason::ClientClosed(end))
            | Self::Lock(LockError::ClientClosed(end))
                if is_authentication(*end) =>
            {
                Exit::NoPermission
            }
            Self::Connect(ConnectError::Ended(_))
            | Self::Nomination(EndReason::ClientClosed(_))
            | Self::Lock(LockError::ClientClosed(_))
            | Self::Internal(_) => Exit::Internal,
            Self::Nomination(_) | Self::Lock(LockError::Failed(_)) => match self.refusal() {
                Some(code) if is_permission(code) => Exit::NoPermission,
                _ => Exit::WrongSetUp,
            },
            Self::Connect(_)
            | Self::Election(_)
            | Self::Lock(_)
            | Self::NotShared(_)
            | Self::TerminalInput => Exit::Usage,
            Self::NoChroot(_) => Exit::WrongSetUp,
            Self::Operation(error) => match error.kind() {
                ErrorKind::Refused(code) if is_permission(code) => Exit::NoPermission,
                // Paths of arguments were looked at before: a server sent this name.
                ErrorKind::InvalidPath(_)
                | ErrorKind::Refused(_)
                | ErrorKind::Unsupported { .. } => Exit::WrongSetUp,
                _ => Exit::NoServer,
            },
            Self::EventsFile { .. } => Exit::EventsFile,
            Self::Command { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Exit::NotFound
            }
            Self::Command { .. } => Exit::NotExecutable,
        }
    }

    /// With what error code a server refused a contender.
    pub(crate) fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::Nomination(EndReason::Failed(NominationError::Rejected(code)))
            | Self::Lock(LockError::Failed(LockFailure::Rejected(code))) => {
                Some(ErrorCode::new(*code))
            }
            _ => None,
        }
    }
}

fn is_authentication(end: SessionEnd) -> bool {
    matches!(end, SessionEnd::AuthFailed(_) | SessionEnd::SaslFailed(_))
}

fn is_refused_identity(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::AUTH_FAILED | ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH)
}

fn is_permission(code: ErrorCode) -> bool {
    code == ErrorCode::NO_AUTH || is_refused_identity(code)
}
