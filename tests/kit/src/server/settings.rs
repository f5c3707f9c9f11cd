//! The settings that both servers understand.

use core::time::Duration;

use zk_embedded::{Config, ExtendedTypes, Limits};

use crate::zookeeper::Options;

/// The configuration of a server of either kind. The defaults are those of [`Options`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The longest session timeout that is granted.
    pub max_session_timeout: Duration,
    /// How often the server looks for empty containers and for znodes whose time is over.
    pub container_check_interval: Duration,
    /// Whether znodes may have a time to live.
    pub extended_types: ExtendedTypes,
    /// The identity that may do everything: `super:` and a digest.
    pub super_digest: Option<String>,
    /// The step in which sessions expire; two of them are the shortest session timeout.
    pub tick_time: Duration,
    /// The longest frame that the server reads, in bytes (`jute.maxbuffer`).
    pub max_frame: u32,
    /// The treatment of requests in a burst.
    pub backlog: Backlog,
}

/// The treatment of requests that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backlog {
    /// They are done.
    #[default]
    Done,
    /// Apache's server does one request at a time, looks for the next one each 20 ms, and answers
    /// with `ThrottledOp` what has waited for more than a millisecond. The embedded server does so
    /// when told to.
    Throttled,
}

const TICK: Duration = Duration::from_millis(200);

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_session_timeout: Duration::from_secs(60),
            container_check_interval: Duration::from_secs(60),
            extended_types: ExtendedTypes::Disabled,
            super_digest: None,
            tick_time: TICK,
            max_frame: 0xF_FFFF,
            backlog: Backlog::Done,
        }
    }
}

impl Settings {
    pub(super) fn for_apache(&self) -> Options {
        let interval = self.container_check_interval.as_millis().to_string();
        let mut options = Options::new()
            .tick_time(self.tick_time)
            .max_session_timeout(self.max_session_timeout)
            .jute_max_buffer(self.max_frame)
            .system_property("znode.container.checkIntervalMs", interval)
            .system_property("znode.container.maxPerMinute", "60000");
        if self.extended_types == ExtendedTypes::Enabled {
            options = options.config_line("extendedTypesEnabled=true");
        }
        if let Some(digest) = &self.super_digest {
            let property = "zookeeper.DigestAuthenticationProvider.superDigest";
            options = options.system_property(property, digest);
        }
        if self.backlog == Backlog::Throttled {
            options = options
                .system_property("zookeeper.request_throttle_max_requests", "1")
                .system_property("zookeeper.request_throttle_stall_time", "20")
                .system_property("zookeeper.throttled_op_wait_time", "1");
        }
        options
    }

    pub(super) fn for_embedded(&self) -> Config {
        let mut limits = Limits::default();
        limits.max_client_connections = 0;
        limits.max_frame = usize::try_from(self.max_frame).unwrap_or(usize::MAX);
        let mut config = Config::with_tick_time(self.tick_time);
        config.session_timeouts = self.tick_time * 2..=self.max_session_timeout;
        config.extended_types = self.extended_types;
        config.container_check_interval = self.container_check_interval;
        config.super_digest.clone_from(&self.super_digest);
        config.limits = limits;
        config
    }
}
