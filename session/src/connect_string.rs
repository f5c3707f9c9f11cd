//! Connect strings: `host[:port][,host[:port]…][/chroot]`
//! (docs/protocol.md#paths-and-connect-strings).

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroUsize;
use core::str::FromStr;

use crate::path::check_path;
use crate::servers::ServerIndex;

/// ZooKeeper's default port.
pub const DEFAULT_PORT: u16 = 2181;

/// The address of a server: a name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    /// A host name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A list of servers, at least one, and the client's chroot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectString {
    first: ServerAddress,
    others: Vec<ServerAddress>,
    chroot: String,
}

impl ConnectString {
    /// Returns the servers, in the order written.
    pub fn servers(&self) -> impl Iterator<Item = &ServerAddress> {
        core::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the server that a session of this list means by an index.
    pub fn server(&self, index: ServerIndex) -> Option<&ServerAddress> {
        self.servers().nth(index.0)
    }

    /// Returns the number of servers.
    pub fn server_count(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(self.others.len())
    }

    /// Returns the chroot; empty for the root. It is a valid path, but need not exist.
    pub fn chroot(&self) -> &str {
        &self.chroot
    }
}

impl FromStr for ConnectString {
    type Err = ConnectStringError;

    fn from_str(text: &str) -> Result<Self, ConnectStringError> {
        let (hosts, chroot) = match text.find('/') {
            Some(slash) => text.split_at(slash),
            None => (text, ""),
        };
        let chroot = match chroot.trim_end() {
            "" | "/" => "",
            path if check_path(path).is_ok() => path,
            path => return Err(ConnectStringError::InvalidChroot(path.to_owned())),
        };
        let mut servers =
            hosts.split(',').map(str::trim).filter(|host| !host.is_empty()).map(parse_server);
        let first = servers.next().ok_or(ConnectStringError::NoServer)??;
        let others = servers.collect::<Result<_, _>>()?;
        Ok(Self { first, others, chroot: chroot.to_owned() })
    }
}

impl fmt::Display for ConnectString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        for server in &self.others {
            write!(f, ",{server}")?;
        }
        f.write_str(&self.chroot)
    }
}

/// Why a connect string cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectStringError {
    /// No server before the path.
    #[error("no server: write host:port[,host:port...][/chroot]")]
    NoServer,
    /// An entry without a host name.
    #[error("no host in {0:?}: write host:port, or [address]:port for IPv6")]
    NoHost(String),
    /// A port that is not a number from 1 to 65535.
    #[error("invalid port in {0:?}: a number from 1 to 65535 is needed")]
    InvalidPort(String),
    /// An IPv6 address outside of brackets, or a bracket that is not closed.
    #[error("ambiguous address {0:?}: write an IPv6 address in brackets, as in [::1]:2181")]
    Brackets(String),
    /// White space, or other characters that are not allowed in a host name.
    #[error("invalid host name in {0:?}")]
    InvalidHost(String),
    /// A chroot that is not a valid path.
    #[error(
        "invalid chroot {0:?}: needed is a path without a slash at its end, empty parts, `.`, \
         `..`, or characters that ZooKeeper forbids"
    )]
    InvalidChroot(String),
}

fn parse_server(entry: &str) -> Result<ServerAddress, ConnectStringError> {
    let (host, port) = if let Some(rest) = entry.strip_prefix('[') {
        let (host, after) =
            rest.split_once(']').ok_or_else(|| ConnectStringError::Brackets(entry.to_owned()))?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(port),
            None if after.is_empty() => None,
            None => return Err(ConnectStringError::Brackets(entry.to_owned())),
        };
        (host, port)
    } else {
        match entry.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(ConnectStringError::Brackets(entry.to_owned()));
            }
            Some((host, port)) => (host, Some(port)),
            None => (entry, None),
        }
    };
    if host.is_empty() {
        return Err(ConnectStringError::NoHost(entry.to_owned()));
    }
    if host.chars().any(|c| c.is_whitespace() || c.is_control() || "@?#\\".contains(c)) {
        return Err(ConnectStringError::InvalidHost(entry.to_owned()));
    }
    let port = match port {
        None => DEFAULT_PORT,
        // `parse` alone would also accept a sign.
        Some(digits) => Some(digits)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .filter(|&port| port != 0)
            .ok_or_else(|| ConnectStringError::InvalidPort(entry.to_owned()))?,
    };
    Ok(ServerAddress { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn valid_strings_are_read_and_written_back() {
        let cases = [
            ("zk1", "zk1:2181"),
            ("zk1:2182", "zk1:2182"),
            (" zk1:1 , zk2 ,,10.0.0.1:3/app", "zk1:1,zk2:2181,10.0.0.1:3/app"),
            ("[::1]:2182,[fe80::1]", "[::1]:2182,[fe80::1]:2181"),
            ("zk1/", "zk1:2181"),
            ("zk1/a/b", "zk1:2181/a/b"),
            ("zk1/.../\u{fc}", "zk1:2181/.../\u{fc}"),
        ];
        for (text, written) in cases {
            let parsed: ConnectString = text.parse().expect(text);
            assert_eq!(parsed.to_string(), written);
            assert_eq!(parsed.servers().count(), parsed.server_count().get());
            assert_eq!(parsed.server(ServerIndex(0)), parsed.servers().next());
            assert_eq!(parsed.server(ServerIndex(parsed.server_count().get())), None);
        }
    }

    #[test]
    fn invalid_strings_are_refused_with_the_entry_at_fault() {
        use ConnectStringError as E;
        let cases = [
            ("", E::NoServer),
            (",,/app", E::NoServer),
            (":2181", E::NoHost(":2181".into())),
            ("zk1:", E::InvalidPort("zk1:".into())),
            ("zk1:0", E::InvalidPort("zk1:0".into())),
            ("zk1:65536", E::InvalidPort("zk1:65536".into())),
            ("zk1:+2181", E::InvalidPort("zk1:+2181".into())),
            ("zk1:http", E::InvalidPort("zk1:http".into())),
            ("::1", E::Brackets("::1".into())),
            ("[::1", E::Brackets("[::1".into())),
            ("[::1]2181", E::Brackets("[::1]2181".into())),
            ("zk 1:2181", E::InvalidHost("zk 1:2181".into())),
            ("zk1/a/", E::InvalidChroot("/a/".into())),
            ("zk1/a//b", E::InvalidChroot("/a//b".into())),
            ("zk1//", E::InvalidChroot("//".into())),
            ("zk1/a/../b", E::InvalidChroot("/a/../b".into())),
            ("zk1/./b", E::InvalidChroot("/./b".into())),
            ("zk1/a\0", E::InvalidChroot("/a\0".into())),
            ("zk1/\u{1f980}", E::InvalidChroot("/\u{1f980}".into())),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<ConnectString>(), Err(error), "{text:?}");
        }
    }
}
