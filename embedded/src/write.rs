//! Write requests, owned, as they travel from a replica to the leader.

mod bodies;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use zk_jute::records::{CheckVersionRequest, CreateMode, DeleteRequest, SetDataRequest, TtlMode};
use zk_jute::{Decode, DecodeError, OpCode, SessionId, Version};

use self::bodies::{CreateBody, CreateTtlBody, SetAclBody};
pub(crate) use self::bodies::{MultiEntry, multi_entries};
use crate::access::{AccessList, AclResolver, Identities, InvalidAcl};

/// The longest time to live, in milliseconds. It has to fit beside its mark in ZooKeeper's owner
/// field.
const MAX_TTL_MILLIS: u64 = 0xff_ffff_ffff;

/// A write, and the session that asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// The session.
    pub session: SessionId,
    /// The identities of its connection.
    pub identities: Identities,
    /// The change that it asks for.
    pub write: Write,
}

/// The change that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// One operation.
    Single(Operation),
    /// Several operations, all together or none.
    Multi(Vec<Operation>),
    /// The end of the session.
    CloseSession,
    /// A change of the ensemble, which is always refused.
    Reconfig,
    /// Several operations that could not be decoded.
    Undecodable,
}

/// An operation on one znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Create a znode.
    Create(Create),
    /// Delete a znode.
    Delete {
        /// The znode.
        path: String,
        /// The version that it must have.
        version: Version,
    },
    /// Replace a znode's data.
    SetData {
        /// The znode.
        path: String,
        /// The new data.
        data: Option<Bytes>,
        /// The version that it must have.
        version: Version,
    },
    /// Replace a znode's access list.
    SetAcl {
        /// The znode.
        path: String,
        /// The new list.
        access: Result<AccessList, InvalidAcl>,
        /// The version that the access list must have.
        version: Version,
    },
    /// Compare a znode's version.
    Check {
        /// The znode.
        path: String,
        /// The version that it must have.
        version: Version,
    },
}

/// Create a znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The path, without the sequence.
    pub path: String,
    /// The data.
    pub data: Option<Bytes>,
    /// The access list.
    pub access: Result<AccessList, InvalidAcl>,
    /// The naming: as asked, or with a sequence number that the server appends.
    pub naming: Naming,
    /// The event that is to end the znode's life.
    pub lifetime: Result<RequestedLifetime, LifetimeError>,
}

/// The naming of a znode: as asked, or with a sequence number at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The name is as asked for.
    Plain,
    /// The server appends ten digits.
    Sequential,
}

/// The event that is to end the life of a new znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedLifetime {
    /// Nothing.
    Persistent,
    /// The end of the session that asks.
    Ephemeral,
    /// The loss of its last child.
    Container,
    /// The passing of this time without a write.
    Ttl(Duration),
}

/// The server cannot use a mode of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeError {
    /// The mode does not exist, or not for this operation.
    UnknownMode,
    /// The time to live is not between 1 and 2⁴⁰ − 1 milliseconds.
    InvalidTtl,
}

/// Decodes the body of a write. Returns `None` if the opcode is no write, or not one for clients.
///
/// Since 3.9 a single operation that cannot be decoded takes no transaction; a multi does.
pub(crate) fn read(
    opcode: OpCode,
    body: &[u8],
    identities: &Identities,
) -> Option<Result<Write, DecodeError>> {
    let acls = &mut AclResolver::new(identities);
    Some(match opcode {
        OpCode::CLOSE_SESSION => Ok(Write::CloseSession),
        OpCode::RECONFIG => Ok(Write::Reconfig),
        OpCode::MULTI => Ok(read_multi(body, acls).unwrap_or(Write::Undecodable)),
        _ => read_single(opcode, body, acls)?.map(Write::Single),
    })
}

fn read_single(
    opcode: OpCode,
    body: &[u8],
    acls: &mut AclResolver<'_>,
) -> Option<Result<Operation, DecodeError>> {
    Some(match opcode {
        OpCode::CREATE | OpCode::CREATE2 => {
            CreateBody::decode_prefix(body).map(|r| create(&r, Kind::Plain, acls))
        }
        OpCode::CREATE_CONTAINER => {
            CreateBody::decode_prefix(body).map(|r| create(&r, Kind::Container, acls))
        }
        OpCode::CREATE_TTL => CreateTtlBody::decode_prefix(body).map(|r| create_ttl(&r, acls)),
        OpCode::DELETE => DeleteRequest::decode_prefix(body).map(delete),
        OpCode::SET_DATA => SetDataRequest::decode_prefix(body).map(set_data),
        OpCode::SET_ACL => SetAclBody::decode_prefix(body).map(|r| Operation::SetAcl {
            path: r.path.to_string(),
            access: acls.resolve(r.acl.iter()),
            version: r.version,
        }),
        _ => return None,
    })
}

