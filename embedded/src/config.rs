//! Settings of a server, fixed before it starts.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use zk_jute::DEFAULT_MAX_FRAME;

use crate::deviations::{Deviations, Profile};
use crate::path;
use crate::time::Timestamp;

/// How a server behaves. The defaults are those of Apache ZooKeeper 3.9, where it has the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The step in which sessions expire (`tickTime`). A session ends at the first multiple of the
    /// tick after its timeout has passed. Zero counts as one millisecond.
    pub tick_time: Duration,
    /// The bounds for the session timeout that a client asks for (`minSessionTimeout`,
    /// `maxSessionTimeout`).
    pub session_timeouts: RangeInclusive<Duration>,
    /// The time of the wall clock at [`Instant::ORIGIN`](crate::Instant::ORIGIN). The times in
    /// znodes count on from there.
    pub wall_clock_at_origin: Timestamp,
    /// Where session ids begin. Servers with different seeds give out different ids, so a client of
    /// one does not get a session of the other by accident.
    pub seed: u64,
    /// The number of this server in its ensemble. It is the first byte of session ids.
    pub server_id: u8,
    /// The support of znodes with a time to live.
    pub extended_types: ExtendedTypes,
    /// How often the server looks for containers and znodes with a time to live that it has to
    /// delete (`znode.container.checkIntervalMs`). Zero counts as one millisecond.
    pub container_check_interval: Duration,
    /// The digest identity that has every permission, as `super:` and the digest of
    /// `super:password` (`zookeeper.DigestAuthenticationProvider.superDigest`).
    pub super_digest: Option<String>,
    /// How many connections may wait to be accepted (`clientPortListenBacklog`), up to the limit of
    /// the operating system (on Linux, `net.core.somaxconn`). The operating system drops further
    /// attempts without an answer, and the client tries again after one second, then two, and so
    /// on. So the default is higher than ZooKeeper's 50: many clients can connect at once.
    pub listen_backlog: u32,
    /// Limits on what clients may use.
    pub limits: Limits,
    /// How long the server takes to end a session that is due.
    pub expiry_pace: ExpiryPace,
    /// The server's reaction at the end of the sequence numbers.
    pub counter_end: CounterEnd,
    /// The points in which the server deviates from Apache ZooKeeper.
    pub deviations: Deviations,
    /// Znodes that exist when the server starts.
    pub first_znodes: FirstZnodes,
}

impl Config {
    /// Returns the default with another tick. Session timeouts are from 2 to 20 ticks.
    #[must_use]
    pub fn with_tick_time(tick_time: Duration) -> Self {
        Self {
            tick_time,
            session_timeouts: tick_time.saturating_mul(2)..=tick_time.saturating_mul(20),
            wall_clock_at_origin: Timestamp::default(),
            seed: 0,
            server_id: 1,
            extended_types: ExtendedTypes::Disabled,
            container_check_interval: Duration::from_secs(60),
            super_digest: None,
            listen_backlog: 16_384,
            limits: Limits::default(),
            expiry_pace: ExpiryPace::default(),
            counter_end: CounterEnd::default(),
            deviations: Deviations::default(),
            first_znodes: FirstZnodes::default(),
        }
    }

    /// Makes the server deviate from Apache ZooKeeper as another one does. Keeper's bounds for session
    /// timeouts come with it: 10 s and 100 s, by default.
    #[must_use]
    pub fn like(mut self, profile: Profile) -> Self {
        self.deviations = Deviations::of(profile);
        if matches!(profile, Profile::Keeper | Profile::KeeperBefore2512) {
            self.session_timeouts = Duration::from_secs(10)..=Duration::from_secs(100);
        }
        self
    }

    /// Returns the timeout for a client that asks for `requested` milliseconds.
    pub(crate) fn negotiate(&self, requested: i32) -> Duration {
        if let (0, Some(timeout)) = (requested, self.deviations.timeout_for_zero) {
            return timeout;
        }
        let requested = Duration::from_millis(u64::try_from(requested).unwrap_or(0));
        let (min, max) = (*self.session_timeouts.start(), *self.session_timeouts.end());
        // The reply carries it in an `int`.
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        requested.min(max).max(min).clamp(Duration::from_millis(1), longest)
    }
}

/// Ticks of two seconds, as in ZooKeeper's sample configuration.
impl Default for Config {
    fn default() -> Self {
        Self::with_tick_time(Duration::from_secs(2))
    }
}

/// The support of znodes with a time to live (`zookeeper.extendedTypesEnabled`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedTypes {
    /// No. The server answers `createTTL` with `Unimplemented`, as Apache's servers do by default.
    #[default]
    Disabled,
    /// Yes.
    Enabled,
}

/// How long the server takes to end a session. ZooKeeper's tracker takes microseconds for each
/// step; with thousands of sessions in one bucket, or a queue before its pipeline, it takes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpiryPace {
    /// The time from the moment at which a session is due until the leader marks it closing.
    /// Touches, handshakes and writes in that time succeed, but do not keep the session alive.
    pub to_closing: Duration,
    /// The time from then until the leader proposes the end of the session. Writes in that time are
    /// refused; a `sync` through another server is answered.
    pub to_proposal: Duration,
}

