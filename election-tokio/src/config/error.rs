//! Errors of reading and writing a value.

use crate::Error;
use crate::acl::AclError;
use crate::error::SharedError;

/// Why a configured value was not read or written, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The value could not be encoded.
    #[error("the value cannot be written: {0}")]
    Encode(SharedError),
    /// No server would accept the access list.
    #[error("invalid access list: {0}")]
    InvalidAcl(#[from] AclError),
    /// The znode to write does not exist: see
    /// [`Config::create_if_missing`](crate::config::Config::create_if_missing).
    #[error("nothing is configured: there is no znode")]
    Missing,
    /// The value was written, or not: the reply was lost, and another client has written since.
    #[error("the value was written, or not: the reply was lost")]
    Unknown,
    /// The znode was written so often that its version is -1. With this version a server writes
    /// whatever the real version is. One more write, by any client, ends that.
    #[error("the version of the znode is -1, which no write can ask for")]
    VersionUnusable,
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Error),
}

impl ConfigError {
    /// Returns whether the value may have been written, although this failed.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Request(error) => error.may_have_happened(),
            _ => false,
        }
    }
}
