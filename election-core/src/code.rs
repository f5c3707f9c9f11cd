//! The error codes of ZooKeeper by which recipes decide (docs/protocol.md).

pub(crate) const CONNECTION_LOSS: i32 = -4;
pub(crate) const MARSHALLING_ERROR: i32 = -5;
pub(crate) const BAD_ARGUMENTS: i32 = -8;
pub(crate) const NO_NODE: i32 = -101;
pub(crate) const NO_AUTH: i32 = -102;
pub(crate) const BAD_VERSION: i32 = -103;
pub(crate) const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
pub(crate) const NODE_EXISTS: i32 = -110;
pub(crate) const NOT_EMPTY: i32 = -111;
pub(crate) const SESSION_EXPIRED: i32 = -112;
pub(crate) const SESSION_MOVED: i32 = -118;
pub(crate) const THROTTLED: i32 = -127;
