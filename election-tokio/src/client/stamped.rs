//! Reads with the zxid that the server had applied.

use bytes::Bytes;
use zk_jute::records::{
    ExistsRequest, ExistsResponse, GetChildren2Request, GetDataRequest, GetDataResponse, Stat,
};
use zk_jute::{OpCode, Zxid};
use zk_session::{Completion, Watching};

use super::operations::{Children, decoded};
use super::watch::Asked;
use super::{Client, OneshotWatch};
use crate::Error;

/// The watch that a read leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    Nothing,
    OneshotWatch,
}

/// A value that was read, with its zxid and its watch.
#[derive(Debug)]
pub(crate) struct Stamped<T> {
    pub(crate) value: T,
    /// The last transaction that the server had applied.
    pub(crate) zxid: Zxid,
    pub(crate) watch: Option<OneshotWatch>,
}

impl Client {
    /// Reads like [`Client::get_data`] or [`Client::get_data_and_watch`].
    pub(crate) async fn stamped_data(
        &self,
        path: &str,
        leaves: Leaves,
    ) -> Result<Stamped<(Bytes, Stat)>, Error> {
        let server_path = self.server_path::<GetDataRequest<'_>>(path)?;
        let (reply, watch) = match leaves {
            Leaves::Nothing => {
                let request = GetDataRequest { path: &server_path, watch: false };
                (self.call(path, &request).await?, None)
            }
            Leaves::OneshotWatch => {
                let read = Watching::GetData(&server_path);
                self.stamped(OpCode::GET_DATA, path, read).await?
            }
        };
        let response: GetDataResponse<'_> = decoded::<GetDataRequest<'_>, _>(path, &reply)?;
        let data = response.data.map_or_else(Bytes::new, |data| reply.body.slice_ref(data));
        Ok(Stamped { value: (data, response.stat), zxid: reply.zxid, watch })
    }

    /// Reads like [`Client::exists`] or [`Client::exists_and_watch`]; but a znode that does not exist is
    /// an error, and leaves no watch.
    pub(crate) async fn stamped_stat(
        &self,
        path: &str,
        leaves: Leaves,
    ) -> Result<Stamped<Stat>, Error> {
        let server_path = self.server_path::<ExistsRequest<'_>>(path)?;
        let (reply, watch) = match leaves {
            Leaves::Nothing => {
                let request = ExistsRequest { path: &server_path, watch: false };
                (self.call(path, &request).await?, None)
            }
            Leaves::OneshotWatch => {
                let read = Watching::Exists(&server_path);
                self.stamped(OpCode::EXISTS, path, read).await?
            }
        };
        let response: ExistsResponse = decoded::<ExistsRequest<'_>, _>(path, &reply)?;
        Ok(Stamped { value: response.stat, zxid: reply.zxid, watch })
    }

    /// Lists like [`Client::get_children`] or [`Client::get_children_and_watch`].
    pub(crate) async fn stamped_children(
        &self,
        path: &str,
        leaves: Leaves,
    ) -> Result<Stamped<Children>, Error> {
        let server_path = self.server_path::<GetChildren2Request<'_>>(path)?;
        let (reply, watch) = match leaves {
            Leaves::Nothing => {
                let request = GetChildren2Request { path: &server_path, watch: false };
                (self.call(path, &request).await?, None)
            }
            Leaves::OneshotWatch => {
                let read = Watching::GetChildren(&server_path);
                self.stamped(OpCode::GET_CHILDREN2, path, read).await?
            }
        };
        let zxid = reply.zxid;
        Ok(Stamped { value: Children::of_reply(path, reply)?, zxid, watch })
    }

    async fn stamped(
        &self,
        operation: OpCode,
        path: &str,
        read: Watching<'_>,
    ) -> Result<(Completion, Option<OneshotWatch>), Error> {
        let (outcome, holder) = self.watching(operation, path, Asked::Once(read)).await?;
        Ok((outcome?, Some(OneshotWatch::new(holder))))
    }
}
