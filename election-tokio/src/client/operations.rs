//! The operations on single znodes.

use bytes::{Buf as _, Bytes};
use zk_jute::records::{
    CheckVersionRequest, DeleteRequest, ExistsRequest, ExistsResponse, GetChildren2Request,
    GetChildren2Response, GetDataRequest, GetDataResponse, MultiOp, MultiRequest, SetDataRequest,
    SetDataResponse, Stat, SyncRequest,
};
use zk_jute::{Decode, DecodeError, OpCode, Request, Version, Zxid};
use zk_session::{Completion, Watching};

use super::watch::Asked;
use super::{Client, OneshotWatch};
use crate::{Error, ErrorKind};

/// The names of a znode's children, in no order: a view of the server's reply.
#[derive(Clone, Debug)]
pub struct Children {
    reply: Bytes,
    stat: Stat,
}

impl Children {
    fn new(reply: Bytes) -> Result<Self, DecodeError> {
        let stat = GetChildren2Response::decode_prefix(&reply)?.stat;
        Ok(Self { reply, stat })
    }

    pub(super) fn of_reply(path: &str, reply: Completion) -> Result<Self, Error> {
        children(path, reply)
    }

    /// Returns the names, without the parent's path.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        GetChildren2Response::decode_prefix(&self.reply)
            .ok()
            .into_iter()
            .flat_map(|response| response.children)
    }

    /// Returns the parent's metadata.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }
}

impl Client {
    /// Deletes a znode without children, if its data has this version ([`Version::ANY`]: any).
    ///
    /// Cancel safe: the znode may still be deleted.
    ///
    /// # Errors
    ///
    /// `NoNode`; `BadVersion`; `NotEmpty`; `NoAuth` without the permission to delete children of the
    /// parent.
    pub async fn delete(&self, path: &str, version: Version) -> Result<(), Error> {
        let server_path = self.server_path::<DeleteRequest<'_>>(path)?;
        self.call(path, &DeleteRequest { path: &server_path, version }).await.map(|_| ())
    }

    /// Reads a znode's metadata; `None` if the znode does not exist.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoAuth` without the permission to read the znode, from servers since 3.8.4 and 3.9.2.
    pub async fn exists(&self, path: &str) -> Result<Option<Stat>, Error> {
        let server_path = self.server_path::<ExistsRequest<'_>>(path)?;
        let request = ExistsRequest { path: &server_path, watch: false };
        existence(path, self.call(path, &request).await)
    }

    /// Reads like [`Client::exists`], and leaves a watch that fires when the znode is created or
    /// deleted, or its data written.
    ///
    /// Cancel safe: no watch is left.
    ///
    /// # Errors
    ///
    /// Those of [`Client::exists`]; then no watch is left.
    pub async fn exists_and_watch(
        &self,
        path: &str,
    ) -> Result<(Option<Stat>, OneshotWatch), Error> {
        let server_path = self.server_path::<ExistsRequest<'_>>(path)?;
        let asked = Asked::Once(Watching::Exists(&server_path));
        let (outcome, holder) = self.watching(OpCode::EXISTS, path, asked).await?;
        Ok((existence(path, outcome)?, OneshotWatch::new(holder)))
    }

    /// Reads a znode's data and metadata. Null data reads as empty.
    ///
    /// The data is a slice of the read buffer: copy it to keep a small piece for long.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoNode`; `NoAuth` without the permission to read the znode.
    pub async fn get_data(&self, path: &str) -> Result<(Bytes, Stat), Error> {
        let server_path = self.server_path::<GetDataRequest<'_>>(path)?;
        let request = GetDataRequest { path: &server_path, watch: false };
        let reply = self.call(path, &request).await?;
        data(path, reply)
    }

    /// Reads like [`Client::get_data`], and leaves a watch that fires when the znode is deleted or
    /// its data written.
    ///
    /// Cancel safe: no watch is left.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`]; then no watch is left.
    pub async fn get_data_and_watch(
        &self,
        path: &str,
    ) -> Result<(Bytes, Stat, OneshotWatch), Error> {
        let server_path = self.server_path::<GetDataRequest<'_>>(path)?;
        let asked = Asked::Once(Watching::GetData(&server_path));
        let (outcome, holder) = self.watching(OpCode::GET_DATA, path, asked).await?;
        let (data, stat) = data(path, outcome?)?;
        Ok((data, stat, OneshotWatch::new(holder)))
    }

    /// Replaces a znode's data, if it has this version ([`Version::ANY`]: any).
    ///
    /// Cancel safe: the data may still be replaced.
    ///
    /// # Errors
    ///
    /// `NoNode`; `BadVersion`; `NoAuth` without the permission to write the znode.
    pub async fn set_data(
        &self,
        path: &str,
        data: impl Into<Bytes>,
        version: Version,
    ) -> Result<Stat, Error> {
        let server_path = self.server_path::<SetDataRequest<'_>>(path)?;
        let data = data.into();
        let request = SetDataRequest { path: &server_path, data: Some(&data), version };
        let reply = self.call(path, &request).await?;
        let response: SetDataResponse = decoded::<SetDataRequest<'_>, _>(path, &reply)?;
        Ok(response.stat)
    }

