//! The znodes of a cache.

use alloc::boxed::Box;
use alloc::sync::Arc;

use zk_jute::records::Stat;
use zk_jute::{SessionId, Version, Zxid};

/// The choice whether a cache keeps the data of its znodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheData {
    /// It keeps all data.
    Kept,
    /// It keeps names and metadata.
    Left,
}

/// A znode of a cached tree. Of its metadata it has what no server changes without an event: not the access list's
/// version, and not the counters of children.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedNode {
    /// The transaction that created it.
    pub czxid: Zxid,
    /// The transaction that last wrote its data.
    pub mzxid: Zxid,
    /// When it was created, in milliseconds since the epoch, by the server's clock.
    pub ctime: i64,
    /// When its data was last written.
    pub mtime: i64,
    /// The version of its data.
    pub version: Version,
    /// The session that it goes with, if it is ephemeral.
    pub ephemeral_owner: SessionId,
    /// The length of its data.
    pub data_length: i32,
    /// Its data; `None` from a cache that keeps no data.
    pub data: Option<Box<[u8]>>,
}

impl CachedNode {
    pub(super) fn new(stat: &Stat, data: Option<&[u8]>) -> Self {
        Self {
            czxid: stat.czxid,
            mzxid: stat.mzxid,
            ctime: stat.ctime,
            mtime: stat.mtime,
            version: stat.version,
            ephemeral_owner: stat.ephemeral_owner,
            data_length: stat.data_length,
            data: data.map(Box::from),
        }
    }

    /// Returns whether both are one state of one znode. An ensemble that was restored from a copy gives each zxid
    /// again that came after the copy, so the times count, too.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_one_with(other) && (self.mzxid, self.mtime) == (other.mzxid, other.mtime)
    }

    /// Returns whether both are states of one znode, and not of one that was made again.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        (self.czxid, self.ctime) == (other.czxid, other.ctime)
    }
}

/// A difference between what a reader knows and the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheChange {
    /// A znode is new to the reader.
    Created {
        /// Its path.
        path: Arc<str>,
        /// The znode.
        node: Arc<CachedNode>,
    },
    /// The data of a znode was written, once or more often.
    Changed {
        /// Its path.
        path: Arc<str>,
        /// The znode as the reader knew it.
        before: Arc<CachedNode>,
        /// The znode now.
        node: Arc<CachedNode>,
    },
    /// A znode is gone. One that was made again since follows as [`Created`](Self::Created).
    Deleted {
        /// Its path.
        path: Arc<str>,
        /// The znode as the reader knew it.
        before: Arc<CachedNode>,
    },
    /// A znode may not be read by the client, or its data is longer than the client keeps. It is not in the tree,
    /// and nothing below it is.
    Unreadable {
        /// Its path.
        path: Arc<str>,
        /// The znode as the reader knew it.
        before: Option<Arc<CachedNode>>,
    },
    /// The reader knows the whole tree as it was after this transaction.
    Current(Zxid),
}
