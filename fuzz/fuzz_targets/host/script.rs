//! The fuzzer's decisions: how the host is made, and what happens to it.

use core::time::Duration;

use arbitrary::Arbitrary;
use election_session::{Chroot, IfGone, OnExpiry, Settings};
use zk_fuzz::session::{Code, Options, Path, servers};
use zk_fuzz::{Blob, Text};
use zk_jute::ErrorCode;

use crate::recipe::Instruction;

/// Calls that may be in flight.
pub(crate) const MOST_CALLS: usize = 3;

#[derive(Arbitrary, Debug)]
pub(crate) struct Script {
    pub(crate) seed: u8,
    pub(crate) setting: Setting,
    pub(crate) steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Setting {
    servers: u8,
    options: Options,
    closes: bool,
    chroot: bool,
    looks: u16,
}

impl Setting {
    pub(crate) fn settings(&self, seed: u8) -> Settings {
        let mut config = self.options.config(servers(self.servers));
        config.session_timeout = Duration::from_secs(4);
        config.limits.max_frame = 512;
        config.limits.max_in_flight = MOST_CALLS;
        let mut settings = Settings::new(config, seed.into());
        if self.closes {
            settings.on_expiry = OnExpiry::Close;
        }
        settings.look_interval = Some(Duration::from_millis(self.looks.into()));
        settings
    }

    pub(crate) fn chroot(&self) -> Chroot {
        let chroot = Chroot::new(if self.chroot { "/app" } else { "" });
        chroot.expect("a path")
    }
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Step {
    /// From the caller.
    Ask(Ask),
    /// The same, and all arrives that comes of it.
    AskAndFlush(Ask),
    Pass {
        millis: u16,
    },
    /// The clock, which nothing says is right: it may also go back.
    Jump {
        millis: u64,
    },
    /// Time passes until something is due, and it is done.
    Timeout,
    /// The whole way to a connection; the answer to the handshake may be another one.
    Connect {
        by: Option<Falsification>,
    },
    /// Everything that is on its way arrives.
    Flush,
    /// Nothing is taken out of the host for so many steps.
    Hold {
        steps: u8,
    },
    /// A call that a driver may make at any time.
    Opened,
    Closed,
    /// The connection is lost. The server may have read the requests, but answers nothing any more.
    Break {
        is_read: bool,
    },
    /// This many bytes arrive at the server.
    ToServer {
        bytes: u8,
    },
    /// This many frames of it arrive.
    ToClient {
        frames: u8,
    },
    /// A frame of the server on its way is another.
    Falsify {
        nth: u8,
        by: Falsification,
    },
    /// A frame arrives that no server has sent.
    Receive(Receive),
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
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Ask {
    StandForElection {
        node: u8,
        id: u8,
        returning: bool,
        stands_again: bool,
        must_exist: bool,
    },
    Stand {
        node: u8,
        instructions: Vec<Instruction>,
    },
    Withdraw {
        nth: u8,
    },
    Deadline {
        nth: u8,
        millis: Option<u16>,
    },
    Submit {
        path: Path,
        kind: u8,
    },
    /// Deletes the candidate of a recipe.
    Evict {
        nth: u8,
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
    Authenticate {
        scheme: Text,
        credential: Blob,
    },
    Close,
    Abandon,
    Detach,
    /// Goes on with what was detached, in place of the host that there is.
    Resume {
        seed: u8,
        fails: bool,
    },
}

/// The fate of a frame.
#[derive(Arbitrary, Debug)]
pub(crate) enum Falsification {
    Error(Code),
    Zxid(i8),
    Body(Blob),
    Byte {
        at: u8,
        by: u8,
    },
    /// The answer to a handshake has this session, or is that of a server that is cut off.
    Session(i8),
    ReadOnly,
    Drop,
    Twice,
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Receive {
    Accept {
        session: i8,
        timeout: u16,
        read_only: Option<bool>,
    },
    Notify {
        zxid: i8,
        kind: u8,
        path: Path,
    },
    /// An answer to the oldest request that has none.
    Answer {
        zxid: i8,
        error: Code,
        body: Blob,
    },
    Pong {
        zxid: i8,
        error: Code,
    },
    Frame(Blob),
    Stream(Blob),
}

/// Codes that mean something to a session or a recipe.
pub(crate) const TELLING: [ErrorCode; 10] = [
    ErrorCode::NO_NODE,
    ErrorCode::NODE_EXISTS,
    ErrorCode::BAD_VERSION,
    ErrorCode::NO_AUTH,
    ErrorCode::THROTTLED_OP,
    ErrorCode::UNIMPLEMENTED,
    ErrorCode::SESSION_EXPIRED,
    ErrorCode::SESSION_MOVED,
    ErrorCode::AUTH_FAILED,
    ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH,
];

pub(crate) const PATHS: [&str; 5] = ["/e", "/e/a", "/d/e/f", "/", "/app/e"];

/// Returns the node that a recipe stands at.
pub(crate) fn node(number: u8) -> &'static str {
    PATHS[usize::from(number) % PATHS.len()]
}

pub(crate) const fn if_gone(fails: bool) -> IfGone {
    if fails { IfGone::Fail } else { IfGone::StartAnew }
}
