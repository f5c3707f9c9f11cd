//! The error codes of ZooKeeper on which recipes decide (docs/protocol.md). Others are passed on.

pub(crate) const NO_NODE: i32 = -101;
pub(crate) const NO_AUTH: i32 = -102;
pub(crate) const BAD_VERSION: i32 = -103;
pub(crate) const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
pub(crate) const NODE_EXISTS: i32 = -110;
pub(crate) const NOT_EMPTY: i32 = -111;
