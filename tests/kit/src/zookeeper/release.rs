//! The release of a server or a command line client, for tests with an answer that depends on it.

use core::net::SocketAddr;

pub use election_tokio::ensemble::ServerVersion;

use super::error::FourLetterError;
use super::four_letter::{ask, unreadable};

/// Returns the release of a server, by `srvr`.
pub fn release_at(address: SocketAddr) -> Result<ServerVersion, FourLetterError> {
    let answer = ask(address, "srvr")?;
    let version = answer.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
    version.and_then(parse).ok_or_else(|| unreadable(address, "srvr", "Zookeeper version", answer))
}

/// Reads the first three numbers of a text such as
/// `3.9.3-c26634f34490bb0ea7a09cc51e05ede3b4e320ee`.
pub(super) fn parse(version: &str) -> Option<ServerVersion> {
    let mut numbers = version.split(|character: char| !character.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some(ServerVersion::new(next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_what_the_version_begins_with() {
        assert_eq!(parse("3.4.14-4c25d480, built on"), Some(ServerVersion::new(3, 4, 14)));
        assert_eq!(parse("3.8.0-${mvngit.commit.id}"), Some(ServerVersion::new(3, 8, 0)));
        assert_eq!(parse("3.10"), None);
    }
}
