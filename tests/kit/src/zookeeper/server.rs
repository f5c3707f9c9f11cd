//! One server, alone or a member of an ensemble.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use super::error::{FourLetterError, StartError};
use super::four_letter::{self, Mode};
use super::install::Install;
use super::options::Options;
use super::release::{ServerVersion, release_at};
use super::secure::SecurePort;
use super::supervisor::{Life, Supervisor};
use crate::ports::ReservedPort;

/// How often other ports are tried when a program outside took one of ours.
pub(super) const PORT_ATTEMPTS: u32 = 5;

const LOG_TAIL: usize = 6_000;
const POLL: Duration = Duration::from_millis(20);

/// A running Apache ZooKeeper server. Dropped: its process and its folder are gone.
#[derive(Debug)]
pub struct Server {
    supervisor: Supervisor,
    client_port: ReservedPort,
    secure_port: Option<ReservedPort>,
    start_bound: Duration,
    /// The place in the log where the present run of the server starts.
    log_start: AtomicUsize,
}

impl Server {
    pub(super) fn start(options: &Options) -> Result<Self, StartError> {
        let mut attempt = 1;
        loop {
            let server = Self::prepare(options, ReservedPort::reserve()?, 1, "")?;
            let started = server.launch().and_then(|()| server.wait_until_serving());
            match started {
                Err(StartError::PortTaken { .. }) if attempt < PORT_ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
                Ok(()) => return Ok(server),
            }
        }
    }

    /// Writes all that the server needs into a new folder, and starts nothing.
    pub(super) fn prepare(
        options: &Options,
        client_port: ReservedPort,
        id: u8,
        peers: &str,
    ) -> Result<Self, StartError> {
        let supervisor = Supervisor::spawn(&options.command(&Install::find()?))?;
        let folder = supervisor.folder();
        let mut config = options.config(client_port.port(), peers);
        let secure_port = match options.wanted_secure_port() {
            Some(secure) => {
                let port = ReservedPort::reserve()?;
                config.push_str(&secure.config(port.port()));
                secure.write(folder)?;
                Some(port)
            }
            None => None,
        };
        fs::write(folder.join("zoo.cfg"), config)?;
        fs::write(folder.join("logback.xml"), LOGBACK)?;
        fs::write(folder.join("log4j.properties"), LOG4J)?;
        fs::write(folder.join("server.log"), "")?;
        for (name, content) in options.files() {
            fs::write(folder.join(name), content)?;
        }
        fs::create_dir(folder.join("data"))?;
        if let Some(snapshot) = options.wanted_snapshot() {
            snapshot.write(&folder.join("data"))?;
        }
        fs::write(folder.join("data/myid"), format!("{id}\n"))?;
        Ok(Self {
            supervisor,
            client_port,
            secure_port,
            start_bound: options.bound(),
            log_start: AtomicUsize::new(0),
        })
    }

    /// Returns the address to which clients connect.
    pub const fn addr(&self) -> SocketAddr {
        self.client_port.address()
    }

    /// Returns the address to which clients connect that speak TLS, with [`Options::secure_port`].
    pub fn secure_addr(&self) -> Option<SocketAddr> {
        self.secure_port.as_ref().map(ReservedPort::address)
    }

    /// Gives the server other certificates for its port for TLS. It reads them at its next start.
    pub fn exchange_certificates(&self, port: &SecurePort) -> io::Result<()> {
        port.write(self.folder())
    }

    /// Returns the connect string of this server alone: `host:port`.
    pub fn connect_string(&self) -> String {
        self.addr().to_string()
    }

    /// Kills the server (`SIGKILL`) and waits for its end. Nothing to do if it is down.
    pub fn kill(&self) -> io::Result<()> {
        self.supervisor.kill()
    }

    /// Stops the server (`SIGSTOP`); returns once all its threads stand. Its port still accepts
    /// connections, by the kernel's hand. Nothing to do unless it runs.
    pub fn pause(&self) -> io::Result<()> {
        self.supervisor.pause()
    }

    /// Lets a paused server go on (`SIGCONT`). Nothing to do unless it is paused.
    pub fn resume(&self) -> io::Result<()> {
        self.supervisor.resume()
    }

    /// Kills the server if it is there, starts it with the same ports and data, waits until it
    /// serves.
    pub fn restart(&self) -> Result<(), StartError> {
        self.kill()?;
        self.launch()?;
        self.wait_until_serving()
    }