/// Decodes a multi. An unknown mode, or one that needs a time to live and has none, makes a multi
/// undecodable as a whole, as since 3.9.0. An invalid time to live does not.
fn read_multi(body: &[u8], acls: &mut AclResolver<'_>) -> Result<Write, DecodeError> {
    let Some(entries) = multi_entries(body)? else {
        return Ok(Write::Undecodable);
    };
    let mut operations = Vec::new();
    for entry in &entries {
        let operation = operation_of(entry, acls);
        if let Operation::Create(create) = &operation
            && !fits_into_multi(entry, create.lifetime)
        {
            return Ok(Write::Undecodable);
        }
        operations.push(operation);
    }
    Ok(Write::Multi(operations))
}

fn operation_of(entry: &MultiEntry<'_>, acls: &mut AclResolver<'_>) -> Operation {
    match entry {
        // Within a multi the mode of a container makes one, whatever the opcode.
        MultiEntry::Create(body) | MultiEntry::Create2(body)
            if body.mode != CreateMode::CONTAINER =>
        {
            create(body, Kind::Plain, acls)
        }
        MultiEntry::Create(body)
        | MultiEntry::Create2(body)
        | MultiEntry::CreateContainer(body) => create(body, Kind::Container, acls),
        MultiEntry::CreateTtl(body) => create_ttl(body, acls),
        MultiEntry::Delete(body) => delete(*body),
        MultiEntry::SetData(body) => set_data(*body),
        MultiEntry::Check(CheckVersionRequest { path, version }) => {
            Operation::Check { path: (*path).to_string(), version: *version }
        }
    }
}

fn fits_into_multi(
    entry: &MultiEntry<'_>,
    lifetime: Result<RequestedLifetime, LifetimeError>,
) -> bool {
    match lifetime {
        Ok(_) => true,
        Err(LifetimeError::InvalidTtl) => matches!(entry, MultiEntry::CreateTtl(_)),
        Err(LifetimeError::UnknownMode) => false,
    }
}

/// The facts that the opcode of a create tells, besides the mode.
#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Container,
}

/// Reads a create. Servers accept every known mode with `createContainer`, and make a container;
/// with a plain `create` the container mode makes a persistent znode.
fn create(
    request: &CreateBody<'_, CreateMode>,
    kind: Kind,
    acls: &mut AclResolver<'_>,
) -> Operation {
    let lifetime = match (kind, request.mode) {
        (Kind::Plain, CreateMode::EPHEMERAL | CreateMode::EPHEMERAL_SEQUENTIAL) => {
            Ok(RequestedLifetime::Ephemeral)
        }
        (
            Kind::Plain,
            CreateMode::PERSISTENT | CreateMode::PERSISTENT_SEQUENTIAL | CreateMode::CONTAINER,
        ) => Ok(RequestedLifetime::Persistent),
        (Kind::Container, mode) if mode.name().is_some() => Ok(RequestedLifetime::Container),
        // These modes need a time to live, and this request has no field for one.
        (_, mode) if TtlMode::new(mode.get()).name().is_some() => Err(LifetimeError::InvalidTtl),
        _ => Err(LifetimeError::UnknownMode),
    };
    Operation::Create(Create {
        path: request.path.to_string(),
        data: request.data.map(Bytes::copy_from_slice),
        access: acls.resolve(request.acl.iter()),
        naming: naming(request.mode.is_sequential()),
        lifetime,
    })
}

fn create_ttl(request: &CreateTtlBody<'_>, acls: &mut AclResolver<'_>) -> Operation {
    let CreateTtlBody { create: request, ttl } = request;
    let ttl = u64::try_from(*ttl).ok();
    let lifetime = match (request.mode.name(), ttl) {
        (Some(_), Some(ttl @ 1..=MAX_TTL_MILLIS)) => {
            Ok(RequestedLifetime::Ttl(Duration::from_millis(ttl)))
        }
        (Some(_), _) => Err(LifetimeError::InvalidTtl),
        // Apache's servers have terminated on these.
        (None, _) => Err(LifetimeError::UnknownMode),
    };
    Operation::Create(Create {
        path: request.path.to_string(),
        data: request.data.map(Bytes::copy_from_slice),
        access: acls.resolve(request.acl.iter()),
        naming: naming(request.mode == TtlMode::PERSISTENT_SEQUENTIAL),
        lifetime,
    })
}

fn delete(request: DeleteRequest<'_>) -> Operation {
    Operation::Delete { path: request.path.to_string(), version: request.version }
}

fn set_data(request: SetDataRequest<'_>) -> Operation {
    Operation::SetData {
        path: request.path.to_string(),
        data: request.data.map(Bytes::copy_from_slice),
        version: request.version,
    }
}

fn naming(is_sequential: bool) -> Naming {
    if is_sequential { Naming::Sequential } else { Naming::Plain }
}
