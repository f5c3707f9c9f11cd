//! What the fuzzer decides: how the session is configured, and what happens to it.

use core::num::NonZeroUsize;
use core::time::Duration;

use arbitrary::Arbitrary;
use zk_fuzz::{Blob, Text};
use zk_jute::ErrorCode;
use zk_session::{
    Config, LeaseGrade, ReadOnlyServers, Sasl, WatchMode, Watching, WhileDisconnected,
};

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
    grade: u8,
    queues: bool,
    sasl: bool,
    read_only: bool,
}

impl Setting {
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new(servers(self.servers));
        config.session_timeout = Duration::from_millis(self.timeout.into());
        config.grade = match self.grade % 3 {
            0 => LeaseGrade::Contact,
            1 => LeaseGrade::Sync,
            _ => LeaseGrade::Quorum,
        };
        if self.queues {
            config.while_disconnected = WhileDisconnected::Queue;
        }
        if self.sasl {
            config.sasl = Sasl::Required;
        }
        if self.read_only {
            config.read_only_servers = ReadOnlyServers::Accept;
        }
        config.limits.max_frame = 256;
        config.limits.max_in_flight = 8;
        config
    }
}

pub(crate) fn servers(count: u8) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(usize::from(count % 4))
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

/// Most often none, or one that means something to the session.
#[derive(Arbitrary, Debug)]
pub(crate) enum Code {
    Ok,
    Telling(u8),
    Any(i8),
}

impl Code {
    pub(crate) fn error(&self) -> ErrorCode {
        const TELLING: [ErrorCode; 6] = [
            ErrorCode::NO_NODE,
            ErrorCode::UNIMPLEMENTED,
            ErrorCode::SESSION_EXPIRED,
            ErrorCode::SESSION_MOVED,
            ErrorCode::AUTH_FAILED,
            ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH,
        ];
        match *self {
            Self::Ok => ErrorCode::OK,
            Self::Telling(nth) => TELLING[usize::from(nth) % TELLING.len()],
            Self::Any(code) => ErrorCode::new(code.into()),
        }
    }
}

/// Most often one of a few, so that they meet.
#[derive(Arbitrary, Debug)]
pub(crate) enum Path {
    Known(u8),
    Any(Text),
}

impl Path {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(number) => match number % 4 {
                0 => "/a",
                1 => "/a/b",
                2 => "/a/b/c",
                _ => "/",
            },
            Self::Any(Text(path)) => path,
        }
    }
}

pub(crate) fn watching(path: &str, kind: u8) -> Watching<'_> {
    match kind % 3 {
        0 => Watching::Exists(path),
        1 => Watching::GetData(path),
        _ => Watching::GetChildren(path),
    }
}

pub(crate) fn mode(recursive: bool) -> WatchMode {
    if recursive { WatchMode::PersistentRecursive } else { WatchMode::Persistent }
}
