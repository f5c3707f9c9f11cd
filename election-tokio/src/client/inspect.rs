//! A server's knowledge of a session, and the size of a tree.

use zk_jute::records::{
    GetAllChildrenNumberRequest, GetAllChildrenNumberResponse, GetEphemeralsRequest,
    GetEphemeralsResponse, WhoAmI, WhoAmIResponse,
};
use zk_jute::{DecodeError, DecodeErrorKind, OpCode};

use super::Client;
use super::operations::{decoded, decoded_as};
use crate::{Error, ErrorKind, path};

/// An identity of a connection, as the server knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConnectionIdentity {
    /// The kind of identity: `ip`, `digest`, `sasl`, `x509`, `super`.
    pub scheme: String,
    /// The identity without its secret half; empty for a super user.
    pub user: String,
}

impl Client {
    /// Returns the paths of this session's ephemeral znodes that begin with `prefix`, in no order;
    /// `/` means all of them. The prefix is compared as a string: `/a` also matches `/ab`, and
    /// `/a/` matches only descendants of `/a`. With a chroot, only znodes below it are listed.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`] for a prefix that no path begins with; [`ErrorKind::Unsupported`]
    /// before ZooKeeper 3.6.0.
    pub async fn get_ephemerals(&self, prefix: &str) -> Result<Vec<String>, Error> {
        // The part behind the prefix belongs to the path.
        let checked = path::check_path(&[prefix, "x"].concat());
        let server_prefix = self.checked_path(OpCode::GET_EPHEMERALS, prefix, checked)?;
        let request = GetEphemeralsRequest { prefix_path: Some(&server_prefix) };
        let reply = self.call(prefix, &request).await?;
        let response: GetEphemeralsResponse<'_> =
            decoded::<GetEphemeralsRequest<'_>, _>(prefix, &reply)?;
        let chroot = &self.shared().chroot;
        // A chroot is also a prefix of its siblings' paths.
        let inside = response.ephemerals.iter().filter_map(|path| chroot.strip(path));
        Ok(inside.map(str::to_owned).collect())
    }

    /// Returns the number of a znode's descendants: its children, their children, and so on. The
    /// client needs the permission to read the znode.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoNode`; `NoAuth`; [`ErrorKind::Unsupported`] before ZooKeeper 3.6.0.
    pub async fn get_all_children_number(&self, path: &str) -> Result<u32, Error> {
        let server_path = self.server_path::<GetAllChildrenNumberRequest<'_>>(path)?;
        let request = GetAllChildrenNumberRequest { path: &server_path };
        let reply = self.call(path, &request).await?;
        let GetAllChildrenNumberResponse { total_number } =
            decoded::<GetAllChildrenNumberRequest<'_>, _>(path, &reply)?;
        u32::try_from(total_number).map_err(|_| {
            let kind = DecodeErrorKind::NegativeLength(total_number);
            let error = ErrorKind::UnreadableReply(DecodeError { kind, offset: 0 });
            Error::new(OpCode::GET_ALL_CHILDREN_NUMBER, path, error)
        })
    }

    /// Returns the identities of this connection, as the server knows them, in no order: its
    /// address, and those of [`ClientBuilder::auth`](crate::ClientBuilder::auth).
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] before ZooKeeper 3.7.0.
    pub async fn who_am_i(&self) -> Result<Vec<ConnectionIdentity>, Error> {
        let reply = self.call("/", &WhoAmI).await?;
        let response: WhoAmIResponse<'_> = decoded_as(OpCode::WHO_AM_I, "/", &reply)?;
        let owned = |info: zk_jute::records::ClientInfo<'_>| ConnectionIdentity {
            scheme: info.auth_scheme.to_owned(),
            user: info.user.to_owned(),
        };
        Ok(response.client_info.iter().map(owned).collect())
    }
}
