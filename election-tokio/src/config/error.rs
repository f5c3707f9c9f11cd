//! Errors of reading and writing a value.

use crate::Error;
use crate::acl::AclError;
use crate::error::{Place, SharedError};

/// The steps that errors of more than one place name.
pub(super) const SET: &str = "set";
pub(super) const CREATE: &str = "create";

/// Returns the place of an error.
pub(super) fn place(path: &str, step: &'static str) -> Place {
    Place::new("configuration", path, step)
}

/// Why a configured value was not read or written, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The value could not be encoded.
    #[error("{at}: the value cannot be written")]
    Encode {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault, of the type's own.
        #[source]
        error: SharedError,
    },
    /// No server would accept the access list.
    #[error("{at}: invalid access list: {error}")]
    InvalidAcl {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault in the list.
        error: AclError,
    },
    /// The znode to write does not exist: see
    /// [`Config::create_if_missing`](crate::config::Config::create_if_missing).
    #[error("{at}: there is no znode; create it, as create_if_missing does")]
    Missing {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The value was written, or not: the reply was lost, and another client has written since.
    #[error("{at}: the value was written, or not: the reply was lost; read it")]
    Unknown {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The znode was written so often that its version is -1. With this version a server writes
    /// whatever the real version is. One more write, by any client, ends that.
    #[error(
        "{at}: the version of the znode is -1, which no write can ask for; one more write, by any \
         client, ends that"
    )]
    VersionUnusable {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The request failed.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
}

impl ConfigError {
    /// Returns whether the value may have been written, although this failed.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Unknown { .. } => true,
            Self::Request { error, .. } => error.may_have_happened(),
            _ => false,
        }
    }
}