    /// Starts the server if it is down, and does not wait: a member without a quorum will not
    /// serve before another one is launched too.
    pub fn launch(&self) -> Result<(), StartError> {
        if self.supervisor.life() == Life::Down {
            self.log_start.store(self.log().len(), Ordering::Relaxed);
            self.supervisor.start()?;
        }
        Ok(())
    }

    /// Waits until the server serves, at most for [`Options::start_bound`].
    pub fn wait_until_serving(&self) -> Result<(), StartError> {
        let deadline = Instant::now() + self.start_bound;
        loop {
            let address = self.addr();
            let log = self.log_of_this_run();
            if log.contains("Address already in use") {
                return Err(StartError::PortTaken { address, log: tail(&log) });
            }
            if self.mode().is_ok() && self.accepts_tls() {
                return Ok(());
            }
            if self.supervisor.has_exited() {
                return Err(StartError::Exited { address, log: tail(&self.log_of_this_run()) });
            }
            if Instant::now() >= deadline {
                let bound = self.start_bound;
                return Err(StartError::NotServing { address, bound, log: tail(&log) });
            }
            thread::sleep(POLL);
        }
    }

    /// Returns the answer to a four-letter word, such as `mntr`.
    pub fn four_letter(&self, word: &str) -> Result<String, FourLetterError> {
        four_letter::ask(self.addr(), word)
    }

    /// Returns the role of the server within its ensemble.
    pub fn mode(&self) -> Result<Mode, FourLetterError> {
        four_letter::mode(self.addr())
    }

    /// Returns one whole number of `mntr`, such as `zk_num_alive_connections`.
    pub fn metric(&self, name: &str) -> Result<u64, FourLetterError> {
        four_letter::metric(self.addr(), name)
    }

    /// Returns the release of the server.
    pub fn release(&self) -> Result<ServerVersion, FourLetterError> {
        release_at(self.addr())
    }

    /// Returns the watches that the server holds, over all connections.
    pub fn watch_count(&self) -> Result<u64, FourLetterError> {
        four_letter::watch_count(self.addr())
    }

    /// Returns everything that the server has logged so far.
    pub fn log(&self) -> String {
        let log = fs::read(self.supervisor.folder().join("server.log"));
        String::from_utf8_lossy(&log.unwrap_or_else(|error| unreadable(&error))).into_owned()
    }

    /// Returns the folder of the server's configuration, data and log.
    pub fn folder(&self) -> &Path {
        self.supervisor.folder()
    }

    /// Returns the folder of the server's transactions, snapshots and epochs.
    pub fn data_folder(&self) -> PathBuf {
        self.folder().join("data/version-2")
    }

    /// Returns the process id of the server, unless it is down.
    pub fn process_id(&self) -> Option<u32> {
        match self.supervisor.life() {
            Life::Down => None,
            Life::Running(pid) | Life::Paused(pid) => Some(pid),
        }
    }

    /// Whether the server was last told to run; a killed or paused one need not be asked anything.
    pub(super) fn is_told_to_run(&self) -> bool {
        matches!(self.supervisor.life(), Life::Running(_))
    }

    /// Whether the port for TLS, which is opened last, is open; true if there is none.
    fn accepts_tls(&self) -> bool {
        self.secure_addr().is_none_or(|address| TcpStream::connect(address).is_ok())
    }

    fn log_of_this_run(&self) -> String {
        let log = self.log();
        log.get(self.log_start.load(Ordering::Relaxed)..).unwrap_or(&log).to_owned()
    }
}

/// Servers that log by other means than Debian's: errors and news, to standard output, each line
/// with its time as Debian's write it.
const LOGBACK: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSS} [%thread] %-5level %logger - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"#;

const LOG4J: &str = "log4j.rootLogger=INFO, OUT\n\
    log4j.appender.OUT=org.apache.log4j.ConsoleAppender\n\
    log4j.appender.OUT.layout=org.apache.log4j.PatternLayout\n\
    log4j.appender.OUT.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSS} [%t] %-5p %c - %m%n\n";

fn unreadable(error: &io::Error) -> Vec<u8> {
    format!("(the log cannot be read: {error})").into_bytes()
}

fn tail(log: &str) -> String {
    let from = log.len().saturating_sub(LOG_TAIL);
    let from = (from..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or_default();
    log.get(from..).unwrap_or(log).to_owned()
}
