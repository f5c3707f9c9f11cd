//! What is read of a member.

use bytes::Bytes;
use zk_jute::records::Stat;

/// What a read of a member came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRead {
    /// Its data and metadata.
    Data(Bytes, Stat),
    /// There is no such znode.
    Gone,
    /// The client may not read it, or it is larger than the client keeps.
    Unreadable,
}
