//! The record of a run.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::operation::{Mode, Op};

/// An operation on one object, from its invocation to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The object: its kind, a slash, its name. See [`kinds`](super::kinds).
    pub key: String,
    /// When it was invoked.
    pub invoked: Duration,
    /// The operation.
    pub op: Op,
    /// Its end.
    pub end: End,
}

/// The end of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It took effect by this time; the operation with its results.
    Ok(Duration, Op),
    /// It did not take effect, and never will.
    Failed(Duration),
    /// It takes effect at any time after its invocation, or never.
    Unknown,
}

/// Finds a call again that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallId(usize);

/// The operations of a run, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    calls: Vec<Call>,
}

impl History {
    /// Makes a history of nothing.
    pub const fn new() -> Self {
        Self { calls: Vec::new() }
    }

    /// Notes an operation that begins. Its outcome is unknown unless an end is noted.
    pub fn invoke(&mut self, key: &str, at: Duration, op: Op) -> CallId {
        self.add(Call { key: key.to_owned(), invoked: at, op, end: End::Unknown });
        CallId(self.calls.len() - 1)
    }

    /// Notes that an operation took effect, with these results.
    pub fn ok(&mut self, call: CallId, at: Duration, op: Op) {
        self.end(call, End::Ok(at, op));
    }

    /// Notes that an operation took no effect.
    pub fn fail(&mut self, call: CallId, at: Duration) {
        self.end(call, End::Failed(at));
    }

    fn end(&mut self, CallId(index): CallId, end: End) {
        // An id is of a call of the history that gave it.
        if let Some(call) = self.calls.get_mut(index) {
            call.end = end;
        }
    }

    /// Adds a call that is over.
    pub fn add(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// Adds a grant of a lock: it was seen to be valid at a moment of the first span, and at `last` or later.
    pub fn held(
        &mut self,
        key: &str,
        (token, mode): (i64, Mode),
        [asked, seen]: [Duration; 2],
        last: Duration,
    ) {
        let (key, op) = (key.to_owned(), Op::Acquire { token: Some(token), mode });
        let end = End::Ok(seen, op.clone());
        self.add(Call { key: key.clone(), invoked: asked, op, end });
        // From that moment on, its holder does not claim to have it.
        self.add(Call { key, invoked: last, op: Op::Release { token }, end: End::Unknown });
    }

    /// Returns all calls.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the calls of each object.
    pub fn by_key(&self) -> BTreeMap<&str, Vec<&Call>> {
        let mut by_key: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in &self.calls {
            by_key.entry(&call.key).or_default().push(call);
        }
        by_key
    }
}

impl Extend<Call> for History {
    fn extend<I: IntoIterator<Item = Call>>(&mut self, calls: I) {
        self.calls.extend(calls);
    }
}
