//! A failed operation of a client.

use core::error::Error as StdError;
use core::fmt;

use zk_jute::{DecodeError, ErrorCode, Escaped, OpCode};
use zk_session::{Failure, PathError, SubmitError};

use super::version::ServerVersion;
use crate::acl::AclError;

/// A failed operation: its kind, its path, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    operation: OpCode,
    path: Box<str>,
    kind: ErrorKind,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, path, kind } = self;
        write!(f, "{operation} {}: {kind}", Escaped(path))
    }
}

/// Names the source of the kind: the kind's own text is part of this error's.
impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.kind.source()
    }
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server refused it with this code.
    #[error("{0}")]
    Refused(ErrorCode),
    /// The client's chroot, which is the path of this error, does not exist. The operation did not
    /// happen.
    #[error("this is the chroot of the client, and does not exist")]
    NoChroot,
    /// The server does not offer the operation: it is older than the release that introduced it, or
    /// has it switched off. The operation did not happen.
    ///
    /// A server that does not know an operation closes the connection over it. So later requests
    /// may fail with [`ConnectionLoss`](Self::ConnectionLoss), and the session does not send the
    /// operation again: further calls fail at once, on any server.
    #[error("the server does not offer this: it came with ZooKeeper {since}, if it is switched on")]
    Unsupported {
        /// The first version that offers the operation.
        since: ServerVersion,
    },
    /// The server is cut off from its ensemble and answers only reads. The operation did not
    /// happen. The client moves to another server as soon as one takes writes.
    #[error("the server is cut off from its ensemble and answers reads only: it did not happen")]
    ReadOnlyServer,
    /// The connection was lost before the reply: the operation may or may not have happened.
    #[error("connection lost: it may or may not have happened")]
    ConnectionLoss,
    /// The client was not connected: the operation did not happen.
    #[error("not connected: it did not happen")]
    NotConnected,
    /// The client is closed: the operation did not happen.
    #[error("the client is closed: it did not happen")]
    Closed,
    /// The request is larger than servers accept. It was not sent.
    #[error("request of {length} bytes is above the limit of {limit}: it was not sent")]
    TooLarge {
        /// The request's length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The reply is larger than this client keeps ([`ClientBuilder::max_reply`]). The server
    /// executed the request.
    ///
    /// [`ClientBuilder::max_reply`]: crate::ClientBuilder::max_reply
    #[error("the reply of {length} bytes is above the limit of {limit}: it was not kept")]
    ReplyTooLarge {
        /// The reply's length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The path is invalid: nothing was sent.
    #[error("invalid path: {0}")]
    InvalidPath(PathError),
    /// No server would accept the access list. Nothing was sent.
    #[error("invalid access list: {0}")]
    InvalidAcl(AclError),
    /// The members of the ensemble are written in an unknown form.
    #[error("unreadable configuration of the ensemble")]
    UnreadableConfig,
    /// The reply does not decode.
    #[error("unreadable reply: {0}")]
    UnreadableReply(DecodeError),
}

impl Error {
    pub(crate) fn new(operation: OpCode, path: &str, kind: ErrorKind) -> Self {
        let kind = match kind {
            ErrorKind::Refused(ErrorCode::UNIMPLEMENTED) => {
                ErrorKind::Unsupported { since: ServerVersion::that_brought(operation) }
            }
            ErrorKind::Refused(ErrorCode::NOT_READ_ONLY) => ErrorKind::ReadOnlyServer,
            kind => kind,
        };
        Self { operation, path: path.into(), kind }
    }

    /// Returns the operation that failed.
    pub fn operation(&self) -> OpCode {
        self.operation
    }

    /// Returns why the operation failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the path of the operation; for a transaction, that of the first operation. With
    /// [`ErrorKind::NoChroot`] it is the chroot.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the server's error code, if the server refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self.kind {
            ErrorKind::Refused(code) => Some(code),
            ErrorKind::Unsupported { .. } => Some(ErrorCode::UNIMPLEMENTED),
            ErrorKind::ReadOnlyServer => Some(ErrorCode::NOT_READ_ONLY),
            ErrorKind::NoChroot => Some(ErrorCode::NO_NODE),
            _ => None,
        }
    }

    /// Returns whether the znode, or the parent of a znode to create, does not exist.
    pub fn is_no_node(&self) -> bool {
        self.code() == Some(ErrorCode::NO_NODE)
    }

    /// Returns whether the znode to create exists already.
    pub fn is_node_exists(&self) -> bool {
        self.code() == Some(ErrorCode::NODE_EXISTS)
    }

    /// Returns whether the znode has another version than the given one.
    pub fn is_bad_version(&self) -> bool {
        self.code() == Some(ErrorCode::BAD_VERSION)
    }

    /// Returns whether the znode to delete has children.
    pub fn is_not_empty(&self) -> bool {
        self.code() == Some(ErrorCode::NOT_EMPTY)
    }

    /// Returns whether an access list does not permit the operation.
    pub fn is_no_auth(&self) -> bool {
        self.code() == Some(ErrorCode::NO_AUTH)
    }

    /// Returns whether the connection was lost before the reply: the operation may or may not have
    /// happened.
    pub fn is_connection_loss(&self) -> bool {
        self.kind == ErrorKind::ConnectionLoss
    }

    /// Returns whether there was no connection: the operation did not happen.
    pub fn is_not_connected(&self) -> bool {
        self.kind == ErrorKind::NotConnected
    }

    /// Returns advice, if there is any: a clause for readers, without a full stop.
    pub fn advice(&self) -> Option<&'static str> {
        advice(self.operation, self.kind)
    }

    /// Returns whether the operation may have happened, although it failed. Do not repeat such a
    /// write blindly.
    pub fn may_have_happened(&self) -> bool {
        match self.kind {
            ErrorKind::ConnectionLoss
            | ErrorKind::ReplyTooLarge { .. }
            | ErrorKind::UnreadableReply(_)
            | ErrorKind::UnreadableConfig => true,
            // By a server without `create2` the client creates, and looks afterwards: the znode was there.
            ErrorKind::Refused(code) => {
                self.operation == OpCode::EXISTS && code == ErrorCode::NO_NODE
            }
            _ => false,
        }
    }
}