/// The throttling of requests: the server treats them as having waited too long
/// (`zookeeper.throttled_op_wait_time`, since 3.7.0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttling {
    /// No: the server executes them.
    #[default]
    Off,
    /// Yes: the server answers them with `ThrottledOp` and does not execute them, except pings and
    /// the end of a session. The requests keep their session alive.
    On,
}

/// The server's reaction after the sequence number 2147483647.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterEnd {
    /// The stored number stays there, so the server gives it out again and again. Operations of one
    /// transaction, and creates that overlap, get negative numbers. ZooKeeper does so since 3.6.0
    /// (ZOOKEEPER-3249).
    #[default]
    Sticks,
    /// The stored number goes on with -2147483648. ZooKeeper did so before 3.6.0.
    Wraps,
}

/// Persistent znodes that exist when the server starts: without data, open to all clients, each
/// with a number of children that were created and deleted before. All members of an ensemble need
/// the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstZnodes(Vec<(String, i32)>);

impl FirstZnodes {
    /// Adds a znode, and its parents where they are missing. The next sequential child gets the
    /// number `children_created`.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`] if the path is malformed, or is one that every server has.
    pub fn add(&mut self, path: &str, children_created: i32) -> Result<(), InvalidPath> {
        if !path::is_valid(path) || path::SYSTEM.contains(&path) {
            return Err(InvalidPath);
        }
        self.0.push((path.to_string(), children_created));
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, i32)> {
        self.0.iter().map(|(path, count)| (&**path, *count))
    }
}

/// The path is malformed, or is one that every server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server can begin with a znode of this path")]
pub struct InvalidPath;

/// Limits on what clients may use. At a limit the server makes a client wait, refuses its request,
/// or closes its connection.
///
/// They bound the memory of a server: `max_tree_bytes` and `max_watch_bytes`, and for each
/// connection about the sum of `max_frame`, `max_reply`, `max_backlog` and `max_unread`. Set
/// `max_connections` to bound the number of connections; the default bounds only those from one
/// address. These limits are fixed: 1 KiB for a handshake, which has to be there ten seconds after the
/// connection, 128 entries in an access list, 32 identities of 1 KiB each for a connection, and 4 MiB for
/// the access lists of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest frame that the server reads (`jute.maxbuffer`). It closes the connection on a
    /// longer one.
    pub max_frame: usize,
    /// The most connections from one address (`maxClientCnxns`); 0 for any number.
    pub max_client_connections: usize,
    /// The most connections in total (`maxCnxns`); 0 for any number, as in ZooKeeper.
    pub max_connections: usize,
    /// The most sessions in total; 0 for any number. A session takes a few hundred bytes until it
    /// times out, even if its client is gone. ZooKeeper has no such limit.
    pub max_sessions: usize,
    /// The most writes of one connection that wait to be committed. At this number the server reads
    /// no more from the connection until one is committed.
    pub max_outstanding: usize,
    /// The most bytes that wait to be taken by one client. At this number the server reads no more
    /// from the client until it takes them. The server does not cut replies, so one reply may go
    /// beyond.
    pub max_backlog: usize,
    /// The most bytes that wait to be taken by one client, watch events included, before the server
    /// closes the connection. ZooKeeper has no such limit.
    pub max_unread: usize,
    /// The most bytes of one reply. The server answers a request that needs more with
    /// `MarshallingError`: the reply to a `multiRead` can be a million times as long as the
    /// request. ZooKeeper has no such limit.
    pub max_reply: usize,
    /// The most bytes that all znodes take: paths, data, access lists and the server's own
    /// overhead. The server refuses a write that would exceed it with `QuotaExceeded`. ZooKeeper
    /// has no such limit.
    pub max_tree_bytes: usize,
    /// The most bytes that the watches of all connections take. The server refuses a watch that
    /// would exceed it with `QuotaExceeded`. ZooKeeper has no such limit.
    pub max_watch_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_frame: DEFAULT_MAX_FRAME,
            max_client_connections: 60,
            max_connections: 0,
            max_sessions: 1_000_000,
            max_outstanding: 1000,
            max_backlog: 64 << 10,
            max_unread: 16 << 20,
            max_reply: 16 << 20,
            max_tree_bytes: 1 << 30,
            max_watch_bytes: 256 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Apache ZooKeeper with a tick of two seconds granted these.
    #[test]
    fn timeouts_are_brought_between_two_and_twenty_ticks() {
        let config = Config::default();
        let cases = [
            (-1, 4000),
            (0, 4000),
            (3999, 4000),
            (4001, 4001),
            (40_000, 40_000),
            (40_001, 40_000),
            (i32::MAX, 40_000),
        ];
        for (requested, granted) in cases {
            let granted = Duration::from_millis(granted);
            assert_eq!(config.negotiate(requested), granted, "{requested}");
        }
    }

    #[test]
    fn no_configuration_grants_a_timeout_that_reads_as_refused() {
        let config = Config::with_tick_time(Duration::ZERO);
        assert_eq!(config.negotiate(0), Duration::from_millis(1));
        let config = Config::with_tick_time(Duration::MAX);
        let longest = Duration::from_millis(0x7fff_ffff);
        assert_eq!(config.negotiate(5), longest);
    }
}
