//! The requests of a cache, and their answers.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use zk_jute::records::Stat;

/// A request for the driver to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRequest {
    /// The ticket, to be returned with the reply. It makes the tracker ignore a reply that comes too late.
    pub ticket: u64,
    /// The question.
    pub question: CacheQuestion,
}

/// The question of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheQuestion {
    /// Have a quorum commit something, as [`Op::Barrier`](election_core::Op::Barrier) does. Later reads are then not
    /// older than what another session has shown.
    Barrier,
    /// Set a persistent recursive watch on the root.
    AddWatch,
    /// Read the znode at this path. With one-shot watches, leave one; on the root also if it does not exist.
    Read(Arc<str>),
    /// Read the data of these znodes in one request, at one moment.
    ReadMany(Vec<Arc<str>>),
    /// List the children of the znode at this path. With one-shot watches, leave one.
    List(Arc<str>),
    /// Make any request whose reply names a zxid.
    Mark,
}

/// The result of reading a znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheRead {
    /// Its data, which may be left out by a cache that keeps none, and metadata.
    Found(Bytes, Stat),
    /// The znode does not exist.
    Gone,
    /// The client may not read it, or its data is longer than the client keeps.
    Unreadable,
}
