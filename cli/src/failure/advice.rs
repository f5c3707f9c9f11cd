//! Advice for failures.

use core::net::SocketAddr;
use std::io;

use election_tokio::election::{ElectionError, EndReason, NominationEnded};
use election_tokio::error::PathError;
use election_tokio::lock::LockError;
use election_tokio::queue::PutError;
use election_tokio::{ConnectError, Error, ErrorCode, ErrorKind};

use crate::args::{FormatName, Kind};

use super::{Failure, is_authentication, is_permission, is_refused_identity};

impl Failure {
    /// Returns advice, if there is any.
    pub(crate) fn advice(&self) -> Option<String> {
        match self {
            Self::NoChroot(chroot) => Some(format!(
                "create it (`create {chroot}` in ZooKeeper's zkCli.sh), or leave the chroot out \
                 of --servers"
            )),
            Self::Listen { address, error } => listen_advice(*address, error),
            Self::Http { address, error } => http_advice(*address, error),
            Self::Forbidden { parent, .. } => Some(format!(
                "let the identity of --auth or --sasl-user, or the subject of --tls-cert, or every client, \
                 create below {parent} (`setAcl` in zkCli.sh), or create the node for them"
            )),
            Self::OtherFormat { found, .. } => Some(other_format_advice(*found)),
            _ => match self.refusal() {
                Some(code) if is_permission(code) => Some(permission_advice(code).to_owned()),
                _ => self.plain_advice().map(str::to_owned),
            },
        }
    }

    fn plain_advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Connect(ConnectError::NoServer { .. }) | Self::NoAnswer(_) => {
                "check --servers, that ZooKeeper runs there (its client port is 2181 unless \
                 configured otherwise), and that no firewall is in between"
            }
            Self::Connect(ConnectError::ConnectString(_) | ConnectError::Chroot(_)) => {
                "write --servers as HOST:PORT[,HOST:PORT...][/CHROOT]"
            }
            Self::Election(ElectionError::InvalidPath { error: PathError::Chroot, .. }) => {
                "take an election node below it, such as /leader; or, for the same znode, write \
                 --servers HOST:PORT/services --election /reports in place of \
                 --servers HOST:PORT/services/reports --election /"
            }
            Self::Election(ElectionError::InvalidPath { .. }) => {
                "write --election as an absolute path, such as /services/reports/leader"
            }
            Self::Lock(LockError::InvalidPath { .. }) => {
                "write PATH as an absolute path, such as /locks/backup"
            }
            _ if self.session_end().is_some_and(is_authentication) => AUTHENTICATION_ADVICE,
            Self::Operation(error) => return operation_advice(error),
            Self::Check { .. } => {
                "give --check a command line for sh whose program is in the PATH of zkelect, or has a path of its \
                 own, and may be executed: 127 is \"not found\", 126 \"not executable\""
            }
            Self::Put(PutError::Request { error, .. }) if !error.may_have_happened() => {
                return operation_advice(error);
            }
            Self::Nomination(NominationEnded { reason: EndReason::ElectionEnded, .. }) => {
                "an operator has ended the election for all: `zkelect reopen` lets candidates stand again"
            }
            Self::OneLock => "name a PATH for the job, and let COMMAND take the other locks",
            Self::NotShared(_) => {
                "take --format curator-read-write or kazoo for all that contend for it"
            }
            Self::EventsFile { .. } => {
                "give a file that can be written, in a folder that exists, or - for standard output"
            }
            Self::PasswordFile { .. } => "give a file that this user alone may read",
            Self::Command { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                "check its name and PATH; a shell's own commands need `sh -c '...'`"
            }
            Self::NotElected(_) => {
                "another one leads (`zkelect list` shows which), or no server is in reach; wait \
                 longer with --wait, or without an end by leaving it out"
            }
            Self::TerminalInput => "give --stdin a file or a pipe",
            Self::OutOfReach => {
                "take --allow-new-privileges off, and start zkelect itself as the user that \
                 COMMAND is to be"
            }
            Self::NoTakeOver(_) => {
                "run again with -v; a server that is overloaded or out of reach is likely"
            }
            _ => return self.recipe_advice(),
        })
    }
}

const AUTHENTICATION_ADVICE: &str = "check the file of --auth, or --sasl-user and \
     --sasl-password-file against the JAAS section `Server` of the servers";

fn permission_advice(code: ErrorCode) -> &'static str {
    if is_refused_identity(code) { AUTHENTICATION_ADVICE } else { PERMISSION_ADVICE }
}

const PERMISSION_ADVICE: &str = "the access list (ACL) of the node must let everybody, \
     or the identity of --auth or --sasl-user, or the subject of --tls-cert, create, read and delete \
     here: look with `getAcl`, change with `setAcl` in zkCli.sh, or use another node";

fn operation_advice(error: &Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::InvalidPath(_) => Some(
            "a server sent this name, which ZooKeeper lets no client create: check what answers at \
             --servers",
        ),
        ErrorKind::Refused(code) if is_permission(code) => Some(permission_advice(code)),
        ErrorKind::ConnectionLoss | ErrorKind::NotConnected => {
            Some("try again once the connection is stable")
        }
        _ => None,
    }
}

/// Returns which format the other contender has, as far as its name tells.
fn other_format_advice(found: Option<FormatName>) -> String {
    let advice = match found.map(|format| (format, format.kind())) {
        Some((format, Kind::Lock)) => {
            return format!(
                "give all contenders for it one format: the other one has --format {format}"
            );
        }
        Some((_, Kind::Election)) => {
            "an election is held there (`zkelect list` shows it): take another PATH"
        }
        Some((_, Kind::Semaphore)) | None => {
            "`zkelect list` shows what is there: take another PATH, or let all contenders use one format"
        }
    };
    advice.to_owned()
}

fn http_advice(address: SocketAddr, error: &io::Error) -> Option<String> {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrInUse => Some(format!(
            "another program has that port (`ss -ltnp sport = :{port}` shows which): give --http \
             another one"
        )),
        io::ErrorKind::PermissionDenied => Some(format!(
            "ports below 1024 are reserved: take a higher one, such as --http {}",
            SocketAddr::new(ip, 8080)
        )),
        io::ErrorKind::AddrNotAvailable => Some(format!(
            "this machine has no such address: take --http 127.0.0.1:{port} for this machine alone, \
             or 0.0.0.0:{port} for all its interfaces"
        )),
        _ => None,
    }
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
