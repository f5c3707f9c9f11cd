//! Several reads in one request.

use bytes::Bytes;
use zk_jute::records::{
    GetChildrenRequest, GetDataRequest, MultiReadOp, MultiReadRequest, MultiReadResponse,
    MultiReadResult, Stat,
};
use zk_jute::{DecodeError, DecodeErrorKind, OpCode, Zxid};
use zk_session::Completion;

use super::Client;
use super::operations::decoded;
use crate::{Error, ErrorKind, path};

/// A list of reads for one request; made by [`Client::multi_read`]. Unlike the operations of a
/// [`Transaction`](crate::Transaction), each read succeeds or fails by itself, and another client
/// may write in between. It leaves no watch.
#[derive(Clone, Debug)]
#[must_use = "nothing is read until it is sent"]
pub struct MultiRead {
    client: Client,
    reads: Vec<Read>,
}

#[derive(Clone, Debug)]
struct Read {
    path: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Children,
}

/// The result of one read of a [`MultiRead`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadOutcome {
    /// A znode's data, a slice of the read buffer, and metadata. Null data reads as empty.
    Data(Bytes, Stat),
    /// The names of a znode's children, in no order.
    Children(Vec<String>),
}

impl Client {
    /// Starts a list of reads for one request.
    pub fn multi_read(&self) -> MultiRead {
        MultiRead { client: self.clone(), reads: Vec::new() }
    }
}

impl MultiRead {
    /// Reads a znode's data and metadata.
    pub fn get_data(self, path: &str) -> Self {
        self.with(path, Kind::Data)
    }

    /// Lists the names of a znode's children.
    pub fn get_children(self, path: &str) -> Self {
        self.with(path, Kind::Children)
    }

    fn with(mut self, path: &str, kind: Kind) -> Self {
        self.reads.push(Read { path: path.to_owned(), kind });
        self
    }

    /// Sends the reads, and returns a result for each, in order. Without reads, it sends nothing.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// In the place of a single read: `NoNode`; `NoAuth`. For the whole request:
    /// [`ErrorKind::InvalidPath`] for any of the paths; [`ErrorKind::Unsupported`] before ZooKeeper
    /// 3.6.0; [`ErrorKind::UnreadableReply`] for a reply to other reads.
    pub async fn send(self) -> Result<Vec<Result<ReadOutcome, Error>>, Error> {
        self.stamped().await.map(|(results, _)| results)
    }

    /// Sends the reads like [`MultiRead::send`], and returns the zxid that the server had applied, too.
    pub(crate) async fn stamped(self) -> Result<(Vec<Result<ReadOutcome, Error>>, Zxid), Error> {
        let Some(first) = self.reads.first() else {
            return Ok((Vec::new(), Zxid::ZERO));
        };
        let mut paths = Vec::with_capacity(self.reads.len());
        for Read { path, .. } in &self.reads {
            let checked = path::check_path(path);
            paths.push(self.client.checked_path(OpCode::MULTI_READ, path, checked)?);
        }
        let reads: Vec<_> =
            self.reads.iter().zip(&paths).map(|(read, path)| read.kind.wire(path)).collect();
        let reply = self.client.call(&first.path, &MultiReadRequest::new(&reads)).await?;
        let response: MultiReadResponse<'_> =
            decoded::<MultiReadRequest<'_>, _>(&first.path, &reply)?;
        let unreadable = |kind| {
            let error = DecodeError { kind, offset: reply.body.len() };
            Error::new(OpCode::MULTI_READ, &first.path, ErrorKind::UnreadableReply(error))
        };
        let results = self.reads.iter().zip(response);
        let results = results
            .map(|(read, result)| read.result(result, &reply).map_err(unreadable))
            .collect::<Result<Vec<_>, _>>()?;
        if results.len() == self.reads.len() {
            return Ok((results, reply.zxid));
        }
        let (needed, left) = (self.reads.len(), results.len());
        Err(unreadable(DecodeErrorKind::Truncated { needed, left }))
    }
}

impl Read {
    /// # Errors
    ///
    /// The reply has the result of another kind of read in this place.
    fn result(
        &self,
        result: MultiReadResult<'_>,
        reply: &Completion,
    ) -> Result<Result<ReadOutcome, Error>, DecodeErrorKind> {
        match (self.kind, result) {
            (Kind::Data, MultiReadResult::GetData(read)) => {
                let data = read.data.map_or_else(Bytes::new, |data| reply.body.slice_ref(data));
                Ok(Ok(ReadOutcome::Data(data, read.stat)))
            }
            (Kind::Children, MultiReadResult::GetChildren(read)) => {
                Ok(Ok(ReadOutcome::Children(read.children.iter().map(str::to_owned).collect())))
            }
            (kind, MultiReadResult::Error(code)) => {
                Ok(Err(Error::new(kind.operation(), &self.path, ErrorKind::Refused(code))))
            }
            (Kind::Data, _) => Err(DecodeErrorKind::UnknownKind(OpCode::GET_CHILDREN.get())),
            (Kind::Children, _) => Err(DecodeErrorKind::UnknownKind(OpCode::GET_DATA.get())),
        }
    }
}

impl Kind {
    const fn operation(self) -> OpCode {
        match self {
            Self::Data => OpCode::GET_DATA,
            Self::Children => OpCode::GET_CHILDREN,
        }
    }

    const fn wire(self, path: &str) -> MultiReadOp<'_> {
        match self {
            Self::Data => MultiReadOp::GetData(GetDataRequest { path, watch: false }),
            Self::Children => MultiReadOp::GetChildren(GetChildrenRequest { path, watch: false }),
        }
    }
}
