//! Turns requests into transactions. The checks come in the order of Apache ZooKeeper 3.9; if
//! several things are wrong with a request, the first check that fails gives the answer.

mod counters;
mod draft;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use zk_jute::records::Permissions;
use zk_jute::{ErrorCode, SessionId, Version};

pub(crate) use self::counters::PendingCounters;
use self::draft::{Draft, Outline};
use crate::access::{AccessList, Identities, InvalidAcl};
use crate::config::ExtendedTypes;
use crate::database::Database;
use crate::lifetime::Lifetime;
use crate::path;
use crate::tree::{Tree, Znode};
use crate::txn::{Extent, Moment, Rejection, Txn, TxnBody, TxnOperation};
use crate::write::{
    Create, LifetimeError, Naming, Operation, RequestedLifetime, Write, WriteRequest,
};

/// Checks a write against `database`, and makes the transaction that executes it, or the one that
/// says why it is refused. Both take the number in `at`.
///
/// `database` must have applied all transactions that were made before.
pub fn prepare(
    database: &Database,
    request: &WriteRequest,
    extended_types: ExtendedTypes,
    at: Moment,
) -> Txn {
    let session_state = SessionState::AsStored;
    let rules = Rules { extended_types, session_state, max_tree_bytes: usize::MAX };
    prepare_beside(database, request, rules, &mut PendingCounters::default(), at)
}

/// Does the work of [`prepare`], with what the leader knows beyond the database.
pub(crate) fn prepare_beside(
    database: &Database,
    request: &WriteRequest,
    rules: Rules,
    counters: &mut PendingCounters,
    at: Moment,
) -> Txn {
    let draft = Draft::new(database.tree(), counters);
    let tree_bytes = database.tree().bytes();
    let mut preparation = Preparation { database, request, rules, draft, tree_bytes };
    let (body, noted) = match preparation.body() {
        Ok(body) => (body, preparation.draft.into_counters()),
        // A refused write gives out no number.
        Err(rejection) => (TxnBody::Reject(rejection), Vec::new()),
    };
    for (path, counter) in noted {
        counters.note(at.zxid, &path, counter);
    }
    Txn { at, session: request.session, body }
}

/// The facts that the checks depend on, besides the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) extended_types: ExtendedTypes,
    pub(crate) session_state: SessionState,
    pub(crate) max_tree_bytes: usize,
}

/// The state of a session, which decides whether it may still write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// Yes, if it has begun and not ended.
    AsStored,
    /// No: the leader has marked it closing.
    Closing,
}

struct Preparation<'a> {
    database: &'a Database,
    request: &'a WriteRequest,
    rules: Rules,
    draft: Draft<'a>,
    /// Bytes of the tree with the operations so far. Deletions are not subtracted.
    tree_bytes: usize,
}

