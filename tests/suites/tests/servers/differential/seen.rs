//! A server's messages, without the parts that may differ between two servers that behave alike.
//!
//! Transactions are counted from the first of the episode. Sessions are known by the order in which
//! they were opened. A time has to be the same for the same transaction. Lists without an order
//! are sorted.

use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use zk_test_kit::opcode::Opcode;

use crate::differential::fields::{Fields, Short};

/// Something that a client saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seen {
    Connected {
        timeout: i32,
        session: Session,
        read_only: bool,
    },
    Expired,
    Event {
        zxid: Zxid,
        kind: i32,
        state: i32,
        path: Option<String>,
    },
    Reply {
        xid: i32,
        zxid: Zxid,
        error: i32,
        body: Vec<Value>,
    },
    /// The server closed the connection.
    End,
    /// A reply is missing, or the end is.
    Silence,
    /// Nothing that a server may say.
    Garbage(Bytes),
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Int(i32),
    Text(Option<String>),
    Bytes(Option<Bytes>),
    Names(Vec<Option<String>>),
    Acl(Vec<(i32, Option<String>, Option<String>)>),
    Stat(Stat),
    /// One of the results of a multi.
    Result {
        kind: i32,
        error: i32,
        values: Vec<Self>,
    },
    /// Behind what should be the end, or where something is missing.
    Rest(Bytes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Zxid {
    /// Zero, or below.
    Special(i64),
    /// Before the episode.
    Before,
    /// So many transactions after the episode's first.
    After(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Session {
    Nobody,
    /// The n-th that was opened.
    Known(usize),
    Unknown(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Time {
    Zero,
    /// That of the transaction.
    Right,
    /// Another one than that of the transaction.
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stat {
    created: (Zxid, Time),
    modified: (Zxid, Time),
    versions: [i32; 3],
    owner: Session,
    data_length: i32,
    children: i32,
    children_changed: Zxid,
}

/// The facts that a reader of a server has to know.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) base: i64,
    sessions: HashMap<i64, usize>,
    times: BTreeMap<i64, i64>,
}

impl Context {
    pub(crate) fn zxid(&self, zxid: i64) -> Zxid {
        match zxid {
            ..=0 => Zxid::Special(zxid),
            _ if zxid < self.base => Zxid::Before,
            _ => Zxid::After(zxid - self.base),
        }
    }

    /// Gives a session its number, unless it has one.
    pub(crate) fn meet(&mut self, session: i64) -> Session {
        let next = self.sessions.len();
        Session::Known(*self.sessions.entry(session).or_insert(next))
    }

    pub(crate) fn event(&self, zxid: i64, body: &[u8]) -> Seen {
        let mut fields = Fields::new(body);
        let mut read = || Ok::<_, Short>((fields.int()?, fields.int()?, fields.text()?));
        match read() {
            Ok((kind, state, path)) if fields.rest().is_empty() => {
                Seen::Event { zxid: self.zxid(zxid), kind, state, path }
            }
            _ => Seen::Garbage(Bytes::copy_from_slice(body)),
        }
    }

    /// Returns the body of the reply to such a request, if that went well.
    pub(crate) fn body(&mut self, opcode: Opcode, body: &[u8]) -> Vec<Value> {
        let mut fields = Fields::new(body);
        let mut values = Vec::new();
        // A missing field shows in the values that were read before.
        let _ = self.values(opcode, &mut fields, &mut values);
        if !fields.rest().is_empty() {
            values.push(Value::Rest(Bytes::copy_from_slice(fields.rest())));
        }
        values
    }

    fn values(
        &mut self,
        opcode: Opcode,
        from: &mut Fields<'_>,
        into: &mut Vec<Value>,
    ) -> Result<(), Short> {
        match opcode {
            Opcode::CREATE | Opcode::SYNC => into.push(Value::Text(from.text()?)),
            Opcode::CREATE2 | Opcode::CREATE_CONTAINER | Opcode::CREATE_TTL => {
                into.push(Value::Text(from.text()?));
                into.push(self.stat(from)?);
            }
            Opcode::EXISTS | Opcode::SET_DATA | Opcode::SET_ACL => into.push(self.stat(from)?),
            Opcode::GET_DATA => {
                into.push(Value::Bytes(from.bytes()?.map(Bytes::from)));
                into.push(self.stat(from)?);
            }
            Opcode::GET_ACL => {
                let entry = |from: &mut Fields<'_>| Ok((from.int()?, from.text()?, from.text()?));
                into.push(Value::Acl(from.sorted(entry)?));
                into.push(self.stat(from)?);
            }
            Opcode::GET_CHILDREN | Opcode::GET_EPHEMERALS => into.push(names(from)?),
            Opcode::GET_CHILDREN2 => {
                into.push(names(from)?);
                into.push(self.stat(from)?);
            }
            Opcode::GET_ALL_CHILDREN_NUMBER | Opcode::ADD_WATCH => {
                into.push(Value::Int(from.int()?));
            }
            Opcode::WHO_AM_I => {
                let entry = |from: &mut Fields<'_>| Ok((0, from.text()?, from.text()?));
                into.push(Value::Acl(from.sorted(entry)?));
            }
            Opcode::SASL => into.push(Value::Bytes(from.bytes()?.map(Bytes::from))),
            Opcode::MULTI | Opcode::MULTI_READ => self.results(from, into)?,
            _ => {}
        }
        Ok(())
    }

    fn results(&mut self, from: &mut Fields<'_>, into: &mut Vec<Value>) -> Result<(), Short> {
        const ERROR: i32 = -1;
        loop {
            let (kind, is_last, error) = (from.int()?, from.flag()?, from.int()?);
            if is_last {
                // Of the last header, too, nothing may differ.
                into.push(Value::Result { kind, error, values: Vec::new() });
                return Ok(());
            }
            let mut values = Vec::new();
            if kind == ERROR {
                values.push(Value::Int(from.int()?));
            } else {
                self.values(Opcode(kind), from, &mut values)?;
            }
            into.push(Value::Result { kind, error, values });
        }
    }

    fn stat(&mut self, from: &mut Fields<'_>) -> Result<Value, Short> {
        let (czxid, mzxid) = (from.long()?, from.long()?);
        let (ctime, mtime) = (from.long()?, from.long()?);
        let versions = [from.int()?, from.int()?, from.int()?];
        let owner = match from.long()? {
            0 => Session::Nobody,
            owner => {
                let known = self.sessions.get(&owner).copied();
                known.map_or(Session::Unknown(owner), Session::Known)
            }
        };
        Ok(Value::Stat(Stat {
            created: (self.zxid(czxid), self.time(czxid, ctime)),
            modified: (self.zxid(mzxid), self.time(mzxid, mtime)),
            versions,
            owner,
            data_length: from.int()?,
            children: from.int()?,
            children_changed: {
                let pzxid = from.long()?;
                self.zxid(pzxid)
            },
        }))
    }

    /// Returns the time of a transaction: it has one, wherever it shows.
    fn time(&mut self, zxid: i64, time: i64) -> Time {
        if time == 0 {
            return Time::Zero;
        }
        match *self.times.entry(zxid).or_insert(time) {
            known if known == time && is_about_now(time) => Time::Right,
            _ => Time::Wrong,
        }
    }
}

/// Whether the time is within the hour: this is no test of clocks.
fn is_about_now(millis: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = Duration::from_millis(millis.unsigned_abs());
    now.abs_diff(then) < Duration::from_secs(3600)
}

fn names(from: &mut Fields<'_>) -> Result<Value, Short> {
    Ok(Value::Names(from.sorted(Fields::text)?))
}
