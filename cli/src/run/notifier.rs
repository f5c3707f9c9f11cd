//! Messages to the service manager that started zkelect: the protocol of `sd_notify(3)`.

use core::fmt::Display;
use core::time::Duration;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use election_tokio::error::Escaped;

use super::part::Part;
use crate::console;

/// Variables from the service manager. They are for zkelect alone, so COMMAND does not inherit
/// them.
pub(super) const VARIABLES: &[&str] = &[SOCKET, WATCHDOG, WATCHDOG_PID];

const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG: &str = "WATCHDOG_USEC";
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// Sends messages, if there is a service manager that asks for them.
pub(super) struct Notifier {
    line: Option<Line>,
    readiness: Readiness,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Untold,
    Told,
}

impl Notifier {
    pub(super) fn from_env() -> Self {
        let line = Line::from_env().unwrap_or_else(|error| {
            console::warn(format_args!("{SOCKET} cannot be used, so nothing is told: {error}"));
            None
        });
        Self { line, readiness: Readiness::Untold }
    }

    /// Reports the nominee's part. A nominee that stands is ready: a follower may stay one for
    /// ever.
    pub(super) fn tell(&mut self, part: &Part) {
        let Some(line) = &self.line else {
            return;
        };
        let stands = !matches!(part, Part::Outside | Part::Unwell { .. } | Part::Ending);
        let ready = stands && self.readiness == Readiness::Untold;
        let state = match part {
            Part::Ending => "STOPPING=1\n",
            _ if ready => "READY=1\n",
            _ => "",
        };
        let told = line.send(format_args!("{state}STATUS={}", Escaped(part)));
        if ready && told.is_ok() {
            self.readiness = Readiness::Told;
        }
    }

    /// Returns the watchdog, if the service manager has one.
    pub(super) fn watchdog(&self) -> Option<Watchdog> {
        let socket = self.line.as_ref()?.try_clone().ok()?;
        let own_pid = std::process::id().to_string();
        let is_for_this = env::var(WATCHDOG_PID).is_ok_and(|pid| pid == own_pid)
            || env::var_os(WATCHDOG_PID).is_none();
        let timeout = env::var(WATCHDOG).ok()?.parse().ok().map(Duration::from_micros)?;
        (is_for_this && !timeout.is_zero()).then_some(Watchdog { line: socket, timeout })
    }
}

/// Makes the service manager end zkelect when it is not fed in time.
pub(super) struct Watchdog {
    line: Line,
    timeout: Duration,
}

impl Watchdog {
    /// Returns how often to feed it: twice as often as necessary.
    pub(super) fn pace(&self) -> Duration {
        (self.timeout / 2).max(Duration::from_millis(1))
    }

    pub(super) fn feed(&self) {
        // If this fails, the service manager misses it.
        let _ = self.line.send("WATCHDOG=1");
    }
}

/// The socket of the service manager.
struct Line {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Line {
    fn from_env() -> io::Result<Option<Self>> {
        let Some(name) = env::var_os(SOCKET).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let socket = UnixDatagram::unbound()?;
        // A service manager that does not listen must not keep COMMAND from being stopped.
        socket.set_nonblocking(true)?;
        Ok(Some(Self { socket, address: address(&name)? }))
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, address: self.address.clone() })
    }

    fn send(&self, text: impl Display) -> io::Result<()> {
        self.socket.send_to_addr(text.to_string().as_bytes(), &self.address).map(drop)
    }
}

/// Parses an absolute path, or `@` and a name in the abstract namespace.
fn address(name: &OsString) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(io::Error::other("it is neither an absolute path nor an abstract name (@...)")),
    }
}
