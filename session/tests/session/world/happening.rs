//! The events that may happen to a session.

use core::num::NonZeroUsize;

use zk_jute::ErrorCode;
use zk_session::sasl::SaslFailure;
use zk_session::{ProbeAnswer, WatchMode};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// From the caller; the session may refuse it.
    Ask(Ask),
    Wait {
        millis: u64,
    },
    /// The clock, which nothing says is right: it may also go back.
    Jump {
        millis: u64,
    },
    /// The session does what is due.
    Timeout,
    /// Time passes until something is due, and it is done.
    Sleep,
    Opened,
    Closed,
    /// The driver has another list of servers.
    Servers {
        count: NonZeroUsize,
    },
    /// The server that was asked last says whether it takes writes.
    Probed {
        answer: ProbeAnswer,
    },
    /// The mechanism's word, asked for or not.
    Mechanism(Word),
    /// The whole way to a connection.
    Connect,
    /// From the server.
    Receive(Receive),
}

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Submit {
        path: String,
    },
    Watch {
        path: String,
        read: Read,
    },
    AddWatch {
        path: String,
        mode: WatchMode,
    },
    Forget {
        nth: usize,
    },
    /// The same, and the server is not told.
    Disregard {
        nth: usize,
    },
    Authenticate {
        scheme: String,
        credential: Vec<u8>,
    },
    KeepLease {
        znode: String,
    },
    KeepLeaseReady,
    LetLeaseLapse,
    Close,
    Detach,
    /// Goes on with what was detached, in place of the session that there is.
    Resume {
        seed: u64,
    },
}

/// A read that leaves a watch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    Exists,
    GetData,
    GetChildren,
}

#[derive(Clone, Debug)]
pub(crate) enum Word {
    Token(Vec<u8>),
    LastToken(Vec<u8>),
    Done,
    Failed(SaslFailure),
}

#[derive(Clone, Debug)]
pub(crate) enum Receive {
    Accept {
        session: i64,
        timeout: i32,
        read_only: Option<bool>,
    },
    /// To the oldest request that the server has read.
    Answer {
        zxid: i64,
        answer: Answer,
    },
    /// The same, with one byte of the header changed.
    Mangled {
        at: usize,
        byte: u8,
    },
    /// A token, or none, for the oldest request.
    Token {
        token: Option<Vec<u8>>,
    },
    Pong {
        zxid: i64,
        error: ErrorCode,
    },
    Authenticated {
        error: ErrorCode,
    },
    Notify {
        zxid: i64,
        kind: i32,
        path: String,
    },
    /// A reply to anything, or nothing.
    Reply {
        xid: i32,
        zxid: i64,
        error: ErrorCode,
        body: Vec<u8>,
    },
    Frame(Vec<u8>),
    Stream(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// As servers give it: that to a heartbeat succeeds, and its result says this.
    Sound(ErrorCode),
    /// With this behind the header; where that is nothing, a heartbeat has passed.
    Any(ErrorCode, Vec<u8>),
}
