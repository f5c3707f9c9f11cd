//! What a server knows about a znode.

use crate::id::{SessionId, Version, Zxid};
use crate::record::record;

record! {
    /// A znode's metadata.
    pub struct Stat {
        /// The transaction that created the znode.
        pub czxid: Zxid,
        /// The transaction that last changed its data.
        pub mzxid: Zxid,
        /// When it was created, in milliseconds since 1970 by the server's clock.
        pub ctime: i64,
        /// When its data was last changed, likewise.
        pub mtime: i64,
        /// Changes of the data.
        pub version: Version,
        /// Children created and deleted.
        pub cversion: Version,
        /// Changes of the access list.
        pub aversion: Version,
        /// The session whose end deletes the znode; [`SessionId::NONE`] if it is not ephemeral.
        pub ephemeral_owner: SessionId,
        /// Bytes of data; 0 for null.
        pub data_length: i32,
        /// Number of children.
        pub num_children: i32,
        /// The transaction that last created or deleted a child.
        pub pzxid: Zxid,
    }
}
