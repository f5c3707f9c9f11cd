//! The versions of ZooKeeper that introduced operations.

use core::fmt;

use zk_jute::OpCode;

/// The version of a ZooKeeper server, such as 3.6.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerVersion {
    major: u8,
    minor: u8,
    patch: u8,
}

impl ServerVersion {
    /// Makes the version `major.minor.patch`.
    pub const fn new(major: u8, minor: u8, patch: u8) -> Self {
        Self { major, minor, patch }
    }

    /// Returns the first version with an operation.
    pub(crate) const fn that_brought(operation: OpCode) -> Self {
        match operation {
            OpCode::GET_CHILDREN2 => Self::new(3, 3, 0),
            OpCode::CHECK | OpCode::MULTI | OpCode::SASL => Self::new(3, 4, 0),
            OpCode::CREATE2 | OpCode::RECONFIG | OpCode::CHECK_WATCHES | OpCode::REMOVE_WATCHES => {
                Self::new(3, 5, 0)
            }
            OpCode::CREATE_CONTAINER => Self::new(3, 5, 1),
            OpCode::CREATE_TTL => Self::new(3, 5, 3),
            OpCode::MULTI_READ
            | OpCode::GET_EPHEMERALS
            | OpCode::GET_ALL_CHILDREN_NUMBER
            | OpCode::SET_WATCHES2
            | OpCode::ADD_WATCH => Self::new(3, 6, 0),
            OpCode::WHO_AM_I => Self::new(3, 7, 0),
            _ => Self::new(3, 0, 0),
        }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
