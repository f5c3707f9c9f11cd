//! Failures of `zkelect`.

mod advice;
mod operating;
mod recipe_advice;
mod slots;

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use election_tokio::barrier::{BarrierError, BarrierFailure, EnterError};
use election_tokio::counter::{CounterError, CounterFailure};
use election_tokio::election::{
    ElectionError, EndError, EndReason, HandOverError, NominationEnded, NominationError,
    StepDownRequestError, VerifyError,
};
use election_tokio::error::PathError;
use election_tokio::group::{MemberFailure, MembershipError};
use election_tokio::lock::{LockError, LockFailure, LocksError, RevokeError};
use election_tokio::once::OnceError;
use election_tokio::queue::{ItemName, PutError, TakeError, TakerFailure};
use election_tokio::session::SessionEnd;
use election_tokio::slots::SlotsError;
use election_tokio::{ConnectError, Error, ErrorCode, ErrorKind, TransactionError};

use crate::args::{FormatName, LockFormat, QueueFormatName};
use crate::exit::{CommandExit, Exit};
use crate::settings::SettingsError;
pub(crate) use operating::{OperatingFailure, observer_ended, observer_failed};

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
    #[error("{0}")]
    Nomination(NominationEnded),
    #[error("{0}")]
    Lock(#[from] LockError),
    #[error("{error}")]
    OtherFormat { error: LockError, found: Option<FormatName> },
    #[error("a lock in the format {0} cannot be shared")]
    NotShared(LockFormat),
    #[error("{0}")]
    Locks(LocksError),
    #[error("--once-per is for one lock")]
    OneLock,
    #[error("{0}")]
    Once(OnceError),
    #[error("{0}")]
    Barrier(#[from] BarrierError),
    #[error("{0}")]
    RoundUnderWay(EnterError),
    #[error("{0}")]
    Put(#[from] PutError),
    #[error("{0}")]
    Take(#[from] TakeError),
    #[error("{path} has items of the format {found}, and none of the format {asked}")]
    OtherItems { path: String, asked: QueueFormatName, found: QueueFormatName },
    #[error("{item} was taken, and is lost: standard output cannot be written: {error}")]
    Unprinted { item: ItemName, error: io::Error },
    #[error("{0}")]
    Counter(#[from] CounterError),
    #[error("{0}")]
    Membership(#[from] MembershipError),
    #[error("invalid path {path:?}: {error}")]
    Path { path: String, error: PathError },
    #[error("{0}")]
    Slots(SlotsError),
    #[error("{0}")]
    Operating(#[from] OperatingFailure),
    #[error("{0}")]
    Settings(#[from] SettingsError),
    #[error("no answer within {}: {what}", humantime::format_duration(*bound))]
    InDoubt { bound: Duration, what: &'static str },
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
    #[error("the check cannot be started: sh ended with {} for {command:?}", exit_of_shell(*.exit))]
    Check { command: String, exit: CommandExit },
    #[error("{what}: {error}")]
    System { what: &'static str, error: io::Error },
    #[error("{0}")]
    Internal(&'static str),
    #[error("cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    #[error("HTTP requests cannot be answered at {address}: {error}")]
    Http { address: SocketAddr, error: io::Error },
    #[error("no candidate took over within {}", humantime::format_duration(*.0))]
    NoTakeOver(Duration),
}

impl From<LocksError> for Failure {
    fn from(error: LocksError) -> Self {
        match error {
            LocksError::Lock(error) => error.into(),
            error => Self::Locks(error),
        }
    }
}

impl From<OnceError> for Failure {
    fn from(error: OnceError) -> Self {
        match error {
            OnceError::Lock(error) => error.into(),
            OnceError::Request { error: TransactionError::Request(error), .. } => error.into(),
            error => Self::Once(error),
        }
    }
}

impl From<RevokeError> for Failure {
    fn from(error: RevokeError) -> Self {
        match error {
            RevokeError::Request { error, .. } => error.into(),
            refused => OperatingFailure::Revoke(refused).into(),
        }
    }
}

impl Failure {
    /// Returns the function for `map_err` that makes such a failure.
    pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { what, error }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.session_end().map_or_else(|| self.exit_in_session(), of_session)
    }

    /// Returns the exit of a failure that is no end of the session.
    fn exit_in_session(&self) -> Exit {
        match self {
            Self::Connect(ConnectError::NoServer { .. })
            | Self::NoAnswer(_)
            | Self::NotElected(_)
            | Self::NoTakeOver(_) => Exit::NoServer,
            Self::Forbidden { .. } => Exit::NoPermission,
            _ if self.lacks_randomness() => Exit::System,
            Self::Unprinted { .. }
            | Self::System { .. }
            | Self::OutOfReach
            | Self::PasswordFile { .. }
            | Self::Http { .. }
            | Self::Listen { .. } => Exit::System,
            // `Lost`: with --once, before COMMAND ran.
            Self::InDoubt { .. }
            | Self::Nomination(NominationEnded { reason: EndReason::Lost(_), .. })
            | Self::Take(TakeError::Unknown(_))
            | Self::Counter(CounterError::Unknown { .. })
            | Self::Membership(MembershipError::Evicted { .. }) => Exit::InDoubt,
            Self::Membership(MembershipError::NameTaken { .. }) => Exit::Busy(1),
            Self::Operating(_) if self.refusal().is_some_and(is_permission) => Exit::NoPermission,
            Self::Operating(failure) => failure.exit(),
            Self::Internal(_) => Exit::Internal,
            Self::Counter(CounterError::Failed {
                failure: CounterFailure::Overflow(_), ..
            }) => Exit::Usage,
            Self::Nomination(_)
            | Self::Lock(LockError::Failed { .. } | LockError::OtherFormat { .. })
            | Self::OtherFormat { .. }
            | Self::Barrier(BarrierError::Failed { .. })
            | Self::Take(TakeError::Failed { .. })
            | Self::Counter(CounterError::Failed { .. })
            | Self::Membership(MembershipError::Failed { .. }) => match self.refusal() {
                Some(code) if is_permission(code) => Exit::NoPermission,
                _ => Exit::WrongSetUp,
            },
            Self::Connect(_)
            | Self::Election(_)
            | Self::Lock(_)
            | Self::Barrier(_)
            | Self::Take(_)
            | Self::Counter(_)
            | Self::Membership(_)
            | Self::Locks(_)
            | Self::OneLock
            | Self::Path { .. }
            | Self::NotShared(_)
            | Self::Settings(_)
            | Self::TerminalInput => Exit::Usage,
            Self::Operation(error) => of_operation(error),
            Self::Once(error) => of_job(error),
            Self::Put(error) => of_put(error),
            Self::NoChroot(_) | Self::OtherItems { .. } | Self::RoundUnderWay(_) => {
                Exit::WrongSetUp
            }
            Self::Slots(error) => Self::exit_of_slots(error),
            Self::EventsFile { .. } => Exit::EventsFile,
            Self::Command { error, .. } => of_command(error),
            Self::Check { exit, .. } => Exit::Command(*exit),
        }
    }

    const fn lacks_randomness(&self) -> bool {
        matches!(
            self,
            Self::Connect(ConnectError::Randomness(_))
                | Self::Election(ElectionError::Randomness { .. })
                | Self::Lock(LockError::Randomness { .. })
                | Self::Barrier(BarrierError::Randomness { .. })
                | Self::Take(TakeError::Randomness { .. })
                | Self::Membership(MembershipError::Randomness { .. })
        )
    }

    /// Returns how the client ended, if that is the reason.
    fn session_end(&self) -> Option<SessionEnd> {
        match self {
            Self::Connect(ConnectError::Ended(end))
            | Self::Nomination(NominationEnded { reason: EndReason::ClientClosed(end), .. })
            | Self::Lock(LockError::ClientClosed { end, .. })
            | Self::Barrier(BarrierError::ClientClosed { end, .. })
            | Self::Take(TakeError::ClientClosed { end, .. })
            | Self::Counter(CounterError::ClientClosed { end, .. })
            | Self::Membership(MembershipError::ClientClosed { end, .. }) => Some(*end),
            _ => None,
        }
    }

    /// Returns the error code with which a server refused a contender.
    pub(crate) fn refusal(&self) -> Option<ErrorCode> {
        match self {
            Self::Nomination(NominationEnded {
                reason: EndReason::Failed(NominationError::Rejected(code)),
                ..
            })
            | Self::Lock(LockError::Failed { failure: LockFailure::Rejected(code), .. })
            | Self::Barrier(BarrierError::Failed {
                failure: BarrierFailure::Rejected(code), ..
            })
            | Self::Take(TakeError::Failed { failure: TakerFailure::Rejected(code), .. })
            | Self::Counter(CounterError::Failed {
                failure: CounterFailure::Rejected(code), ..
            })
            | Self::Membership(MembershipError::Failed {
                failure: MemberFailure::Rejected(code),
                ..
            }) => Some(ErrorCode::new(*code)),
            Self::Operating(failure) => failure.refusal(),
            _ => None,
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Election(error) => Self::Election(error),
            error => Self::Operating(error.into()),
        }
    }
}

impl From<EndError> for Failure {
    fn from(error: EndError) -> Self {
        match error {
            EndError::Request { error, .. } => Self::Operation(error),
            error => Self::Operating(error.into()),
        }
    }
}

impl From<StepDownRequestError> for Failure {
    fn from(error: StepDownRequestError) -> Self {
        match error {
            StepDownRequestError::Leader(error) => error.into(),
            StepDownRequestError::Request { error, .. } => Self::Operation(error),
            _ => Self::Internal("a request to step down failed in an unknown way"),
        }
    }
}

impl From<HandOverError> for Failure {
    fn from(error: HandOverError) -> Self {
        match error {
            HandOverError::Leader(error) => error.into(),
            HandOverError::Request { error, .. } => Self::Operation(error),
            error => Self::Operating(error.into()),
        }
    }
}

impl From<EnterError> for Failure {
    fn from(error: EnterError) -> Self {
        match error {
            EnterError::Barrier(error) => Self::Barrier(error),
            error => Self::RoundUnderWay(error),
        }
    }
}

fn exit_of_shell(exit: CommandExit) -> u8 {
    Exit::Command(exit).code()
}

fn of_command(error: &io::Error) -> Exit {
    match error.kind() {
        io::ErrorKind::NotFound => Exit::NotFound,
        _ => Exit::NotExecutable,
    }
}

/// Returns the exit of a put that failed.
fn of_put(error: &PutError) -> Exit {
    match error {
        error if error.may_have_happened() => Exit::InDoubt,
        PutError::Priority { .. } => Exit::Usage,
        PutError::Request { error, .. } => of_operation(error),
        _ => Exit::WrongSetUp,
    }
}

fn of_operation(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::Refused(code) if is_permission(code) => Exit::NoPermission,
        // Paths from arguments were checked before, so a server sent this name.
        ErrorKind::InvalidPath(_) | ErrorKind::Refused(_) | ErrorKind::Unsupported { .. } => {
            Exit::WrongSetUp
        }
        _ => Exit::NoServer,
    }
}

fn of_session(end: SessionEnd) -> Exit {
    match end {
        _ if is_authentication(end) => Exit::NoPermission,
        SessionEnd::Expired(_) => Exit::InDoubt,
        _ => Exit::Internal,
    }
}

fn of_job(error: &OnceError) -> Exit {
    match error {
        OnceError::Lost { .. } => Exit::InDoubt,
        OnceError::Request { error: TransactionError::NamesRecur, .. } => Exit::Usage,
        _ => Exit::WrongSetUp,
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
