//! The requests, as lists of fields, written to the wire by hand.
//!
//! Nothing here is shared with the codec of this workspace, which the embedded server reads with.

use bytes::Bytes;
use zk_test_kit::opcode::Opcode;

/// Stands for the episode's own znode in the paths of requests.
pub(crate) const HOME: char = '~';

/// One thing that happens, to both servers alike.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A client sends these requests at once and reads until it has every reply.
    Ask { client: usize, requests: Vec<Request> },
    /// A client ends its session.
    Close { client: usize },
    /// A client comes back to its session on a new connection.
    Return { client: usize, how: Return },
}

/// How a client comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    /// After its connection broke.
    AfterCut,
    /// While its former connection is open still.
    WhileConnected,
    /// With another password, while its former connection is open still.
    WithWrongPassword,
    /// Having seen more than the server has.
    FromTheFuture,
}

/// A request, but for its xid.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) opcode: Opcode,
    pub(crate) body: Vec<Field>,
    pub(crate) end: End,
}

/// The treatment of the last bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// They are as they should be.
    Whole,
    /// So many bytes are missing.
    Short(usize),
    /// So many more follow.
    Long(usize),
}

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Int(i32),
    Long(i64),
    Flag(bool),
    /// A path, or null.
    Path(Option<String>),
    /// Text that is no path.
    Text(Option<&'static str>),
    Bytes(Option<Bytes>),
    Paths(Option<Vec<String>>),
    Acl(Option<Vec<AclEntry>>),
    /// So many transactions before the latest that the client knows of.
    Ago(i64),
    /// Before an operation of a multi.
    Operation(Opcode),
    /// After the operations of a multi.
    NoMoreOperations,
}

/// An entry of an access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AclEntry {
    pub(crate) permissions: i32,
    pub(crate) scheme: Option<&'static str>,
    pub(crate) id: Option<&'static str>,
}

impl AclEntry {
    pub(crate) fn has_no_null(&self) -> bool {
        self.scheme.is_some() && self.id.is_some()
    }
}

/// The properties that differ between episodes, and clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The episode's own znode.
    pub(crate) home: &'a str,
    /// The latest transaction that the client knows of.
    pub(crate) latest: i64,
}

impl Request {
    pub(crate) fn new(opcode: Opcode, body: impl Into<Vec<Field>>) -> Self {
        Self { opcode, body: body.into(), end: End::Whole }
    }

    /// Returns the body on the wire.
    pub(crate) fn encode(&self, place: Place<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in &self.body {
            field.encode(place, &mut bytes);
        }
        match self.end {
            End::Whole => {}
            End::Short(missing) => bytes.truncate(bytes.len().saturating_sub(missing)),
            End::Long(more) => bytes.resize(bytes.len() + more, 0x5a),
        }
        bytes
    }

    /// Returns the path that the request begins with.
    pub(crate) fn path(&self) -> Option<&str> {
        match self.body.first() {
            Some(Field::Path(path)) => path.as_deref(),
            _ => None,
        }
    }
}

impl Field {
    fn encode(&self, place: Place<'_>, into: &mut Vec<u8>) {
        match self {
            Self::Int(value) => into.extend(value.to_be_bytes()),
            Self::Long(value) => into.extend(value.to_be_bytes()),
            Self::Flag(value) => into.push(u8::from(*value)),
            Self::Path(path) => put_path(place, path.as_deref(), into),
            Self::Text(text) => put_buffer(text.map(str::as_bytes), into),
            Self::Bytes(bytes) => put_buffer(bytes.as_deref(), into),
            Self::Paths(paths) => {
                put_length(paths.as_ref().map(Vec::len), into);
                for path in paths.iter().flatten() {
                    put_path(place, Some(path), into);
                }
            }
            Self::Acl(entries) => {
                put_length(entries.as_ref().map(Vec::len), into);
                for entry in entries.iter().flatten() {
                    into.extend(entry.permissions.to_be_bytes());
                    put_buffer(entry.scheme.map(str::as_bytes), into);
                    put_buffer(entry.id.map(str::as_bytes), into);
                }
            }
            Self::Ago(ago) => into.extend((place.latest - ago).to_be_bytes()),
            Self::Operation(opcode) => put_multi_header(opcode.0, false, into),
            Self::NoMoreOperations => put_multi_header(-1, true, into),
        }
    }
}

fn put_path(place: Place<'_>, path: Option<&str>, into: &mut Vec<u8>) {
    let path = path.map(|path| path.replace(HOME, place.home));
    put_buffer(path.as_deref().map(str::as_bytes), into);
}

fn put_multi_header(kind: i32, is_last: bool, into: &mut Vec<u8>) {
    into.extend(kind.to_be_bytes());
    into.push(u8::from(is_last));
    into.extend((-1_i32).to_be_bytes());
}

pub(crate) fn put_buffer(bytes: Option<&[u8]>, into: &mut Vec<u8>) {
    put_length(bytes.map(<[u8]>::len), into);
    into.extend(bytes.unwrap_or_default());
}

/// Writes a length; none is null.
fn put_length(length: Option<usize>, into: &mut Vec<u8>) {
    let length = length.map_or(-1, |length| i32::try_from(length).unwrap_or(i32::MAX));
    into.extend(length.to_be_bytes());
}
