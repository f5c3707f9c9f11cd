//! The fuzzer's decisions: how the session is configured, and what happens to it.

use core::time::Duration;

use arbitrary::Arbitrary;
use zk_fuzz::session::{Code, Options, Path, mode, servers};
use zk_fuzz::{Blob, Text};
use zk_jute::ErrorCode;
use zk_session::sasl::SaslFailure;
use zk_session::{Config, ProbeAnswer};

use crate::world::{self, Answer, Happening, Read, Word};

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
const TELLING: [ErrorCode; 6] = [
    ErrorCode::NO_NODE,
    ErrorCode::UNIMPLEMENTED,
    ErrorCode::SESSION_EXPIRED,
    ErrorCode::SESSION_MOVED,
    ErrorCode::AUTH_FAILED,
    ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH,
];

const PATHS: [&str; 4] = ["/a", "/a/b", "/a/b/c", "/"];

impl From<Step> for Happening {
    fn from(step: Step) -> Self {
        match step {
            Step::Ask(ask) => Self::Ask(ask.into()),
            Step::Pass { millis } => Self::Wait { millis: millis.into() },
            Step::Jump { millis } => Self::Jump { millis },
            Step::Timeout => Self::Sleep,
            Step::Opened => Self::Opened,
            Step::Closed => Self::Closed,
            Step::Servers { count } => Self::Servers { count: servers(count) },
            Step::Probed { read_write: true } => Self::Probed { answer: ProbeAnswer::ReadWrite },
            Step::Probed { read_write: false } => Self::Probed { answer: ProbeAnswer::Other },
            Step::Mechanism { answer, token: Blob(token) } => Self::Mechanism(match answer % 8 {
                0..3 => Word::Token(token),
                3 => Word::LastToken(token),
                4..7 => Word::Done,
                _ => Word::Failed(SaslFailure::ServerUnproved),
            }),
            Step::Connect => Self::Connect,
            Step::Receive(receive) => Self::Receive(receive.into()),
        }
    }
}

impl From<Ask> for world::Ask {
    fn from(ask: Ask) -> Self {
        match ask {
            Ask::Submit { path } => Self::Submit { path: known(&path) },
            Ask::Watch { path, kind } => {
                let read = match kind % 3 {
                    0 => Read::Exists,
                    1 => Read::GetData,
                    _ => Read::GetChildren,
                };
                Self::Watch { path: known(&path), read }
            }
            Ask::AddWatch { path, recursive } => {
                Self::AddWatch { path: known(&path), mode: mode(recursive) }
            }
            Ask::Forget { nth } => Self::Forget { nth: nth.into() },
            Ask::Disregard { nth } => Self::Disregard { nth: nth.into() },
            Ask::Authenticate { scheme: Text(scheme), credential: Blob(credential) } => {
                Self::Authenticate { scheme, credential }
            }
            Ask::KeepLease { path } => Self::KeepLease { znode: known(&path) },
            Ask::KeepLeaseReady => Self::KeepLeaseReady,
            Ask::LetLeaseLapse => Self::LetLeaseLapse,
            Ask::Close => Self::Close,
            Ask::Detach => Self::Detach,
            Ask::Resume { seed } => Self::Resume { seed: seed.into() },
        }
    }
}

impl From<Receive> for world::Receive {
    fn from(receive: Receive) -> Self {
        match receive {
            Receive::Accept { session, timeout, read_only } => {
                Self::Accept { session: session.into(), timeout, read_only }
            }
            Receive::Answer { zxid, error, body: Blob(body) } => {
                let answer = Answer::Any(error.error(&TELLING), body);
                Self::Answer { zxid: zxid.into(), answer }
            }
            Receive::Token { token } => Self::Token { token: token.map(|Blob(token)| token) },
            Receive::Pong { zxid, error } => {
                Self::Pong { zxid: zxid.into(), error: error.error(&TELLING) }
            }
            Receive::Authenticated { error } => {
                Self::Authenticated { error: error.error(&TELLING) }
            }
            // The four kinds that there are, and one more.
            Receive::Notify { zxid, kind, path } => {
                Self::Notify { zxid: zxid.into(), kind: (kind % 5 + 1).into(), path: known(&path) }
            }
            Receive::Reply { xid, zxid, error, body: Blob(body) } => {
                Self::Reply { xid, zxid, error: ErrorCode::new(error), body }
            }
            Receive::Frame(Blob(frame)) => Self::Frame(frame),
            Receive::Stream(Blob(bytes)) => Self::Stream(bytes),
        }
    }
}

fn known(path: &Path) -> String {
    path.among(&PATHS).to_owned()
}
