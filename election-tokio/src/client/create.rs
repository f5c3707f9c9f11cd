//! Creating znodes.

use bytes::Bytes;
use zk_jute::records::{
    Acl, Create2Request, Create2Response, CreateContainerRequest, CreateMode as WireMode,
    CreateRequest, CreateTtlRequest, Stat, TtlMode,
};
use zk_jute::{OpCode, Vector};
use zk_session::Completion;

use super::access::checked_acls;
use super::operations::decoded_as;
use super::{Client, Ttl};
use crate::acl::Acls;
use crate::hub::Hub;
use crate::{Error, ErrorKind, path};

/// The kind of a new znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CreateMode {
    /// Stays until it is deleted.
    Persistent,
    /// Stays until it is deleted; the server appends a number to the path.
    PersistentSequential,
    /// Goes with the session.
    Ephemeral,
    /// Goes with the session; the server appends a number to the path.
    EphemeralSequential,
    /// Goes some time after its last child; servers since 3.5.1.
    Container,
    /// Goes some time after its time to live has passed without a write, if it has no children;
    /// servers since 3.5.3, if they allow it (`extendedTypesEnabled`).
    PersistentWithTtl(Ttl),
    /// Like [`CreateMode::PersistentWithTtl`]; the server appends a number to the path.
    PersistentSequentialWithTtl(Ttl),
}

/// The request that creates a znode. Each has modes of its own: with those of another request,
/// servers have created something else, or terminated (docs/protocol.md#operations).
pub(super) enum CreateRecord<'a> {
    Plain(CreateRequest<'a>),
    Container(CreateRequest<'a>),
    Ttl(CreateTtlRequest<'a>),
}

impl CreateMode {
    pub(super) const fn record<'a>(
        self,
        path: &'a str,
        data: &'a [u8],
        acl: Vector<'a, Acl<'a>>,
    ) -> CreateRecord<'a> {
        let data = Some(data);
        let (mode, ttl) = match self {
            Self::PersistentWithTtl(ttl) => (TtlMode::PERSISTENT, ttl),
            Self::PersistentSequentialWithTtl(ttl) => (TtlMode::PERSISTENT_SEQUENTIAL, ttl),
            Self::Container => {
                let mode = WireMode::CONTAINER;
                return CreateRecord::Container(CreateRequest { path, data, acl, mode });
            }
            Self::Persistent => return plain(path, data, acl, WireMode::PERSISTENT),
            Self::PersistentSequential => {
                return plain(path, data, acl, WireMode::PERSISTENT_SEQUENTIAL);
            }
            Self::Ephemeral => return plain(path, data, acl, WireMode::EPHEMERAL),
            Self::EphemeralSequential => {
                return plain(path, data, acl, WireMode::EPHEMERAL_SEQUENTIAL);
            }
        };
        CreateRecord::Ttl(CreateTtlRequest { path, data, acl, mode, ttl: ttl.millis() })
    }

    pub(super) const fn operation(self) -> OpCode {
        match self {
            Self::Container => OpCode::CREATE_CONTAINER,
            Self::PersistentWithTtl(_) | Self::PersistentSequentialWithTtl(_) => OpCode::CREATE_TTL,
            Self::Persistent
            | Self::PersistentSequential
            | Self::Ephemeral
            | Self::EphemeralSequential => OpCode::CREATE2,
        }
    }

    /// Checks the path of a new znode. A sequential one may end with a slash, since a number
    /// follows.
    pub(super) fn validate(self, path: &str) -> Result<(), path::PathError> {
        match self {
            Self::PersistentSequential
            | Self::EphemeralSequential
            | Self::PersistentSequentialWithTtl(_) => path::check_path(&[path, "1"].concat()),
            Self::Persistent | Self::Ephemeral | Self::Container | Self::PersistentWithTtl(_) => {
                path::check_path(path)
            }
        }
    }
}

const fn plain<'a>(
    path: &'a str,
    data: Option<&'a [u8]>,
    acl: Vector<'a, Acl<'a>>,
    mode: WireMode,
) -> CreateRecord<'a> {
    CreateRecord::Plain(CreateRequest { path, data, acl, mode })
}

/// A znode that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Created {
    /// Its path, with the number of a sequential one.
    pub path: String,
    /// Its metadata.
    pub stat: Stat,
}

impl Client {
    /// Creates a znode with an open access list: every client may do everything with it.
    ///
    /// Cancel safe: the znode may still be created.
    ///
    /// # Errors
    ///
    /// `NodeExists`; `NoNode` if there is no parent; `NoChildrenForEphemerals`; `NoAuth` without
    /// the permission to create children of the parent;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the server does not know the
    /// mode, or does not allow it.
    ///
    /// Before ZooKeeper 3.5 the client reads the metadata after the creation. If another client has
    /// deleted the znode by then, the error is `NoNode`, with the operation `exists`.
    pub async fn create(
        &self,
        path: &str,
        data: impl Into<Bytes>,
        mode: CreateMode,
    ) -> Result<Created, Error> {
        self.create_checked(path, &data.into(), mode, &[Acl::OPEN]).await
    }

    /// Creates a znode with an access list.
    ///
    /// Cancel safe: the znode may still be created.
    ///
    /// # Errors
    ///
    /// Those of [`Client::create`], and those of [`Client::set_acl`] that concern the list.
    pub async fn create_with_acl(
        &self,
        path: &str,
        data: impl Into<Bytes>,
        mode: CreateMode,
        acls: &Acls,
    ) -> Result<Created, Error> {
        let acl = checked_acls(mode.operation(), path, acls)?;
        self.create_checked(path, &data.into(), mode, &acl).await
    }

    /// Creates a znode with an access list that was checked.
    pub(super) async fn create_checked(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
        acl: &[Acl<'_>],
    ) -> Result<Created, Error> {
        let operation = mode.operation();
        let server_path = self.checked_path(operation, path, mode.validate(path))?;
        let reply = match mode.record(&server_path, data, Vector::new(acl)) {
            CreateRecord::Plain(create) => return self.create_plainly(path, create).await,
            CreateRecord::Container(create) => {
                self.call(path, &CreateContainerRequest(create)).await?
            }
            CreateRecord::Ttl(create) => self.call(path, &create).await?,
        };
        self.created(operation, path, &reply)
    }

    /// Creates by `create2`, or by `create` if the server does not know that.
    pub(super) async fn create_plainly(
        &self,
        path: &str,
        create: CreateRequest<'_>,
    ) -> Result<Created, Error> {
        let is_unsupported = |hub: &mut Hub, _| hub.host.is_unsupported(OpCode::CREATE2);
        if self.shared().with(is_unsupported) {
            return self.create_before_3_5(path, &create).await;
        }
        let connection = self.connection_updates();
        match self.call(path, &Create2Request(create)).await {
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported { .. }) => {
                self.pass_refusal(connection).await;
                self.create_before_3_5(path, &create).await
            }
            reply => self.created(OpCode::CREATE2, path, &reply?),
        }
    }

    fn created(&self, operation: OpCode, path: &str, reply: &Completion) -> Result<Created, Error> {
        let response: Create2Response<'_> = decoded_as(operation, path, reply)?;
        let created = self.shared().chroot.leave(response.path).to_owned();
        Ok(Created { path: created, stat: response.stat })
    }
}