pub(crate) fn advice(operation: OpCode, kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Refused(code) => return advice_on_code(operation, code),
        ErrorKind::NoChroot => {
            "check that it is written as meant, and create it: ClientBuilder::create_chroot"
        }
        ErrorKind::ConnectionLoss => "once connected again, read whether it happened",
        ErrorKind::NotConnected => "try again once the connection is back",
        ErrorKind::Closed => "make another client",
        ErrorKind::TooLarge { .. } => {
            "split it, or raise both the limit here and jute.maxbuffer of the servers"
        }
        ErrorKind::ReplyTooLarge { .. } => "raise ClientBuilder::max_reply, or ask for less",
        ErrorKind::ReadOnlyServer => return advice_on_code(operation, ErrorCode::NOT_READ_ONLY),
        ErrorKind::UnreadableReply(_) => {
            "read whether it happened, and report the server's release"
        }
        _ => return None,
    })
}

pub(super) fn advice_on_code(operation: OpCode, code: ErrorCode) -> Option<&'static str> {
    Some(match (code, operation) {
        (
            ErrorCode::NO_NODE,
            OpCode::CREATE | OpCode::CREATE2 | OpCode::CREATE_CONTAINER | OpCode::CREATE_TTL,
        ) => "create the znodes above it first, as create_with_parents does",
        (ErrorCode::BAD_VERSION, _) => "another client was faster: read again",
        (ErrorCode::NOT_EMPTY, _) => "delete what is below it first, as delete_tree does",
        (ErrorCode::NO_AUTH, _) => {
            "present an identity that the access list permits this, see get_acl and who_am_i"
        }
        (ErrorCode::NO_CHILDREN_FOR_EPHEMERALS, _) => {
            "create it below a znode that is not ephemeral"
        }
        (ErrorCode::QUOTA_EXCEEDED, _) => "raise the quota of the tree, or delete some of it",
        (ErrorCode::THROTTLED_OP, _) => "the server has too much to do: try again later",
        (ErrorCode::NOT_READ_ONLY, _) => "try again once a server that takes writes is found",
        _ => return None,
    })
}

impl ErrorKind {
    pub(crate) const fn of_failure(failure: Failure) -> Self {
        match failure {
            Failure::Refused(code) => Self::Refused(code),
            Failure::ConnectionLoss => Self::ConnectionLoss,
            Failure::ReplyTooLarge { length, limit } => Self::ReplyTooLarge { length, limit },
            Failure::NotSent => Self::NotConnected,
        }
    }

    pub(crate) const fn of_submission(error: SubmitError) -> Self {
        match error {
            SubmitError::NotConnected | SubmitError::Full => Self::NotConnected,
            SubmitError::TooLarge { length, limit } | SubmitError::Suspected { length, limit } => {
                Self::TooLarge { length, limit }
            }
            SubmitError::Unsupported(operation) => {
                Self::Unsupported { since: ServerVersion::that_brought(operation) }
            }
            SubmitError::Closed => Self::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An item that was put to a queue, and taken at once.
    #[test]
    fn what_was_created_and_is_gone_at_the_look_may_have_happened() {
        let of = |operation, code| Error::new(operation, "/a", ErrorKind::Refused(code));
        assert!(of(OpCode::EXISTS, ErrorCode::NO_NODE).may_have_happened());
        assert!(!of(OpCode::EXISTS, ErrorCode::NO_AUTH).may_have_happened());
        assert!(!of(OpCode::CREATE, ErrorCode::NO_NODE).may_have_happened());
    }

    #[test]
    fn advice_knows_what_was_asked_for() {
        let cases = [
            (OpCode::CREATE2, ErrorCode::NO_NODE, Some("create_with_parents")),
            (OpCode::GET_DATA, ErrorCode::NO_NODE, None),
            (OpCode::DELETE, ErrorCode::NOT_EMPTY, Some("delete_tree")),
            (OpCode::SET_DATA, ErrorCode::NO_AUTH, Some("who_am_i")),
            (OpCode::CREATE2, ErrorCode::NODE_EXISTS, None),
        ];
        for (operation, code, named) in cases {
            let error = Error::new(operation, "/a", ErrorKind::Refused(code));
            let advice = error.advice();
            assert_eq!(advice.is_some(), named.is_some(), "{error}: {advice:?}");
            assert!(advice.unwrap_or_default().contains(named.unwrap_or_default()), "{advice:?}");
        }
    }
}
