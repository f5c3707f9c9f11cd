//! What may happen to a session.

use core::num::NonZeroUsize;

use zk_session::{LeaseGrade, ProbeAnswer, Sasl, WatchMode, WhileDisconnected};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Submit,
    Watch {
        read: u8,
        path: u8,
    },
    AddWatch {
        mode: WatchMode,
        path: u8,
    },
    Forget {
        nth: usize,
    },
    Authenticate,
    Close,
    Detach,
    Wait {
        millis: u64,
    },
    /// The clock, which nothing says is right: it may also go back.
    Jump {
        millis: u64,
    },
    Timeout,
    Opened,
    Closed,
    Accept {
        session: i64,
        millis: i32,
        read_only: bool,
    },
    /// The server that was asked last says whether it takes writes.
    Probed {
        answer: ProbeAnswer,
    },
    Refuse,
    /// The whole way to a connection.
    Connect,
    /// An answer to the oldest request that the server has read.
    Answer {
        zxid: i64,
        error: i32,
    },
    /// The same, with one byte changed.
    Mangled {
        at: usize,
        byte: u8,
    },
    Pong {
        zxid: i64,
    },
    /// The mechanism's word, asked for or not.
    Mechanism {
        answer: u8,
    },
    /// The server's token, or none, for the oldest request that it has read.
    Token {
        token: Option<u8>,
    },
    KeepLease,
    KeepLeaseReady,
    LetLeaseLapse,
    Servers {
        count: NonZeroUsize,
    },
    Stray {
        xid: i32,
        error: i32,
    },
    Notify {
        zxid: i64,
        kind: i32,
        path: u8,
    },
    Bytes(Vec<u8>),
}

/// How the session is configured.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    pub(crate) servers: NonZeroUsize,
    pub(crate) timeout: u16,
    pub(crate) while_disconnected: WhileDisconnected,
    pub(crate) grade: LeaseGrade,
    pub(crate) sasl: Sasl,
}
