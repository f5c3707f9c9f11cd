//! The configuration of a server.

use core::fmt::Write as _;
use core::time::Duration;
use std::ffi::OsString;
use std::io;

use super::ensemble::{Ensemble, Member, PeerAddress};
use super::error::StartError;
use super::install::Install;
use super::links::LinkedEnsemble;
use super::secure::SecurePort;
use super::server::Server;
use super::snapshot::Snapshot;

/// The configuration of a server, or of each server of an ensemble.
///
/// The defaults suit tests: short ticks, session timeouts of up to a minute, no limit on
/// connections, no waiting for disks.
#[derive(Clone, Debug)]
pub struct Options {
    tick_time: Duration,
    sync_limit: u32,
    min_session_timeout: Option<Duration>,
    max_session_timeout: Duration,
    max_client_connections: u32,
    listen_backlog: u32,
    jute_max_buffer: Option<u32>,
    config_lines: Vec<String>,
    system_properties: Vec<(String, String)>,
    secure_port: Option<SecurePort>,
    files: Vec<(String, String)>,
    snapshot: Option<Snapshot>,
    start_bound: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tick_time: Duration::from_millis(200),
            sync_limit: 10,
            min_session_timeout: None,
            max_session_timeout: Duration::from_secs(60),
            max_client_connections: 0,
            listen_backlog: 4096,
            jute_max_buffer: None,
            config_lines: Vec::new(),
            system_properties: Vec::new(),
            secure_port: None,
            files: Vec::new(),
            snapshot: None,
            start_bound: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `tickTime`; 200 ms by default. Sessions are found dead at whole ticks.
    #[must_use]
    pub const fn tick_time(mut self, tick_time: Duration) -> Self {
        self.tick_time = tick_time;
        self
    }

    /// Sets `syncLimit`, in ticks: how long the members of an ensemble bear silence; 10 by default.
    #[must_use]
    pub const fn sync_limit(mut self, ticks: u32) -> Self {
        self.sync_limit = ticks;
        self
    }

    /// Sets `minSessionTimeout`; two ticks by default.
    #[must_use]
    pub const fn min_session_timeout(mut self, timeout: Duration) -> Self {
        self.min_session_timeout = Some(timeout);
        self
    }

    /// Sets `maxSessionTimeout`; a minute by default.
    #[must_use]
    pub const fn max_session_timeout(mut self, timeout: Duration) -> Self {
        self.max_session_timeout = timeout;
        self
    }

    /// Sets `maxClientCnxns`, the connections from one address; 0, the default, means no limit.
    #[must_use]
    pub const fn max_client_connections(mut self, connections: u32) -> Self {
        self.max_client_connections = connections;
        self
    }

    /// Sets `clientPortListenBacklog`; 4096 by default.
    #[must_use]
    pub const fn listen_backlog(mut self, connections: u32) -> Self {
        self.listen_backlog = connections;
        self
    }

    /// Sets `jute.maxbuffer`, in bytes; the server's own default (1 048 575) if not set.
    #[must_use]
    pub const fn jute_max_buffer(mut self, bytes: u32) -> Self {
        self.jute_max_buffer = Some(bytes);
        self
    }

    /// Adds a line to `zoo.cfg`, such as `extendedTypesEnabled=true`.
    #[must_use]
    pub fn config_line(mut self, line: impl Into<String>) -> Self {
        self.config_lines.push(line.into());
        self
    }

    /// Adds a system property of the Java machine (`-Dname=value`).
    #[must_use]
    pub fn system_property(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.system_properties.push((name.into(), value.into()));
        self
    }

    /// Adds a port for TLS beside the plain one: [`Server::secure_addr`].
    #[must_use]
    pub fn secure_port(mut self, port: SecurePort) -> Self {
        self.secure_port = Some(port);
        self
    }

