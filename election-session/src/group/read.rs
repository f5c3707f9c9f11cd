//! Reads of members.

use bytes::Bytes;
use zk_jute::records::Stat;

/// The result of reading a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRead {
    /// Its data and metadata.
    Data(Bytes, Stat),
    /// The znode does not exist.
    Gone,
    /// The client may not read it, or it is larger than the client keeps.
    Unreadable,
}
