//! The operations that are judged.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// An operation; with its results, where it has any and they are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "f", content = "value", rename_all = "kebab-case")]
pub enum Op {
    /// A read of a register, by a leader with this token.
    Read {
        /// The leader's.
        token: i64,
        /// What it showed.
        version: Option<u64>,
    },
    /// A write to a register, by a leader with this token.
    Write {
        /// The leader's.
        token: i64,
        /// The version that it was made of, where it was made of one.
        base: Option<u64>,
        /// The version that it made.
        version: Option<u64>,
    },
    /// A lock or a leadership is given.
    Acquire {
        /// The holder's.
        token: Option<i64>,
        /// Beside which others.
        mode: Mode,
    },
    /// It is held no longer: from its invocation on, its holder claims nothing.
    Release {
        /// The holder's.
        token: i64,
    },
    /// An entry is written behind all others.
    Append {
        /// The entry; no two are the same.
        entry: String,
        /// The token of its writer, where writers have tokens.
        token: i64,
    },
    /// All entries, in their order, when nobody writes any more.
    Log {
        /// The entries.
        entries: Vec<String>,
    },
    /// An item is put into a queue.
    Put {
        /// The item; no two are the same.
        item: String,
    },
    /// An item is taken out of it.
    Take {
        /// Which, where that is known.
        item: Option<String>,
    },
    /// All items of a queue, when nobody uses it any more.
    Left {
        /// The items.
        items: Vec<String>,
    },
    /// A counter is raised.
    Add {
        /// By how much: more than nothing.
        by: i64,
        /// What it is then.
        value: Option<i64>,
    },
    /// A counter is set, if it has this value.
    CompareAndSet {
        /// The value that it must have.
        expected: i64,
        /// The value that it gets, a greater one.
        new: i64,
    },
}

/// Beside which others a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Beside none.
    Alone,
    /// Beside others that share it.
    Shared,
}