impl Preparation<'_> {
    fn body(&mut self) -> Result<TxnBody, Rejection> {
        match &self.request.write {
            Write::Undecodable => Err(whole_request(ErrorCode::MARSHALLING_ERROR)),
            Write::Reconfig => Err(whole_request(ErrorCode::RECONFIG_DISABLED)),
            Write::CloseSession => {
                // This includes a session that the leader has marked closing.
                if self.database.has_session(self.request.session) {
                    Ok(TxnBody::CloseSession)
                } else {
                    Err(whole_request(ErrorCode::SESSION_EXPIRED))
                }
            }
            Write::Single(operation) => match self.operation(operation) {
                Ok(operation) => Ok(TxnBody::Apply(vec![operation])),
                Err(error) => Err(whole_request(error)),
            },
            Write::Multi(operations) => self.multi(operations),
        }
    }

    /// Checks each operation with the effects of the earlier ones. If the session has ended, the
    /// first operation that looks for it fails, and not the header of the reply.
    fn multi(&mut self, operations: &[Operation]) -> Result<TxnBody, Rejection> {
        let mut prepared = Vec::with_capacity(operations.len());
        for (index, operation) in operations.iter().enumerate() {
            match self.operation(operation) {
                Ok(operation) => prepared.push(operation),
                Err(error) => {
                    return Err(Rejection { operation: index, error, extent: Extent::Operation });
                }
            }
        }
        Ok(TxnBody::Apply(prepared))
    }

    fn operation(&mut self, operation: &Operation) -> Result<TxnOperation, ErrorCode> {
        match operation {
            Operation::Create(create) => self.create(create),
            Operation::Delete { path, version } => self.delete(path, *version),
            Operation::SetData { path, data, version } => {
                let mut znode = self.existing_at_valid(path)?;
                self.permit(&znode.access, Permissions::WRITE)?;
                compare(*version, znode.version)?;
                let former = self.database.znode(path).and_then(Znode::data).map_or(0, <[u8]>::len);
                let length = data.as_ref().map_or(0, Bytes::len);
                self.grow(length.saturating_sub(former))?;
                znode.version = next_version(znode.version);
                self.draft.put(path, znode);
                let (path, data) = (path.clone(), data.clone());
                Ok(TxnOperation::SetData { path, data })
            }
            Operation::SetAcl { path, access, version } => self.set_acl(path, access, *version),
            Operation::Check { path, version } => {
                let znode = self.existing_at_valid(path)?;
                self.permit(&znode.access, Permissions::READ)?;
                compare(*version, znode.version)?;
                Ok(TxnOperation::Check)
            }
        }
    }

    fn create(&mut self, create: &Create) -> Result<TxnOperation, ErrorCode> {
        let lifetime = self.lifetime(create.lifetime)?;
        let session = self.session()?;
        let (parent_path, _) = split_plausible(&create.path)?;
        let access = create.access.clone().map_err(InvalidAcl::code)?;
        let mut parent = self.draft.get(parent_path).ok_or(ErrorCode::NO_NODE)?;
        self.permit(&parent.access, Permissions::CREATE)?;
        let path = match create.naming {
            Naming::Plain => create.path.clone(),
            Naming::Sequential => create.path.clone() + &parent.children_created.sequence(),
        };
        if !path::is_valid(&path) {
            return Err(ErrorCode::BAD_ARGUMENTS);
        }
        if self.draft.get(&path).is_some() {
            return Err(ErrorCode::NODE_EXISTS);
        }
        if parent.is_ephemeral {
            return Err(ErrorCode::NO_CHILDREN_FOR_EPHEMERALS);
        }
        let lifetime = match lifetime {
            RequestedLifetime::Persistent => Lifetime::Persistent,
            RequestedLifetime::Ephemeral => Lifetime::Ephemeral(session),
            RequestedLifetime::Container => Lifetime::Container,
            RequestedLifetime::Ttl(ttl) => Lifetime::Ttl(ttl),
        };
        self.grow(Tree::weight(&path, create.data.as_ref(), &access))?;
        parent.children_created = parent.children_created.next();
        parent.children += 1;
        self.draft.put(parent_path, parent);
        self.draft.put(&path, Outline::of_new(access.clone(), lifetime));
        Ok(TxnOperation::Create { path, data: create.data.clone(), access, lifetime })
    }

    fn delete(&mut self, path: &str, version: Version) -> Result<TxnOperation, ErrorCode> {
        self.session()?;
        let (parent_path, _) = split_plausible(path)?;
        if path::SYSTEM.contains(&path) {
            return Err(ErrorCode::BAD_ARGUMENTS);
        }
        let mut parent = self.draft.get(parent_path).ok_or(ErrorCode::NO_NODE)?;
        self.permit(&parent.access, Permissions::DELETE)?;
        let znode = self.draft.get(path).ok_or(ErrorCode::NO_NODE)?;
        compare(version, znode.version)?;
        if znode.children > 0 {
            return Err(ErrorCode::NOT_EMPTY);
        }
        parent.children = parent.children.saturating_sub(1);
        self.draft.put(parent_path, parent);
        self.draft.remove(path);
        Ok(TxnOperation::Delete { path: String::from(path) })
    }

    fn set_acl(
        &mut self,
        path: &str,
        access: &Result<AccessList, InvalidAcl>,
        version: Version,
    ) -> Result<TxnOperation, ErrorCode> {
        self.session()?;
        valid(path)?;
        let access = access.clone().map_err(InvalidAcl::code)?;
        let mut znode = self.draft.get(path).ok_or(ErrorCode::NO_NODE)?;
        self.permit(&znode.access, Permissions::ADMIN)?;
        compare(version, znode.aversion)?;
        self.grow(access.weight().saturating_sub(znode.access.weight()))?;
        znode.aversion = next_version(znode.aversion);
        znode.access = access.clone();
        self.draft.put(path, znode);
        let path = String::from(path);
        Ok(TxnOperation::SetAcl { path, access })
    }

    /// Adds these bytes to the tree's size, if there is room.
    fn grow(&mut self, bytes: usize) -> Result<(), ErrorCode> {
        let grown = self.tree_bytes.saturating_add(bytes);
        if bytes > 0 && grown > self.rules.max_tree_bytes {
            return Err(ErrorCode::QUOTA_EXCEEDED);
        }
        self.tree_bytes = grown;
        Ok(())
    }

    fn existing_at_valid(&self, path: &str) -> Result<Outline, ErrorCode> {
        self.session()?;
        valid(path)?;
        self.draft.get(path).ok_or(ErrorCode::NO_NODE)
    }

    fn lifetime(
        &self,
        requested: Result<RequestedLifetime, LifetimeError>,
    ) -> Result<RequestedLifetime, ErrorCode> {
        match (requested, self.rules.extended_types) {
            (Err(LifetimeError::UnknownMode), _)
            | (Err(LifetimeError::InvalidTtl), ExtendedTypes::Enabled) => {
                Err(ErrorCode::BAD_ARGUMENTS)
            }
            (
                Ok(RequestedLifetime::Ttl(_)) | Err(LifetimeError::InvalidTtl),
                ExtendedTypes::Disabled,
            ) => Err(ErrorCode::UNIMPLEMENTED),
            (Ok(lifetime), _) => Ok(lifetime),
        }
    }

    fn session(&self) -> Result<SessionId, ErrorCode> {
        let session = self.request.session;
        if self.rules.session_state == SessionState::AsStored && self.database.has_session(session)
        {
            Ok(session)
        } else {
            Err(ErrorCode::SESSION_EXPIRED)
        }
    }

    fn permit(&self, access: &AccessList, needed: Permissions) -> Result<(), ErrorCode> {
        let identities: &Identities = &self.request.identities;
        if access.grants(needed, identities) { Ok(()) } else { Err(ErrorCode::NO_AUTH) }
    }
}

fn split_plausible(path: &str) -> Result<(&str, &str), ErrorCode> {
    path::split(path).filter(|_| path::is_plausible(path)).ok_or(ErrorCode::BAD_ARGUMENTS)
}

fn valid(path: &str) -> Result<(), ErrorCode> {
    if path::is_valid(path) { Ok(()) } else { Err(ErrorCode::BAD_ARGUMENTS) }
}

/// Compares versions. A negative version other than "any" is compared like all others.
fn compare(expected: Version, actual: Version) -> Result<(), ErrorCode> {
    if expected == Version::ANY || expected == actual {
        Ok(())
    } else {
        Err(ErrorCode::BAD_VERSION)
    }
}

fn next_version(version: Version) -> Version {
    Version::new(version.get().wrapping_add(1))
}

const fn whole_request(error: ErrorCode) -> Rejection {
    Rejection { operation: 0, error, extent: Extent::Request }
}

#[cfg(test)]
mod tests;
