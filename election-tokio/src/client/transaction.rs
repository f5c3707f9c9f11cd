//! Transactions: several writes, all or none.

use bytes::Bytes;
use zk_jute::records::{
    Acl, CheckVersionRequest, DeleteRequest, MultiOp, MultiRequest, MultiResponse, MultiResult,
    SetDataRequest, Stat,
};
use zk_jute::{ErrorCode, OpCode, Vector, Version};

use super::Client;
use super::access::checked_acls;
use super::create::{CreateMode, CreateRecord};
use super::operations::decoded;
use crate::acl::Acls;
use crate::error;
use crate::hub::Hub;
use crate::{Error, ErrorKind, path};

/// A list of writes that a server applies all or not at all; made by [`Client::transaction`].
#[derive(Clone, Debug)]
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction {
    client: Client,
    operations: Vec<Operation>,
}

#[derive(Clone, Debug)]
struct Operation {
    path: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Create { data: Bytes, mode: CreateMode, acls: Acls },
    Delete { version: Version },
    SetData { data: Bytes, version: Version },
    Check { version: Version },
}

/// The result of one operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationOutcome {
    /// A znode was created, with this path.
    Created(String),
    /// A znode was deleted.
    Deleted,
    /// Data was replaced; the metadata after it.
    DataSet(Stat),
    /// The version was as expected.
    Checked,
}

/// Why a transaction was not committed, or is not known to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// An operation was refused; nothing was applied.
    #[error("nothing was applied: operation {index}, {operation} {path}, was refused: {code}")]
    Refused {
        /// The index of the operation, from 0, in the order in which they were added.
        index: usize,
        /// The operation.
        operation: OpCode,
        /// Its path.
        path: String,
        /// The reason.
        code: ErrorCode,
    },
    /// The leadership or lock that guards the transaction is not held any more: it was lost or
    /// given up, its lease deadline has passed, or its znode is gone. Nothing was applied.
    #[error("nothing was applied: what guards the transaction is not held any more")]
    NotHeld,
    /// The names of the format have no id
    /// ([`Format::names_recur`](crate::format::Format::names_recur)): once the node was deleted and made
    /// again, the znode of another client can have the holder's name, and would let the write pass.
    /// Nothing was sent.
    #[error(
        "nothing was sent: in this format another client's znode can get the name of the holder's, so that \
         its name guards no write; let an election's epoch guard it (Leadership::epoch), or let the \
         store refuse smaller tokens, or use a format with ids in its names"
    )]
    NamesRecur,
    /// The transaction as a whole failed.
    #[error(transparent)]
    Request(#[from] Error),
}

impl TransactionError {
    /// Returns whether the transaction may have been applied, although it failed.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::NotHeld | Self::NamesRecur => false,
            Self::Request(error) => error.may_have_happened(),
        }
    }

    /// Returns the server's error code, if the server refused an operation or the whole.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::NotHeld | Self::NamesRecur => None,
            Self::Request(error) => error.code(),
        }
    }

    /// Returns whether nothing was applied because a znode, or the parent of one, does not exist.
    pub fn is_no_node(&self) -> bool {
        self.code() == Some(ErrorCode::NO_NODE)
    }

    /// Returns whether nothing was applied because a znode to create exists already.
    pub fn is_node_exists(&self) -> bool {
        self.code() == Some(ErrorCode::NODE_EXISTS)
    }

    /// Returns whether nothing was applied because a znode has another version than the given one.
    pub fn is_bad_version(&self) -> bool {
        self.code() == Some(ErrorCode::BAD_VERSION)
    }

    /// Returns whether nothing was applied because a znode to delete has children.
    pub fn is_not_empty(&self) -> bool {
        self.code() == Some(ErrorCode::NOT_EMPTY)
    }

    /// Returns whether nothing was applied because an access list does not permit an operation.
    pub fn is_no_auth(&self) -> bool {
        self.code() == Some(ErrorCode::NO_AUTH)
    }

    /// Returns whether the connection was lost before the reply: the transaction may or may not
    /// have been applied.
    pub fn is_connection_loss(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_connection_loss())
    }

    /// Returns advice, if there is any, like [`Error::advice`].
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Refused { operation, code, .. } => {
                error::advice(*operation, ErrorKind::Refused(*code))
            }
            Self::NotHeld => {
                Some("leave the work to the new holder, and wait until it is held again")
            }
            Self::NamesRecur => None,
            Self::Request(error) => error.advice(),
        }
    }
}

impl Client {
    /// Starts a transaction.
    pub fn transaction(&self) -> Transaction {
        Transaction { client: self.clone(), operations: Vec::new() }
    }
}

impl Transaction {
    /// Creates a znode with an open access list: every client may do everything with it.
    pub fn create(self, path: &str, data: impl Into<Bytes>, mode: CreateMode) -> Self {
        self.create_with_acl(path, data, mode, &Acls::open())
    }

    /// Creates a znode with an access list.
    pub fn create_with_acl(
        self,
        path: &str,
        data: impl Into<Bytes>,
        mode: CreateMode,
        acls: &Acls,
    ) -> Self {
        self.with(path, Kind::Create { data: data.into(), mode, acls: acls.clone() })
    }

    /// Deletes a znode, if its data has this version.
    pub fn delete(self, path: &str, version: Version) -> Self {
        self.with(path, Kind::Delete { version })
    }

    /// Replaces a znode's data, if it has this version.
    pub fn set_data(self, path: &str, data: impl Into<Bytes>, version: Version) -> Self {
        self.with(path, Kind::SetData { data: data.into(), version })
    }

