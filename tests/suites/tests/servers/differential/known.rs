//! The known differences between the answers of releases of Apache ZooKeeper. The embedded server
//! answers as 3.9 does; Debian ships 3.8.0.

use core::fmt;
use core::net::SocketAddr;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use zk_test_kit::opcode::Opcode;

use crate::differential::request::{Field, Request};
use crate::differential::seen::{Seen, Value, Zxid};

/// A release of Apache ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerVersion([u32; 3]);

/// The answers of both servers at the same place, and their request.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    /// The request that a reply answers.
    pub(crate) request: Option<&'a Request>,
    pub(crate) apache: &'a Seen,
    pub(crate) embedded: &'a Seen,
}

/// A difference that is none of the embedded server's.
pub(crate) struct Known {
    /// The first release that answers as the embedded server does.
    until: ServerVersion,
    pub(crate) what: &'static str,
    excuses: fn(Pair<'_>) -> bool,
}

/// Each entry is as narrow as one reply can show it.
pub(crate) const KNOWN: [Known; 5] = [
    Known {
        until: ServerVersion([3, 9, 0]),
        what: "watch events carry no transaction",
        excuses: event_without_transaction,
    },
    Known {
        until: ServerVersion([3, 9, 0]),
        what: "checkWatches finds the watches of other connections, too",
        excuses: watch_of_another,
    },
    Known {
        until: ServerVersion([3, 8, 2]),
        what: "create2 within multi is answered as create",
        excuses: create2_answered_as_create,
    },
    Known {
        until: ServerVersion([3, 8, 2]),
        what: "an impossible mode fails one operation of a multi, not all of it",
        excuses: unknown_mode_in_multi,
    },
    Known {
        until: SINCE_EXISTS_IS_GUARDED,
        what: "exists needs no permission",
        excuses: exists_without_permission,
    },
];

/// Before, more differs than an entry for each would be worth: lasting watches that depend on each
/// other, notifications without permission, operations that are not there.
pub(crate) const OLDEST: ServerVersion = ServerVersion([3, 8, 0]);

/// A watch left by `exists` on a znode that may not be read has to be taken back, or it would be
/// there on one server only.
const SINCE_EXISTS_IS_GUARDED: ServerVersion = ServerVersion([3, 8, 4]);

/// Before, a connection has one kind of watch on a path, and the latest is it; there are no watcher
/// types 4 and 5; and `checkWatches` of a path without a slash fails while any client watches
/// recursively. The consequences cannot be told reply by reply, so one connection is not made to
/// mix kinds on a path, nor the others asked for.
const SINCE_WATCHES_MIX: ServerVersion = ServerVersion([3, 9, 0]);

/// Before, a single write that cannot be read takes a transaction, so that all later ones have
/// another number.
const SINCE_UNREADABLE_IS_NOTHING: ServerVersion = ServerVersion([3, 9, 0]);

impl ServerVersion {
    pub(crate) fn of(server: SocketAddr) -> io::Result<Self> {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(b"srvr")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let version = answer.strip_prefix("Zookeeper version: ").unwrap_or(&answer);
        let digits = |character: char| !character.is_ascii_digit();
        let mut numbers = version.split(digits).map_while(|number| number.parse().ok());
        let mut next = || numbers.next().ok_or_else(|| io::Error::other(answer.clone()));
        Ok(Self([next()?, next()?, next()?]))
    }

    pub(crate) fn guards_exists(self) -> bool {
        self >= SINCE_EXISTS_IS_GUARDED
    }

    pub(crate) fn mixes_watches(self) -> bool {
        self >= SINCE_WATCHES_MIX
    }

    pub(crate) fn skips_the_unreadable(self) -> bool {
        self >= SINCE_UNREADABLE_IS_NOTHING
    }