    /// Adds a file to the server's folder, in which the server runs.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, content: impl Into<String>) -> Self {
        self.files.push((name.into(), content.into()));
        self
    }

    /// Sets the tree that the server has at its first start; that of a new server if not set.
    #[must_use]
    pub fn snapshot(mut self, snapshot: Snapshot) -> Self {
        self.snapshot = Some(snapshot);
        self
    }

    /// Sets how long a start may take before it counts as failed; a minute by default.
    #[must_use]
    pub const fn start_bound(mut self, bound: Duration) -> Self {
        self.start_bound = bound;
        self
    }

    /// Starts one server and waits until it serves.
    pub fn start_server(&self) -> Result<Server, StartError> {
        Server::start(self)
    }

    /// Starts an ensemble of three and waits until each of them serves.
    pub fn start_ensemble(&self) -> Result<Ensemble, StartError> {
        self.start_ensemble_routed(|_, _, address| Ok(address))
    }

    /// Does as [`Self::start_ensemble`], where `route` returns the address at which a member (first
    /// argument) finds a peer (second), instead of the one that the peer listens on (third): that
    /// of a proxy, for instance. It is asked for each ordered pair, and again, with other
    /// addresses, when a port turned out to be taken.
    pub fn start_ensemble_routed(
        &self,
        route: impl FnMut(Member, Member, PeerAddress) -> io::Result<PeerAddress>,
    ) -> Result<Ensemble, StartError> {
        Ensemble::start(self, route)
    }

    /// Starts an ensemble of three, between which the network can be broken.
    pub fn start_linked_ensemble(&self) -> Result<LinkedEnsemble, StartError> {
        LinkedEnsemble::start(self)
    }

    pub(super) const fn wanted_secure_port(&self) -> Option<&SecurePort> {
        self.secure_port.as_ref()
    }

    pub(super) const fn bound(&self) -> Duration {
        self.start_bound
    }

    pub(super) const fn wanted_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    pub(super) fn files(&self) -> &[(String, String)] {
        &self.files
    }

    /// Returns the server's command line; it runs in the folder that holds `zoo.cfg`.
    pub(super) fn command(&self, install: &Install) -> Vec<OsString> {
        let mut command: Vec<OsString> = vec![install.java.clone().into()];
        command.extend(JVM_OPTIONS.iter().map(OsString::from));
        if let Some(bytes) = self.jute_max_buffer {
            command.push(format!("-Djute.maxbuffer={bytes}").into());
        }
        for (name, value) in &self.system_properties {
            command.push(format!("-D{name}={value}").into());
        }
        command.push("-cp".into());
        command.push(install.class_path.clone());
        command.push("org.apache.zookeeper.server.quorum.QuorumPeerMain".into());
        command.push("./zoo.cfg".into());
        command
    }

    /// Returns `zoo.cfg` for a server that clients reach at `client_port`; `peers` are its last
    /// lines.
    pub(super) fn config(&self, client_port: u16, peers: &str) -> String {
        let mut config = format!(
            "dataDir=./data\n\
             clientPort={client_port}\n\
             clientPortAddress=127.0.0.1\n\
             clientPortListenBacklog={backlog}\n\
             maxClientCnxns={connections}\n\
             tickTime={tick}\n\
             initLimit=100\n\
             syncLimit={sync_limit}\n\
             maxSessionTimeout={max}\n\
             4lw.commands.whitelist=*\n\
             admin.enableServer=false\n\
             forceSync=no\n",
            backlog = self.listen_backlog,
            connections = self.max_client_connections,
            tick = self.tick_time.as_millis(),
            sync_limit = self.sync_limit,
            max = self.max_session_timeout.as_millis(),
        );
        if let Some(min) = self.min_session_timeout {
            // Writing to a `String` cannot fail.
            let _ = writeln!(config, "minSessionTimeout={}", min.as_millis());
        }
        for line in &self.config_lines {
            config.push_str(line);
            config.push('\n');
        }
        config.push_str(peers);
        config
    }
}

/// A fast start and a small footprint; and nothing outside the server's folder: performance data
/// would be left in a shared one after a kill.
const JVM_OPTIONS: &[&str] = &[
    "-Xms32m",
    "-Xmx192m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.io.tmpdir=.",
    "-Djava.net.preferIPv4Stack=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dzookeeper.preAllocSize=1024",
    // The logs of several servers are compared, and with the clock of this process.
    "-Duser.timezone=UTC",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
    "-Dlogback.configurationFile=./logback.xml",
    "-Dlog4j.configuration=file:./log4j.properties",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_written() {
        let options = Options::new()
            .tick_time(Duration::from_millis(150))
            .sync_limit(7)
            .min_session_timeout(Duration::from_millis(450))
            .max_session_timeout(Duration::from_secs(9))
            .max_client_connections(5)
            .listen_backlog(11)
            .jute_max_buffer(2048)
            .config_line("extendedTypesEnabled=true")
            .system_property("a", "b");
        let config = options.config(2181, "server.1=x\n");
        for line in [
            "tickTime=150",
            "syncLimit=7",
            "minSessionTimeout=450",
            "maxSessionTimeout=9000",
            "maxClientCnxns=5",
            "clientPortListenBacklog=11",
            "extendedTypesEnabled=true",
            "server.1=x",
        ] {
            assert!(config.lines().any(|written| written == line), "{line} is not in:\n{config}");
        }
        let install = Install { java: "java".into(), class_path: "jars".into() };
        let command = options.command(&install);
        for argument in ["-Djute.maxbuffer=2048", "-Da=b"] {
            assert!(command.iter().any(|written| written == argument), "{argument}: {command:?}");
        }
    }
}
