//! The fuzzer's decisions about a session, alone or below a host.

use core::num::NonZeroUsize;

use arbitrary::Arbitrary;
use bytes::{Bytes, BytesMut};
use zk_jute::{Encode, ErrorCode};
use zk_session::lease::LeaseGrade;
use zk_session::sasl::{Sasl, SaslAnswer, SaslFailure};
use zk_session::{Config, ReadOnlyServers, WatchMode, Watching, WhileDisconnected};

use crate::Text;

/// How a session is configured, but for its times and limits.
#[derive(Arbitrary, Debug)]
pub struct Options {
    grade: u8,
    queues: bool,
    sasl: bool,
    read_only: bool,
}

impl Options {
    /// Returns a configuration for so many servers.
    pub fn config(&self, servers: NonZeroUsize) -> Config {
        let mut config = Config::new(servers);
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
        config
    }
}

/// Returns the number of servers: a few, and one at least.
pub fn servers(count: u8) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(usize::from(count % 4))
}

/// Most often none, or one that means something to a session or a recipe.
#[derive(Arbitrary, Debug)]
pub enum Code {
    Ok,
    Telling(u8),
    Any(i8),
}

impl Code {
    /// Returns the code; `telling` has those that mean something.
    pub fn error(&self, telling: &[ErrorCode]) -> ErrorCode {
        match *self {
            Self::Ok => ErrorCode::OK,
            Self::Telling(nth) => telling[usize::from(nth) % telling.len()],
            Self::Any(code) => ErrorCode::new(code.into()),
        }
    }
}

/// Most often one of a few, so that they meet.
#[derive(Arbitrary, Debug)]
pub enum Path {
    Known(u8),
    Any(Text),
}

impl Path {
    /// Returns the path; `known` has the few.
    pub fn among<'a>(&'a self, known: &[&'static str]) -> &'a str {
        match self {
            Self::Known(number) => known[usize::from(*number) % known.len()],
            Self::Any(Text(path)) => path,
        }
    }
}

/// Returns a read of this kind, which leaves a watch.
pub fn watching(path: &str, kind: u8) -> Watching<'_> {
    match kind % 3 {
        0 => Watching::Exists(path),
        1 => Watching::GetData(path),
        _ => Watching::GetChildren(path),
    }
}

/// Returns the mode of a watch that stays.
pub const fn mode(recursive: bool) -> WatchMode {
    if recursive { WatchMode::PersistentRecursive } else { WatchMode::Persistent }
}

/// Returns the word of a mechanism of SASL.
pub const fn mechanism(answer: u8, token: &[u8]) -> SaslAnswer<'_> {
    match answer % 8 {
        0..3 => SaslAnswer::Token(token),
        3 => SaslAnswer::LastToken(token),
        4..7 => SaslAnswer::Done,
        _ => SaslAnswer::Failed(SaslFailure::ServerUnproved),
    }
}

/// Returns a frame: a record, and bytes behind it.
pub fn encoded(record: &impl Encode, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    record.encode(&mut frame);
    frame.extend_from_slice(body);
    frame.freeze()
}
