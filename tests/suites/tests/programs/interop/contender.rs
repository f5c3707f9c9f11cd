//! One contender process, of any library.

use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use election_core::format::Access;
use zk_test_kit::failure::TestFailure;
use zk_test_kit::history::now;
use zk_test_kit::wait::{SOON, eventually};
use zk_tests::contender::Report;

use crate::interop::programs::Program;

/// The state of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has no session yet.
    Starting,
    /// It has asked.
    Waiting(Access),
    /// It holds, since then.
    Holding(Access, Duration),
    /// It has held since then, and was told to let go at a time after it: it may have let go by now.
    Releasing(Access, Duration, Duration),
    /// It was killed at this time, while it asked for this.
    Killed(Access, Duration),
}

/// A message from a contender.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line.
    Said(Report),
    /// A line that it should not have printed.
    Nonsense(String),
    /// Its output has ended.
    Ended,
}

/// A contender process. Dropped: it is killed.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) program: Program,
    pub(super) name: String,
    pub(super) state: State,
    pub(super) started: Duration,
    /// Whether it was asked to let go, since it holds.
    pub(super) was_asked: bool,
    /// The access that it is to ask for at first; any, if none.
    pub(super) first: Option<Access>,
    child: Child,
    orders: Option<ChildStdin>,
    errors: Arc<Mutex<String>>,
    listeners: Vec<JoinHandle<()>>,
}

impl Contender {
    /// Starts it. Its lines come by `heard`, under its number.
    pub(super) fn start(
        program: Program,
        number: usize,
        (servers, path): (&str, &str),
        session_timeout: Duration,
        heard: Sender<(usize, Heard)>,
    ) -> Result<Self, TestFailure> {
        let name = format!("{}-{number}", program.library());
        let timeout = session_timeout.as_millis().to_string();
        let mut command = program.command(&[servers, path, &name, &timeout])?;
        let started = now();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let piped = || io::Error::from(io::ErrorKind::BrokenPipe);
        let orders = Some(child.stdin.take().ok_or_else(piped)?);
        let output = child.stdout.take().ok_or_else(piped)?;
        let mut log = child.stderr.take().ok_or_else(piped)?;
        let errors = Arc::new(Mutex::new(String::new()));
        let listeners = vec![
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let said = line.parse().map_or_else(|_| Heard::Nonsense(line), Heard::Said);
                    let _ = heard.send((number, said));
                }
                let _ = heard.send((number, Heard::Ended));
            }),
            thread::spawn({
                let errors = Arc::clone(&errors);
                move || {
                    let mut part = [0; 4096];
                    while let Ok(read @ 1..) = log.read(&mut part) {
                        let text = String::from_utf8_lossy(part.get(..read).unwrap_or_default());
                        errors.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
                    }
                }
            }),
        ];
        let state = State::Starting;
        Ok(Self {
            program,
            name,
            state,
            started,
            was_asked: false,
            first: None,
            child,
            orders,
            errors,
            listeners,
        })
    }

    /// Tells it to join the queue.
    pub(super) fn ask(&mut self, access: Access) -> io::Result<()> {
        self.state = State::Waiting(access);
        self.order(match access {
            Access::Exclusive => "ask exclusive\n",
            Access::Shared => "ask shared\n",
        })
    }

    /// Tells it to let go.
    pub(super) fn release(&mut self) -> io::Result<()> {
        if let State::Holding(access, since) = self.state {
            self.state = State::Releasing(access, since, now());
        }
        self.order("release\n")
    }

    /// Tells it to ask the holders to let go.
    pub(super) fn revoke(&mut self) -> io::Result<()> {
        self.order("revoke\n")
    }

    /// Tells it to go on as a reader.
    pub(super) fn downgrade(&mut self) -> io::Result<()> {
        self.order("downgrade\n")
    }

    fn order(&mut self, order: &str) -> io::Result<()> {
        let Some(orders) = &mut self.orders else {
            return Ok(());
        };
        match orders.write_all(order.as_bytes()) {
            // It has ended, and what it said before is still to be heard.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Kills it (`SIGKILL`). Until the moment that is given it was alive.
    pub(super) fn kill(&mut self) -> io::Result<Duration> {
        let at = now();
        self.child.kill()?;
        self.child.wait()?;
        if let State::Waiting(access) | State::Holding(access, _) | State::Releasing(access, ..) =
            self.state
        {
            self.state = State::Killed(access, at);
        } else {
            self.state = State::Killed(Access::Exclusive, at);
        }
        Ok(at)
    }

    /// Ends its orders, upon which it ends.
    pub(super) fn end_orders(&mut self) {
        self.orders = None;
    }

    /// Waits until it has ended by itself.
    pub(super) fn wait_for_end(&mut self) -> Result<ExitStatus, TestFailure> {
        let mut ended = Ok(None);
        eventually(SOON, &format!("{} ends", self.name), || {
            ended = self.child.try_wait();
            !matches!(ended, Ok(None))
        })?;
        Ok(ended?.ok_or_else(|| io::Error::other("it has not ended"))?)
    }

    /// Returns the end of its log.
    pub(super) fn log(&self) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = errors.lines().rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for listener in self.listeners.drain(..) {
            let _ = listener.join();
        }
    }
}
