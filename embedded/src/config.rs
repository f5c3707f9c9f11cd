//! What is decided before a server starts.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use zk_jute::DEFAULT_MAX_FRAME;

use crate::path;
use crate::time::Timestamp;

/// How a server behaves. The defaults are those of Apache ZooKeeper 3.9 where it has them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The step in which sessions expire (`tickTime`): a session ends at the first multiple of it
    /// that is later than its timeout. Zero counts as one millisecond.
    pub tick_time: Duration,
    /// What a requested session timeout is brought into (`minSessionTimeout`,
    /// `maxSessionTimeout`).
    pub session_timeouts: RangeInclusive<Duration>,
    /// What the wall clock shows at [`Instant::ORIGIN`](crate::Instant::ORIGIN): times in znodes
    /// count on from there.
    pub wall_clock_at_origin: Timestamp,
    /// Where session ids begin. Two servers with different seeds give out different ids, so that
    /// a client of the one gets no session of the other by accident.
    pub seed: u64,
    /// The number of this server in its ensemble; it becomes the first byte of session ids.
    pub server_id: u8,
    /// Whether znodes may have a time to live.
    pub extended_types: ExtendedTypes,
    /// How often containers and znodes with a time to live are looked through
    /// (`znode.container.checkIntervalMs`). Zero counts as one millisecond.
    pub container_check_interval: Duration,
    /// The digest identity that may do everything, as `super:` and the digest of `super:password`
    /// (`zookeeper.DigestAuthenticationProvider.superDigest`).
    pub super_digest: Option<String>,
    /// Connections that wait to be accepted (`clientPortListenBacklog`), as far as the operating system
    /// allows (on Linux, `net.core.somaxconn`). One beyond it is not refused but forgotten: its client asks
    /// again after a second, after two more, and so on. So this is higher than ZooKeeper's, which is 50: many
    /// clients that connect at once do so at once.
    pub listen_backlog: u32,
    /// How much clients may take.
    pub limits: Limits,
    /// How long the end of a session takes, once it is due.
    pub expiry_pace: ExpiryPace,
    /// What becomes of sequences at their end.
    pub counter_end: CounterEnd,
    /// Znodes that the server begins with.
    pub first_znodes: FirstZnodes,
}

impl Config {
    /// The default with another tick: session timeouts are from 2 to 20 ticks.
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
            first_znodes: FirstZnodes::default(),
        }
    }

    /// The timeout that a client gets which asks for `requested` milliseconds.
    pub(crate) fn negotiate(&self, requested: i32) -> Duration {
        let requested = Duration::from_millis(u64::try_from(requested).unwrap_or(0));
        let (min, max) = (*self.session_timeouts.start(), *self.session_timeouts.end());
        // The answer carries it in an `int`.
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

/// Whether znodes may have a time to live (`zookeeper.extendedTypesEnabled`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtendedTypes {
    /// `createTTL` is answered with `Unimplemented`, as by a server that was not told otherwise.
    #[default]
    Disabled,
    /// They may.
    Enabled,
}

/// How long the end of a session takes. ZooKeeper's tracker takes microseconds for either step, and
/// longer with thousands of sessions in one bucket, or with a queue in front of its pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpiryPace {
    /// From the moment at which a session is due until the leader marks it closing: until then
    /// touches, handshakes and writes succeed, and keep nothing alive.
    pub to_closing: Duration,
    /// From then on until the leader proposes the end of the session: until then writes are
    /// refused, and a `sync` through another server is answered.
    pub to_proposal: Duration,
}

/// Whether a server finds that requests have waited too long (`zookeeper.throttled_op_wait_time`,
/// since 3.7.0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttling {
    /// It does them.
    #[default]
    Off,
    /// It answers them with `ThrottledOp` in place of doing them, except pings and the end of a
    /// session. They keep their session alive nevertheless.
    On,
}

/// What becomes of the number behind sequential names after 2147483647.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterEnd {
    /// The number that is stored stays there, so that it is given out again and again; operations
    /// of one transaction, and creates that overlap, get negative numbers. ZooKeeper since 3.6.0
    /// (ZOOKEEPER-3249).
    #[default]
    Sticks,
    /// The stored number goes on with -2147483648. ZooKeeper before 3.6.0.
    Wraps,
}

/// Persistent znodes without data, open to all, that a server begins with; each with a number of
/// children that were created and deleted before. All members of an ensemble have to be given the
/// same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstZnodes(Vec<(String, i32)>);

impl FirstZnodes {
    /// Adds a znode, and its parents where they are missing. `children_created` is the number that
    /// the next sequential child gets.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`] if no znode can have this path, or every server has it.
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

/// No znode can have this path, or every server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server can begin with a znode of this path")]
pub struct InvalidPath;

/// How much clients may take before they are made to wait, are refused, or lose their connection.
///
/// The memory of a server is bounded by these: `max_tree_bytes` and `max_watch_bytes`, and for each
/// connection about `max_frame`, `max_reply`, `max_backlog` and `max_unread` together. For a bound in
/// numbers set `max_connections`; by default the bound is that of each address. An access list has at
/// most 128 entries, a connection shows at most 32 identities, of at most 1 KiB each, and the access
/// lists of one request take at most 4 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest frame that is read (`jute.maxbuffer`); a longer one closes the connection.
    pub max_frame: usize,
    /// Connections from one address (`maxClientCnxns`); 0 for any number.
    pub max_client_connections: usize,
    /// Connections at all (`maxCnxns`); 0 for any number.
    pub max_connections: usize,
    /// Sessions at all; 0 for any number. ZooKeeper has no such limit. A session takes a few hundred
    /// bytes until it times out, whether or not its client is still there.
    pub max_sessions: usize,
    /// Writes of one connection that wait to be committed: at so many, nothing more is read from
    /// it until one is.
    pub max_outstanding: usize,
    /// Bytes for one client which it has not taken: at so many, nothing more is read from it until
    /// it has. Replies are not cut off by this, so one reply may go beyond.
    pub max_backlog: usize,
    /// Bytes for one client which it has not taken, watch events included, at which its connection
    /// is closed. ZooKeeper has no such limit.
    pub max_unread: usize,
    /// Bytes of one reply, at which the request is refused with `MarshallingError` in its place: that
    /// of a `multiRead` can be a million times as long as the request. ZooKeeper has no such limit.
    pub max_reply: usize,
    /// Bytes that all znodes take, paths, data, access lists and what the server itself needs for each
    /// of them included, at which a write that adds to them is refused with `QuotaExceeded`. ZooKeeper
    /// has no such limit.
    pub max_tree_bytes: usize,
    /// Bytes that the watches of all connections take, at which a further one is refused with
    /// `QuotaExceeded`. ZooKeeper has no such limit.
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

    /// What Apache ZooKeeper granted with a tick of two seconds.
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