    /// Lists the names of a znode's children, with its metadata.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoNode`; `NoAuth` without the permission to read the znode.
    pub async fn get_children(&self, path: &str) -> Result<Children, Error> {
        let server_path = self.server_path::<GetChildren2Request<'_>>(path)?;
        let request = GetChildren2Request { path: &server_path, watch: false };
        let reply = self.call(path, &request).await?;
        children(path, reply)
    }

    /// Lists like [`Client::get_children`], and leaves a watch that fires when a child is created
    /// or deleted, or the znode itself is deleted.
    ///
    /// Cancel safe: no watch is left.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`]; then no watch is left.
    pub async fn get_children_and_watch(
        &self,
        path: &str,
    ) -> Result<(Children, OneshotWatch), Error> {
        let server_path = self.server_path::<GetChildren2Request<'_>>(path)?;
        let asked = Asked::Once(Watching::GetChildren(&server_path));
        let (outcome, holder) = self.watching(OpCode::GET_CHILDREN2, path, asked).await?;
        Ok((children(path, outcome?)?, OneshotWatch::new(holder)))
    }

    /// Waits until the server has applied everything that ZooKeeper's leader, as this server knows
    /// it, had committed. A later read sees it.
    ///
    /// This orders requests, and proves nothing. A leader that was deposed, and has not noticed,
    /// answers for up to `syncLimit` ticks, and so do the servers behind it; they lack what others
    /// have written meanwhile. To make sure that a read sees everything, write before it on the
    /// same connection: a quorum has committed an answered write, even one that failed.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Only those of the connection: the znode need not exist.
    pub async fn sync(&self, path: &str) -> Result<(), Error> {
        self.stamped_sync(path).await.map(drop)
    }

    /// Waits like [`Client::sync`], and returns the zxid that the server had applied.
    pub(crate) async fn stamped_sync(&self, path: &str) -> Result<Zxid, Error> {
        let server_path = self.server_path::<SyncRequest<'_>>(path)?;
        Ok(self.call(path, &SyncRequest { path: &server_path }).await?.zxid)
    }

    /// Waits for a quorum to commit something that changes nothing. A later read on the same
    /// connection sees everything that was committed before this call. The commit takes place
    /// whatever the check finds; only an error of the whole request comes without a quorum. Returns
    /// the transaction.
    pub(crate) async fn commit_nothing(&self) -> Result<Zxid, Error> {
        const ROOT: &str = "/";
        let path = self.server_path::<MultiRequest<'_>>(ROOT)?;
        let check = CheckVersionRequest { path: &path, version: Version::ANY };
        let reply = self.call(ROOT, &MultiRequest::new(&[MultiOp::Check(check)])).await?;
        Ok(reply.zxid)
    }
}

/// Bytes of the length before the data.
const DATA_LENGTH_LEN: usize = <Option<&[u8]> as Decode<'static>>::MIN_ENCODED_LEN;

/// Returns the reply's body, as the one that belongs to the request `Q`.
#[inline]
pub(super) fn decoded<'a, Q: Request, T: Decode<'a>>(
    path: &str,
    reply: &'a Completion,
) -> Result<T, Error> {
    decoded_as(Q::OPCODE, path, reply)
}

/// Returns the reply's body, as the one that belongs to this operation.
#[inline]
pub(super) fn decoded_as<'a, T: Decode<'a>>(
    operation: OpCode,
    path: &str,
    reply: &'a Completion,
) -> Result<T, Error> {
    T::decode_prefix(&reply.body).map_err(|error| unreadable(operation, path, error))
}

#[cold]
fn unreadable(operation: OpCode, path: &str, error: DecodeError) -> Error {
    Error::new(operation, path, ErrorKind::UnreadableReply(error))
}

pub(super) fn existence(
    path: &str,
    outcome: Result<Completion, Error>,
) -> Result<Option<Stat>, Error> {
    match outcome {
        Ok(reply) => {
            let response: ExistsResponse = decoded::<ExistsRequest<'_>, _>(path, &reply)?;
            Ok(Some(response.stat))
        }
        Err(error) if error.is_no_node() => Ok(None),
        Err(error) => Err(error),
    }
}

#[inline]
fn data(path: &str, reply: Completion) -> Result<(Bytes, Stat), Error> {
    let response: GetDataResponse<'_> = decoded::<GetDataRequest<'_>, _>(path, &reply)?;
    let (length, stat) = (response.data.map_or(0, <[u8]>::len), response.stat);
    // The data comes first, behind its length. The rest of the body needs no count.
    let mut data = reply.body;
    data.advance(data.len().min(DATA_LENGTH_LEN));
    data.truncate(length);
    Ok((data, stat))
}

fn children(path: &str, reply: Completion) -> Result<Children, Error> {
    Children::new(reply.body).map_err(|error| {
        Error::new(GetChildren2Request::OPCODE, path, ErrorKind::UnreadableReply(error))
    })
}
