//! Values, and the bytes of their znodes.

use core::convert::Infallible;
use core::error::Error as StdError;
use std::string::FromUtf8Error;
use std::sync::Arc;

use bytes::Bytes;
use zk_jute::Version;
use zk_jute::records::Stat;

use crate::error::SharedError;

/// A value that is written to a znode, and read from it. `String`, `Vec<u8>` and [`Bytes`]
/// implement it. Implement it for other types in any format.
pub trait ConfigValue: Sized + Send + Sync + 'static {
    /// The error of decoding or encoding.
    type Error: StdError + Send + Sync + 'static;

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// The bytes are no value.
    fn decode(data: &Bytes) -> Result<Self, Self::Error>;

    /// Writes a value.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    fn encode(&self) -> Result<Bytes, Self::Error>;
}

impl ConfigValue for Bytes {
    type Error = Infallible;

    fn decode(data: &Bytes) -> Result<Self, Infallible> {
        Ok(data.clone())
    }

    fn encode(&self) -> Result<Bytes, Infallible> {
        Ok(self.clone())
    }
}

impl ConfigValue for Vec<u8> {
    type Error = Infallible;

    fn decode(data: &Bytes) -> Result<Self, Infallible> {
        Ok(data.to_vec())
    }

    fn encode(&self) -> Result<Bytes, Infallible> {
        Ok(Bytes::copy_from_slice(self))
    }
}

impl ConfigValue for String {
    type Error = FromUtf8Error;

    fn decode(data: &Bytes) -> Result<Self, FromUtf8Error> {
        Self::from_utf8(data.to_vec())
    }

    fn encode(&self) -> Result<Bytes, FromUtf8Error> {
        Ok(Bytes::copy_from_slice(self.as_bytes()))
    }
}

/// The content of a configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum Configured<T> {
    /// A value.
    Value {
        /// The value.
        value: Arc<T>,
        /// The metadata of its znode.
        stat: Stat,
    },
    /// The data of the znode is not a value.
    Undecodable {
        /// The error.
        error: SharedError,
        /// The data.
        data: Bytes,
        /// The metadata of the znode.
        stat: Stat,
    },
    /// The znode does not exist.
    Missing,
}

impl<T: ConfigValue> Configured<T> {
    pub(super) fn of(read: Option<(Bytes, Stat)>) -> Self {
        let Some((data, stat)) = read else {
            return Self::Missing;
        };
        match T::decode(&data) {
            Ok(value) => Self::Value { value: Arc::new(value), stat },
            Err(error) => Self::Undecodable { error: SharedError::new(error), data, stat },
        }
    }
}

impl<T> Configured<T> {
    /// Returns the value, if it is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value { value, .. } => Some(value),
            Self::Undecodable { .. } | Self::Missing => None,
        }
    }

    /// Returns the version for a [`set`](crate::config::Config::set) of another value; `None` if there is
    /// no znode.
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::Value { stat, .. } | Self::Undecodable { stat, .. } => Some(stat.version),
            Self::Missing => None,
        }
    }
}

impl<T> Clone for Configured<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Value { value, stat } => Self::Value { value: Arc::clone(value), stat: *stat },
            Self::Undecodable { error, data, stat } => {
                Self::Undecodable { error: error.clone(), data: data.clone(), stat: *stat }
            }
            Self::Missing => Self::Missing,
        }
    }
}
