//! Values of options, checked to be usable.

use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;
use core::time::Duration;
use std::path::PathBuf;

use election_tokio::source::ConnectString;
use serde::{Deserialize, Serialize};

use super::time::{Time, TimeError};

/// A connect string that parses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Servers {
    connect_string: String,
    chroot: String,
}

impl Servers {
    pub(crate) fn connect_string(&self) -> &str {
        &self.connect_string
    }

    /// Returns the chroot: empty, or an absolute path.
    pub(crate) fn chroot(&self) -> &str {
        &self.chroot
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}; write HOST:PORT[,HOST:PORT...][/CHROOT]")]
pub(crate) struct ServersError(#[from] election_tokio::source::ConnectStringError);

impl FromStr for Servers {
    type Err = ServersError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed: ConnectString = text.parse()?;
        Ok(Self { connect_string: text.to_owned(), chroot: parsed.chroot().to_owned() })
    }
}

impl From<SocketAddr> for Servers {
    fn from(server: SocketAddr) -> Self {
        Self { connect_string: server.to_string(), chroot: String::new() }
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.connect_string)
    }
}

/// A session timeout that the protocol can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionTimeout(pub(crate) Duration);

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionTimeoutError {
    #[error("{0}")]
    Time(#[from] TimeError),
    #[error("a session timeout has to be 1ms at least and 24 days at most")]
    OutOfRange,
}

impl SessionTimeout {
    pub(crate) const MOST: Duration = Duration::from_secs(24 * 24 * 60 * 60);
}

impl FromStr for SessionTimeout {
    type Err = SessionTimeoutError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let timeout = *text.parse::<Time>()?;
        if timeout < Duration::from_millis(1) || timeout > Self::MOST {
            return Err(SessionTimeoutError::OutOfRange);
        }
        Ok(Self(timeout))
    }
}

impl fmt::Display for SessionTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// An address to listen on. A host name is refused: it could stand for several addresses, and the
/// server listens on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub(crate) SocketAddr);

#[derive(Debug, thiserror::Error)]
#[error(
    "write IP:PORT, such as 127.0.0.1:2181, [::1]:2181, or 0.0.0.0:2181 for all interfaces; port 0 \
     takes any free one"
)]
pub(crate) struct ListenAddressError;

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| ListenAddressError)
    }
}

/// A server's unit of time. With a shorter one no client could keep its session alive; with a
/// longer one none would see a session expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickTime(pub(crate) Duration);

#[derive(Debug, thiserror::Error)]
pub(crate) enum TickTimeError {
    #[error("{0}")]
    Time(#[from] TimeError),
    #[error(
        "a tick has to be 10ms at least and 1h at most, since sessions time out after 2 to 20 of \
         them; for sessions that expire quickly take 100ms"
    )]
    OutOfRange,
}

impl FromStr for TickTime {
    type Err = TickTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const LEAST: Duration = Duration::from_millis(10);
        const MOST: Duration = Duration::from_secs(60 * 60);
        let tick_time = *text.parse::<Time>()?;
        if tick_time < LEAST || tick_time > MOST {
            return Err(TickTimeError::OutOfRange);
        }
        Ok(Self(tick_time))
    }
}

/// The number of the additional descriptor that COMMAND gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadyFd(i32);

#[derive(Debug, thiserror::Error)]
#[error("write a number from 3 to 255: 0, 1 and 2 are COMMAND's standard input, output and error")]
pub(crate) struct ReadyFdError;

impl ReadyFd {
    pub(crate) const fn get(self) -> i32 {
        self.0
    }
}

impl FromStr for ReadyFd {
    type Err = ReadyFdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(number @ 3..=255) => Ok(Self(number)),
            _ => Err(ReadyFdError),
        }
    }
}

impl fmt::Display for ReadyFd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The destination of the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventsTo {
    StandardOutput,
    File(PathBuf),
}

impl From<&str> for EventsTo {
    fn from(text: &str) -> Self {
        match text {
            "-" => Self::StandardOutput,
            path => Self::File(path.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_listens_on_addresses_and_not_on_names() {
        for usable in ["127.0.0.1:2181", "0.0.0.0:0", "[::1]:2181"] {
            assert!(usable.parse::<ListenAddress>().is_ok(), "{usable}");
        }
        for other in ["", "2181", ":2181", "127.0.0.1", "localhost:2181", "::1:2181", "1.2.3.4:x"] {
            assert!(other.parse::<ListenAddress>().is_err(), "{other}");
        }
    }

    #[test]
    fn ticks_are_bounded() {
        let cases = [("9ms", None), ("10ms", Some(10)), ("1h", Some(3_600_000)), ("1h 1ms", None)];
        for (text, ms) in cases {
            let expected = ms.map(|ms| TickTime(Duration::from_millis(ms)));
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        assert!(matches!("2x".parse::<TickTime>(), Err(TickTimeError::Time(_))));
    }

    #[test]
    fn the_address_of_a_server_is_a_connect_string() {
        for address in ["127.0.0.1:2181", "[::1]:2181"] {
            let servers = Servers::from(address.parse::<SocketAddr>().expect("an address"));
            let parsed: Servers = servers.connect_string().parse().expect("a connect string");
            assert_eq!(parsed.chroot(), servers.chroot());
        }
    }
}
