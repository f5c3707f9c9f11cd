//! What can go wrong, and what to do then.

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use election_tokio::{
    ConnectError, ElectionError, EndReason, Error, ErrorCode, NominationError, SessionEnd,
};

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
    #[error("{path} does not exist, and the access list (ACL) of {parent} forbids to create it")]
    Forbidden { parent: String, path: String },
    #[error("not elected within {}", humantime::format_duration(*.0))]
    NotElected(Duration),
    #[error(
        "standard input is a terminal, which COMMAND, in a process group of its own, cannot read"
    )]
    TerminalInput,
    #[error("the lead was lost, or given up, and COMMAND cannot be stopped")]
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
            | Self::System { .. }
            | Self::OutOfReach
            | Self::PasswordFile { .. }
            | Self::Listen { .. } => Exit::System,
            Self::Connect(ConnectError::Ended(end))
            | Self::Nomination(EndReason::ClientClosed(end))
                if is_authentication(*end) =>
            {
                Exit::NoPermission
            }
            Self::Connect(ConnectError::Ended(_))
            | Self::Nomination(EndReason::ClientClosed(_))
            | Self::Internal(_) => Exit::Internal,
            Self::Connect(_) | Self::Election(_) | Self::TerminalInput => Exit::Usage,
            Self::NoChroot(_) => Exit::WrongSetUp,
            Self::Operation(error) => match error.kind() {
                election_tokio::ErrorKind::Refused(code) if is_permission(code) => {
                    Exit::NoPermission
                }
                // Paths of arguments were looked at before: a server sent this name.
                election_tokio::ErrorKind::InvalidPath(_)
                | election_tokio::ErrorKind::Refused(_)
                | election_tokio::ErrorKind::Unsupported { .. } => Exit::WrongSetUp,
                _ => Exit::NoServer,
            },
            Self::Nomination(reason) => match rejected(reason) {
                Some(code) if is_permission(code) => Exit::NoPermission,
                _ => Exit::WrongSetUp,
            },
            Self::EventsFile { .. } => Exit::EventsFile,
            Self::Command { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Exit::NotFound
            }
            Self::Command { .. } => Exit::NotExecutable,
        }
    }

    /// What to do about it, where that is known.
    pub(crate) fn advice(&self) -> Option<String> {
        Some(match self {
            Self::Connect(ConnectError::NoServer { .. }) | Self::NoAnswer(_) => {
                "check --servers, that ZooKeeper runs there (its client port is 2181 unless \
                 configured otherwise), and that no firewall is in between"
                    .to_owned()
            }
            Self::Connect(ConnectError::ConnectString(_) | ConnectError::Chroot(_)) => {
                "write --servers as HOST:PORT[,HOST:PORT...][/CHROOT]".to_owned()
            }
            Self::Election(ElectionError::InvalidPath { .. }) => {
                "write --election as an absolute path, such as /services/reports/leader".to_owned()
            }
            Self::NoChroot(chroot) => format!(
                "create it (`create {chroot}` in ZooKeeper's zkCli.sh), or leave the chroot out \
                 of --servers"
            ),
            Self::Connect(ConnectError::Ended(end))
            | Self::Nomination(EndReason::ClientClosed(end))
                if is_authentication(*end) =>
            {
                AUTHENTICATION_ADVICE.to_owned()
            }
            Self::Operation(error) => return operation_advice(error),
            Self::Nomination(reason) => return nomination_advice(reason),
            Self::EventsFile { .. } => {
                "give a file that can be written, in a folder that exists, or - for standard output"
                    .to_owned()
            }
            Self::PasswordFile { .. } => {
                "give a file that this user may read, and nobody else".to_owned()
            }
            Self::Command { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                "check its name and PATH; a shell's own commands need `sh -c '...'`".to_owned()
            }
            Self::Listen { address, error } => return listen_advice(*address, error),
            Self::Forbidden { parent, .. } => format!(
                "let the user of --sasl-user or the subject of --tls-cert, or every client, create \
                 below {parent} (`setAcl` in zkCli.sh), or create the election node for them"
            ),
            Self::NotElected(_) => {
                "another one leads (`zkelect list` shows which), or no server is in reach; wait \
                 longer with --wait, or without an end by leaving it out"
                    .to_owned()
            }
            Self::TerminalInput => "give --stdin a file or a pipe".to_owned(),
            Self::OutOfReach => {
                "take --allow-new-privileges off, and start zkelect itself as the user that \
                 COMMAND is to be"
                    .to_owned()
            }
            Self::NoTakeOver(_) => {
                "run again with -v; a server that is overloaded or out of reach is likely"
                    .to_owned()
            }
            Self::Connect(_)
            | Self::Election(_)
            | Self::Command { .. }
            | Self::System { .. }
            | Self::Internal(_) => return None,
        })
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

pub(crate) fn rejected(reason: &EndReason) -> Option<ErrorCode> {
    match reason {
        EndReason::Failed(NominationError::Rejected(code)) => Some(ErrorCode::new(*code)),
        _ => None,
    }
}

const AUTHENTICATION_ADVICE: &str = "check --sasl-user and --sasl-password-file against the JAAS \
     section `Server` of the servers";

fn permission_advice(code: ErrorCode) -> &'static str {
    if is_refused_identity(code) { AUTHENTICATION_ADVICE } else { PERMISSION_ADVICE }
}

const PERMISSION_ADVICE: &str = "the access list (ACL) of the election node must let everybody, \
     or the user of --sasl-user or the subject of --tls-cert, create, read and delete here: look \
     with `getAcl`, change with `setAcl` in zkCli.sh, or use another election node";

fn operation_advice(error: &Error) -> Option<String> {
    match error.kind() {
        election_tokio::ErrorKind::InvalidPath(_) => Some(
            "a server sent this name, which ZooKeeper lets no client create: check what \
                 answers at --servers"
                .into(),
        ),
        election_tokio::ErrorKind::Refused(code) if is_permission(code) => {
            Some(permission_advice(code).into())
        }
        election_tokio::ErrorKind::ConnectionLoss | election_tokio::ErrorKind::NotConnected => {
            Some("try again once the connection is stable".into())
        }
        _ => None,
    }
}

fn nomination_advice(reason: &EndReason) -> Option<String> {
    let code = rejected(reason)?;
    is_permission(code).then(|| permission_advice(code).to_owned())
}

fn listen_advice(address: SocketAddr, error: &io::Error) -> Option<String> {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrInUse => Some(format!(
            "something listens there already (`ss -ltnp sport = :{port}` shows what): end it, use \
             it if it is a ZooKeeper server, or take another port, such as --listen {}, which is \
             any free one",
            SocketAddr::new(ip, 0)
        )),
        io::ErrorKind::PermissionDenied => Some(format!(
            "ports below 1024 are reserved: take a higher one, such as --listen {}",
            SocketAddr::new(ip, 2181)
        )),
        io::ErrorKind::AddrNotAvailable => Some(format!(
            "this machine has no such address: take --listen 127.0.0.1:{port} for this machine \
             alone, or 0.0.0.0:{port} for all its interfaces"
        )),
        _ => None,
    }
}
