//! A znode's metadata.

use crate::id::{SessionId, Version, Zxid};
use crate::record::record;

record! {
    /// A znode's metadata.
    pub struct Stat {
        /// The transaction that created the znode.
        pub czxid: Zxid,
        /// The transaction that last changed its data.
        pub mzxid: Zxid,
        /// The time of creation, in milliseconds since 1970 by the server's clock.
        pub ctime: i64,
        /// The time of the last change of its data, in the same unit.
        pub mtime: i64,
        /// The number of changes of the data.
        pub version: Version,
        /// The number of children created and deleted.
        pub cversion: Version,
        /// The number of changes of the access list.
        pub aversion: Version,
        /// The session that owns the znode; the server deletes the znode with it.
        /// [`SessionId::NONE`] if the znode is not ephemeral.
        pub ephemeral_owner: SessionId,
        /// Bytes of data; 0 for null.
        pub data_length: i32,
        /// Number of children.
        pub num_children: i32,
        /// The transaction that last created or deleted a child.
        pub pzxid: Zxid,
    }
}
