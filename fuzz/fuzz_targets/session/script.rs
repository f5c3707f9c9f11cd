//! What the fuzzer decides: how the session is configured, and what happens to it.

use core::time::Duration;

use arbitrary::Arbitrary;
use zk_fuzz::session::{Code, Options, Path, servers};
use zk_fuzz::{Blob, Text};
use zk_jute::ErrorCode;
use zk_session::Config;

#[derive(Arbitrary, Debug)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) setting: Setting,
    pub(crate) steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Setting {
    servers: u8,
    timeout: u16,
    options: Options,
}

impl Setting {
    pub(crate) fn config(&self) -> Config {
        let mut config = self.options.config(servers(self.servers));
        config.session_timeout = Duration::from_millis(self.timeout.into());
        config.limits.max_frame = 256;
        config.limits.max_in_flight = 8;
        config
    }
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Step {
    /// From the caller.
    Ask(Ask),
    Pass {
        millis: u16,
    },
    /// The clock, which nothing says is right: it may also go back.
    Jump {
        millis: u64,
    },
    /// Time passes until something is due, and it is done.
    Timeout,
    Opened,
    Closed,
    /// The driver has another list of servers.
    Servers {
        count: u8,
    },
    /// The server that was asked last says whether it takes writes.
    Probed {
        read_write: bool,
    },
    /// The mechanism's word, asked for or not.
    Mechanism {
        answer: u8,
        token: Blob,
    },
    /// The whole way to a connection.
    Connect,
    /// From the server.
    Receive(Receive),
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Ask {
    Submit {
        path: Path,
    },
    Watch {
        path: Path,
        kind: u8,
    },
    AddWatch {
        path: Path,
        recursive: bool,
    },
    Forget {
        nth: u8,
    },
    Disregard {
        nth: u8,
    },
    Authenticate {
        scheme: Text,
        credential: Blob,
    },
    KeepLease {
        path: Path,
    },
    KeepLeaseReady,
    LetLeaseLapse,
    Close,
    Detach,
    /// Goes on with what was detached, in place of the session that there is.
    Resume {
        seed: u8,
    },
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Receive {
    Accept {
        session: i8,
        timeout: i32,
        read_only: Option<bool>,
    },
    /// The answer to the oldest request that was sent.
    Answer {
        zxid: i8,
        error: Code,
        body: Blob,
    },
    /// A token, or none, for the oldest request that was sent.
    Token {
        token: Option<Blob>,
    },
    Pong {
        zxid: i8,
        error: Code,
    },
    Authenticated {
        error: Code,
    },
    Notify {
        zxid: i8,
        kind: u8,
        path: Path,
    },
    /// A reply to anything, or nothing.
    Reply {
        xid: i32,
        zxid: i64,
        error: i32,
        body: Blob,
    },
    Frame(Blob),
    Stream(Blob),
}

/// Codes that mean something to a session.
pub(crate) const TELLING: [ErrorCode; 6] = [
    ErrorCode::NO_NODE,
    ErrorCode::UNIMPLEMENTED,
    ErrorCode::SESSION_EXPIRED,
    ErrorCode::SESSION_MOVED,
    ErrorCode::AUTH_FAILED,
    ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH,
];

pub(crate) const PATHS: [&str; 4] = ["/a", "/a/b", "/a/b/c", "/"];
