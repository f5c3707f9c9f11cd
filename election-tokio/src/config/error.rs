//! Why a value is not written.

use crate::acl::AclError;
use crate::error::{Error, SharedError};

/// Why a configured value is not read or written, or is not known to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The value has no bytes.
    #[error("the value cannot be written: {0}")]
    Encode(SharedError),
    /// The access list is one that no server would take.
    #[error("invalid access list: {0}")]
    InvalidAcl(#[from] AclError),
    /// There is no znode to be written: see [`Config::create_if_missing`](crate::Config::create_if_missing).
    #[error("nothing is configured: there is no znode")]
    Missing,
    /// The value was written, or not: the reply was lost, and another client has written since.
    #[error("the value was written, or not: the reply was lost")]
    Unknown,
    /// The znode was written so often that its version is -1, with which a server writes whatever the
    /// version is. One more write, by any client, ends that.
    #[error("the version of the znode is -1, which no write can ask for")]
    VersionUnusable,
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Error),
}

impl ConfigError {
    /// Whether the value may be written, although this failed.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Request(error) => error.may_have_happened(),
            _ => false,
        }
    }
}