    /// Returns the known difference that this one is.
    pub(crate) fn excuse(self, pair: Pair<'_>) -> Option<&'static Known> {
        KNOWN.iter().find(|known| self < known.until && (known.excuses)(pair))
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(formatter, "{major}.{minor}.{patch}")
    }
}

fn event_without_transaction(pair: Pair<'_>) -> bool {
    match (pair.apache, pair.embedded) {
        (
            Seen::Event { zxid: Zxid::Special(-1), .. },
            Seen::Event { zxid: Zxid::After(_), kind, state, path },
        ) => {
            let zxid = Zxid::Special(-1);
            let (kind, state, path) = (*kind, *state, path.clone());
            *pair.apache == Seen::Event { zxid, kind, state, path }
        }
        _ => false,
    }
}

fn create2_answered_as_create(pair: Pair<'_>) -> bool {
    let Some((ours, theirs)) = replies(pair, Opcode::MULTI) else {
        return false;
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(ours, theirs)| {
            ours == theirs || as_create(ours).is_some_and(|ours| ours == *theirs)
        })
}

/// Returns the result of a `create2` as that of a `create`.
fn as_create(result: &Value) -> Option<Value> {
    match result {
        Value::Result { kind, error: 0, values } if *kind == Opcode::CREATE2.0 => {
            let path = values.first()?.clone();
            Some(Value::Result { kind: Opcode::CREATE.0, error: 0, values: vec![path] })
        }
        _ => None,
    }
}

/// Returns the bodies of two replies, if nothing but these differs.
fn replies(pair: Pair<'_>, to: Opcode) -> Option<(&[Value], &[Value])> {
    let (
        Seen::Reply { xid, zxid, error, body: theirs },
        Seen::Reply { xid: xid2, zxid: zxid2, error: error2, body: ours },
    ) = (pair.apache, pair.embedded)
    else {
        return None;
    };
    let is_asked = pair.request.is_some_and(|request| request.opcode == to);
    (is_asked && (xid, zxid, error) == (xid2, zxid2, error2)).then_some((ours, theirs))
}

fn unknown_mode_in_multi(pair: Pair<'_>) -> bool {
    const MARSHALLING: i32 = -5;
    const BAD_ARGUMENTS: i32 = -8;
    let (
        Seen::Reply { xid, zxid, error: 0, body },
        Seen::Reply { xid: xid2, zxid: zxid2, error: MARSHALLING, .. },
    ) = (pair.apache, pair.embedded)
    else {
        return false;
    };
    let mut results = body.iter().map(|result| match result {
        Value::Result { error, .. } => *error,
        _ => 0,
    });
    let Some(failed) = results.position(|error| error != 0) else {
        return false;
    };
    // An earlier operation may fail before it is its turn.
    let is_reason = match pair.request.and_then(unknown_mode) {
        Some(unknown) if unknown == failed => {
            matches!(body.get(failed), Some(Value::Result { error: BAD_ARGUMENTS, .. }))
        }
        Some(unknown) => failed < unknown,
        None => false,
    };
    is_reason && (xid, zxid) == (xid2, zxid2)
}

/// Returns the first operation of a multi with a mode that does not exist, or that lacks a time to
/// live.
fn unknown_mode(request: &Request) -> Option<usize> {
    let is_unknown = |fields: &[Field]| match fields {
        [Field::Acl(_), Field::Int(5 | 6), after] => !matches!(after, Field::Long(_)),
        [Field::Acl(_), Field::Int(mode), _] => !(0..=6).contains(mode),
        _ => false,
    };
    let at = request.body.windows(3).position(is_unknown)?;
    let before = request.body.iter().take(at);
    before.filter(|field| matches!(field, Field::Operation(_))).count().checked_sub(1)
}

fn watch_of_another(pair: Pair<'_>) -> bool {
    const NO_WATCHER: i32 = -121;
    only_refused_here(pair, Opcode::CHECK_WATCHES, NO_WATCHER)
}

fn exists_without_permission(pair: Pair<'_>) -> bool {
    const NO_AUTH: i32 = -102;
    only_refused_here(pair, Opcode::EXISTS, NO_AUTH)
}

/// Whether Apache ZooKeeper does what the embedded server refuses.
fn only_refused_here(pair: Pair<'_>, asked: Opcode, code: i32) -> bool {
    match (pair.apache, pair.embedded) {
        (
            Seen::Reply { xid, zxid, error: 0, .. },
            Seen::Reply { xid: xid2, zxid: zxid2, error, .. },
        ) => {
            let is_asked = pair.request.is_some_and(|request| request.opcode == asked);
            is_asked && *error == code && (xid, zxid) == (xid2, zxid2)
        }
        _ => false,
    }
}
