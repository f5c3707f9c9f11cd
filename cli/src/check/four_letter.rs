//! A server's answers to four-letter words (docs/protocol.md#frames).

use std::io;

use election_tokio::source::ServerAddress;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The most bytes of an answer that are read.
const LIMIT: u64 = 64 * 1024;

/// A server of an ensemble, or one that stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) version: String,
    /// In ZooKeeper's words: `leader`, `follower`, `observer`, `standalone`.
    pub(super) mode: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FourLetterAnswer {
    Member(Member),
    NotServing,
    /// The word is not on the server's list.
    Forbidden,
}

/// Asks a server for its mode and version.
pub(super) async fn srvr(server: &ServerAddress) -> io::Result<FourLetterAnswer> {
    let mut stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
    stream.write_all(b"srvr").await?;
    let mut answer = Vec::new();
    stream.take(LIMIT).read_to_end(&mut answer).await?;
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(answer: &str) -> io::Result<FourLetterAnswer> {
    if answer.contains("not in the whitelist") {
        return Ok(FourLetterAnswer::Forbidden);
    }
    if answer.contains("not currently serving requests") {
        return Ok(FourLetterAnswer::NotServing);
    }
    let field = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name));
    let version = field("Zookeeper version: ").and_then(|all| all.split([',', '-']).next());
    // ClickHouse Keeper's words; the product stays in front of the number.
    let version = version.or_else(|| {
        let line = answer.lines().find(|line| line.contains("Keeper version: "))?;
        line.split([',', '-']).next()
    });
    match (version, field("Mode: ")) {
        (Some(version), Some(mode)) => {
            let [version, mode] = [version, mode].map(|text| text.trim().to_owned());
            Ok(FourLetterAnswer::Member(Member { version, mode }))
        }
        _ => Err(io::Error::other("it does not answer as ZooKeeper does")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_servers_give_them() {
        let answer = "Zookeeper version: 3.9.3-c26634f34490bb0ea7a09cc51e05ede3b4e320ee, built on \
                      2024-10-17 23:21 UTC\nLatency min/avg/max: 0/0.0/0\nMode: follower\nNode count: 5\n";
        let member = Member { version: "3.9.3".into(), mode: "follower".into() };
        assert_eq!(parse(answer).expect("it is one"), FourLetterAnswer::Member(member));
        let keeper = "ClickHouse Keeper version: v25.12.1.1-stable-0123\nMode: follower\n";
        let version = "ClickHouse Keeper version: v25.12.1.1".into();
        let member = Member { version, mode: "follower".into() };
        assert_eq!(parse(keeper).expect("it is one"), FourLetterAnswer::Member(member));
        let forbidden = "srvr is not executed because it is not in the whitelist.\n";
        assert_eq!(parse(forbidden).expect("it is one"), FourLetterAnswer::Forbidden);
        let not_serving = "This ZooKeeper instance is not currently serving requests\n";
        assert_eq!(parse(not_serving).expect("it is one"), FourLetterAnswer::NotServing);
        for other in ["", "HTTP/1.1 400 Bad Request", "Mode: leader"] {
            assert!(parse(other).is_err(), "{other}");
        }
    }
}