    /// Makes the transaction fail unless a znode exists and its data has this version.
    pub fn check(self, path: &str, version: Version) -> Self {
        self.with(path, Kind::Check { version })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    fn with(mut self, path: &str, kind: Kind) -> Self {
        self.operations.push(Operation { path: path.to_owned(), kind });
        self
    }

    /// Sends the transaction. The server applies all operations, in order, or none.
    ///
    /// Cancel safe: all of it may still be applied, as after a lost connection.
    ///
    /// # Errors
    ///
    /// [`TransactionError::Refused`] if nothing was applied because of one operation;
    /// [`TransactionError::Request`] if the whole failed. [`TransactionError::may_have_happened`]
    /// then says whether the outcome is open. An invalid path, or an access list that no server
    /// would accept, is of that kind, and nothing is sent.
    pub async fn commit(self) -> Result<Vec<OperationOutcome>, TransactionError> {
        self.commit_if(|_| Ok(())).await
    }

    /// Returns the path of the first operation; empty if there is none.
    pub(crate) fn first_path(&self) -> &str {
        self.operations.first().map_or("", |operation| &operation.path)
    }

    /// Commits like [`Transaction::commit`], if `admit` does not object at the moment of
    /// submission.
    pub(crate) async fn commit_if(
        self,
        admit: impl Fn(&Hub) -> Result<(), TransactionError>,
    ) -> Result<Vec<OperationOutcome>, TransactionError> {
        let first = self.first_path();
        let mut paths = Vec::with_capacity(self.operations.len());
        for operation in &self.operations {
            let checked = match operation.kind {
                Kind::Create { mode, .. } => mode.validate(&operation.path),
                _ => path::check_path(&operation.path),
            };
            paths.push(self.client.checked_path(OpCode::MULTI, &operation.path, checked)?);
        }
        let acls: Vec<_> =
            self.operations.iter().map(Operation::acl).collect::<Result<_, Error>>()?;
        let mut operations = Vec::with_capacity(self.operations.len());
        for ((operation, path), acl) in self.operations.iter().zip(&paths).zip(&acls) {
            operations.push(operation.wire(path, acl));
        }
        let reply = self.client.call_if(first, &MultiRequest::new(&operations), admit).await?;
        let response: MultiResponse<'_> = decoded::<MultiRequest<'_>, _>(first, &reply)?;
        if let Some((index, code)) = response.error() {
            // A refusal of an operation that does not exist counts as one of the whole.
            let (operation, path) = match self.operations.get(index) {
                Some(Operation { path, kind }) => (kind.operation(), path.clone()),
                None => (OpCode::MULTI, String::new()),
            };
            return Err(TransactionError::Refused { index, operation, path, code });
        }
        let results: Vec<_> =
            response.iter().filter_map(|result| self.client.operation_outcome(result)).collect();
        if results.len() == self.operations.len() {
            Ok(results)
        } else {
            let end = zk_jute::DecodeErrorKind::Truncated {
                needed: self.operations.len(),
                left: results.len(),
            };
            let error = zk_jute::DecodeError { kind: end, offset: reply.body.len() };
            Err(Error::new(OpCode::MULTI, first, ErrorKind::UnreadableReply(error)).into())
        }
    }
}

impl Client {
    fn operation_outcome(&self, result: MultiResult<'_>) -> Option<OperationOutcome> {
        let path = |path: &str| self.shared().chroot.leave(path).to_owned();
        match result {
            MultiResult::Create(created) => Some(OperationOutcome::Created(path(created.path))),
            MultiResult::Create2(created) => Some(OperationOutcome::Created(path(created.path))),
            MultiResult::Delete => Some(OperationOutcome::Deleted),
            MultiResult::SetData(set) => Some(OperationOutcome::DataSet(set.stat)),
            MultiResult::Check => Some(OperationOutcome::Checked),
            _ => None,
        }
    }
}

impl Operation {
    /// Returns the entries of the access list of a new znode.
    ///
    /// # Errors
    ///
    /// No server would accept the access list.
    fn acl(&self) -> Result<Vec<Acl<'_>>, Error> {
        match &self.kind {
            Kind::Create { acls, .. } => checked_acls(OpCode::MULTI, &self.path, acls),
            Kind::Delete { .. } | Kind::SetData { .. } | Kind::Check { .. } => Ok(Vec::new()),
        }
    }

    fn wire<'a>(&'a self, path: &'a str, acl: &'a [Acl<'a>]) -> MultiOp<'a> {
        match &self.kind {
            Kind::Create { data, mode, .. } => match mode.record(path, data, Vector::new(acl)) {
                CreateRecord::Plain(create) => MultiOp::Create(create),
                CreateRecord::Container(create) => MultiOp::CreateContainer(create),
                CreateRecord::Ttl(create) => MultiOp::CreateTtl(create),
            },
            Kind::Delete { version } => MultiOp::Delete(DeleteRequest { path, version: *version }),
            Kind::SetData { data, version } => {
                MultiOp::SetData(SetDataRequest { path, data: Some(data), version: *version })
            }
            Kind::Check { version } => {
                MultiOp::Check(CheckVersionRequest { path, version: *version })
            }
        }
    }
}

impl Kind {
    const fn operation(&self) -> OpCode {
        match self {
            Self::Create { mode, .. } => mode.operation(),
            Self::Delete { .. } => OpCode::DELETE,
            Self::SetData { .. } => OpCode::SET_DATA,
            Self::Check { .. } => OpCode::CHECK,
        }
    }
}
