//! Four-letter words: questions on the client port.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use super::error::FourLetterError;

/// The role of a server within its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The only server.
    Standalone,
    /// The server that orders the writes.
    Leader,
    /// A voting server that follows the leader.
    Follower,
    /// A server that follows without a vote.
    Observer,
    /// Cut off from its quorum, serving reads.
    ReadOnly,
}

/// A running server answers within milliseconds; a paused one accepts and then stays silent.
const BOUND: Duration = Duration::from_secs(3);

/// Sends `word`, gives the whole answer.
pub(super) fn ask(address: SocketAddr, word: &str) -> Result<String, FourLetterError> {
    exchange(address, word).map_err(|source| FourLetterError::Unanswered {
        word: word.to_owned(),
        address,
        source,
    })
}

/// Returns the server's mode, by `srvr`.
pub(super) fn mode(address: SocketAddr) -> Result<Mode, FourLetterError> {
    let answer = ask(address, "srvr")?;
    if answer.contains("not currently serving requests") {
        return Err(FourLetterError::NotServing(address));
    }
    let mode = answer.lines().find_map(|line| line.strip_prefix("Mode: "));
    match mode.map(str::trim) {
        Some("standalone") => Ok(Mode::Standalone),
        Some("leader") => Ok(Mode::Leader),
        Some("follower") => Ok(Mode::Follower),
        Some("observer") => Ok(Mode::Observer),
        Some("read-only") => Ok(Mode::ReadOnly),
        _ => Err(unreadable(address, "srvr", "Mode", answer)),
    }
}

/// Returns one number of `mntr`.
pub(super) fn metric(address: SocketAddr, name: &str) -> Result<u64, FourLetterError> {
    let answer = ask(address, "mntr")?;
    if answer.contains("not currently serving requests") {
        return Err(FourLetterError::NotServing(address));
    }
    let value = answer
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(key, _)| *key == name)
        // Some versions print whole numbers with a fraction.
        .and_then(|(_, value)| value.trim().trim_end_matches(".0").parse().ok());
    value.ok_or_else(|| unreadable(address, "mntr", name, answer))
}

/// Returns the watches that the server holds, over all connections.
pub(crate) fn watch_count(address: SocketAddr) -> Result<u64, FourLetterError> {
    metric(address, "zk_watch_count")
}

fn exchange(address: SocketAddr, word: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, BOUND)?;
    stream.set_read_timeout(Some(BOUND))?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

pub(super) fn unreadable(
    address: SocketAddr,
    word: &str,
    field: &str,
    answer: String,
) -> FourLetterError {
    FourLetterError::Unreadable { word: word.to_owned(), address, field: field.to_owned(), answer }
}
