//! Apache ZooKeeper's own command line client, `zkCli.sh`: a second, independent client.

use alloc::sync::Arc;
use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::error::InstallError;
use super::install::Install;
use super::release::{self, ServerVersion};
use crate::wait::{NotInTime, SOON, eventually};

/// A running client that reads commands. Dropped: it is killed.
#[derive(Debug)]
pub struct CommandLine {
    child: Child,
    commands: ChildStdin,
    said: Arc<Said>,
    marks: u32,
    release: Option<ServerVersion>,
}

/// The client did not do as it should.
#[derive(Debug, thiserror::Error)]
pub enum CommandLineError {
    /// Something has to be installed first.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// It cannot be started, or is gone.
    #[error("zkCli: {0}")]
    Io(#[from] io::Error),
    /// It did not print what was awaited.
    #[error("{what}; zkCli printed:\n{printed}")]
    NotSaid {
        /// The condition, and how long it was awaited.
        what: NotInTime,
        /// All that it has printed.
        printed: String,
    },
}

#[derive(Debug, Default)]
struct Said {
    lines: Mutex<Vec<String>>,
    more: Condvar,
}

impl CommandLine {
    /// Starts a client of these servers and waits until it has a session.
    pub fn connect(servers: &str) -> Result<Self, CommandLineError> {
        let install = Install::find()?;
        // One pipe for both, so that all lines are in order.
        let (output, input) = io::pipe()?;
        let mut child = Command::new(&install.java)
            .args(JVM_OPTIONS)
            .arg("-cp")
            .arg(&install.class_path)
            .args(["org.apache.zookeeper.ZooKeeperMain", "-server", servers])
            .stdin(Stdio::piped())
            .stdout(input.try_clone()?)
            .stderr(input)
            .spawn()?;
        let commands =
            child.stdin.take().ok_or(io::ErrorKind::BrokenPipe).map_err(io::Error::from)?;
        let said = Arc::new(Said::default());
        let hears = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                hears.push(line);
            }
        });
        let mut client = Self { child, commands, said, marks: 0, release: None };
        let version = client.run("version")?;
        client.release = version.split("CLI version: ").nth(1).and_then(release::parse);
        Ok(client)
    }

    /// Returns the release of the client, whatever its server is; `None` if it does not tell.
    pub const fn release(&self) -> Option<ServerVersion> {
        self.release
    }

    /// Carries out a command; gives what was printed meanwhile.
    pub fn run(&mut self, command: &str) -> Result<String, CommandLineError> {
        let from = self.said.lock().len();
        self.marks += 1;
        // The znode does not exist, and the client says so once it has done the earlier commands.
        let mark = format!("/mark-{}", self.marks);
        write!(self.commands, "{command}\nls {mark}\n")?;
        let to = self.wait(from, command, |line| line.ends_with(&mark))?;
        let lines = self.said.lock();
        Ok(lines.get(from..to).unwrap_or_default().join("\n"))
    }

    /// Ends the session, and the client.
    pub fn quit(mut self) -> Result<(), CommandLineError> {
        writeln!(self.commands, "quit")?;
        let ended = eventually(SOON, "zkCli ends", || !matches!(self.child.try_wait(), Ok(None)));
        ended.map_err(|what| {
            let printed = self.said.lock().join("\n");
            CommandLineError::NotSaid { what, printed }
        })
    }

    /// Waits until a watch has told of such an event.
    pub fn wait_for_event(&self, kind: &str, path: &str) -> Result<(), CommandLineError> {
        let event = format!("type:{kind} path:{path}");
        // Later releases tell the transaction, too.
        let is_event = |line: &str| {
            let found = line.split_once(&event).map(|(_, rest)| rest);
            found.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        self.wait(0, &event, is_event).map(|_| ())
    }

    /// Returns how often watches have reported such an event so far.
    pub fn count_events(&self, kind: &str, path: &str) -> usize {
        let event = format!("type:{kind} path:{path}");
        let lines = self.said.lock();
        let told = lines.iter().filter_map(|line| line.split_once(&event));
        told.filter(|(_, rest)| rest.is_empty() || rest.starts_with(' ')).count()
    }

    /// Returns the place of the first such line.
    fn wait(
        &self,
        from: usize,
        what: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<usize, CommandLineError> {
        let deadline = Instant::now() + SOON;
        let mut lines = self.said.lock();
        loop {
            if let Some(at) = lines.iter().skip(from).position(|line| wanted(line)) {
                return Ok(from + at);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                let what = NotInTime::new(what, SOON);
                return Err(CommandLineError::NotSaid { what, printed: lines.join("\n") });
            }
            let woken = self.said.more.wait_timeout(lines, left);
            lines = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for CommandLine {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Said {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: String) {
        self.lock().push(line);
        self.more.notify_all();
    }
}

/// A fast start, and nothing but errors.
const JVM_OPTIONS: [&str; 6] = [
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
];
