//! A nominee process, and what it has said so far.

use alloc::sync::Arc;
use core::time::Duration;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::history::History;
use zk_test_kit::wait::{NotInTime, eventually};

use super::report::Report;

/// A nominee process that runs. Dropped: it is killed.
///
/// It dies with the *thread* that started it, on Linux: start it from the test's own.
#[derive(Debug)]
pub struct NomineeProcess {
    name: String,
    child: Child,
    orders: ChildStdin,
    said: Arc<Said>,
}

/// Why a nominee process is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum NomineeError {
    /// It cannot be started, told or signalled.
    #[error("the nominee process: {0}")]
    Io(#[from] io::Error),
    /// It did not say what was awaited.
    #[error("{what}; nominee {name} said last: {last:#?}")]
    NotSaid {
        /// The condition, and how long it was awaited.
        what: NotInTime,
        /// Its name.
        name: String,
        /// Its last reports, without those of its validity.
        last: Vec<Report>,
    },
}

#[derive(Debug, Default)]
struct Said {
    reports: Mutex<Vec<Report>>,
    more: Condvar,
}

impl NomineeProcess {
    /// Starts `program`, which is to be the binary `nominee` of this package.
    pub fn start(
        program: &str,
        servers: &str,
        name: &str,
        session_timeout: Duration,
    ) -> Result<Self, NomineeError> {
        let timeout = session_timeout.as_millis().to_string();
        Self::run(program, name, &[servers, zk_test_kit::election::ELECTION, name, &timeout])
    }

    /// Starts `program` to go on with what another nominee process has handed over.
    pub fn take_over(
        program: &str,
        servers: &str,
        name: &str,
        (ticket, id): (&str, &str),
    ) -> Result<Self, NomineeError> {
        // The timeout is that of the ticket.
        Self::run(program, name, &[servers, zk_test_kit::election::ELECTION, name, "0", ticket, id])
    }

    fn run(program: &str, name: &str, arguments: &[&str]) -> Result<Self, NomineeError> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let piped = || io::Error::from(io::ErrorKind::BrokenPipe);
        let orders = child.stdin.take().ok_or_else(piped)?;
        let output = child.stdout.take().ok_or_else(piped)?;
        let said = Arc::new(Said::default());
        let hears = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match line.parse() {
                    Ok(report) => hears.push(report),
                    // The half of a line that a killed process had written.
                    Err(error) => eprintln!("{error}"),
                }
            }
        });
        Ok(Self { name: name.to_owned(), child, orders, said })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns all its reports.
    pub fn reports(&self) -> Vec<Report> {
        self.said.lock().clone()
    }

    /// Returns the number of its reports: [`Self::wait_for_after`] may begin there.
    pub fn report_count(&self) -> usize {
        self.said.lock().len()
    }

    /// Waits until one of its reports is as wanted.
    pub fn wait_for<T>(
        &self,
        bound: Duration,
        what: &str,
        wanted: impl Fn(&Report) -> Option<T>,
    ) -> Result<T, NomineeError> {
        self.wait_for_after(0, bound, what, wanted)
    }

    /// Waits until one of its reports, the first `earlier` ones left out, is as wanted.
    pub fn wait_for_after<T>(
        &self,
        earlier: usize,
        bound: Duration,
        what: &str,
        wanted: impl Fn(&Report) -> Option<T>,
    ) -> Result<T, NomineeError> {
        let deadline = Instant::now() + bound;
        let mut reports = self.said.lock();
        let mut seen = earlier;
        loop {
            if let Some(found) = reports.get(seen..).unwrap_or_default().iter().find_map(&wanted) {
                return Ok(found);
            }
            seen = seen.max(reports.len());
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NomineeError::NotSaid {
                    what: NotInTime::new(what, bound),
                    name: self.name.clone(),
                    last: latest(&reports),
                });
            }
            reports = self
                .said
                .more
                .wait_timeout(reports, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Tells it to create a znode under the guard of its present or last leadership; also while it
    /// is paused, for the moment at which it goes on.
    pub fn write(&mut self, path: &str) -> Result<(), NomineeError> {
        Ok(writeln!(self.orders, "write {path}")?)
    }

    /// Tells it to give up its session and its nomination, for another process, and to end.
    pub fn hand_over(&mut self) -> Result<(), NomineeError> {
        Ok(self.orders.write_all(b"hand-over\n")?)
    }

    /// Tells it to resign, or to withdraw.
    pub fn resign(&mut self) -> Result<(), NomineeError> {
        Ok(self.orders.write_all(b"resign\n")?)
    }

    /// Waits until it has ended by itself; true if it says that all went well.
    pub fn wait_for_end(&mut self, bound: Duration) -> Result<bool, NomineeError> {
        let mut end = Ok(None);
        let waited = eventually(bound, "it ends", || {
            end = self.child.try_wait();
            !matches!(end, Ok(None))
        });
        match (end?, waited) {
            (Some(status), _) => Ok(status.success()),
            (None, waited) => Err(NomineeError::NotSaid {
                what: waited.err().unwrap_or_else(|| NotInTime::new("it ends", bound)),
                name: self.name.clone(),
                last: latest(&self.said.lock()),
            }),
        }
    }

    /// Kills it (`SIGKILL`) and waits for its end.
    pub fn kill(&mut self) -> Result<(), NomineeError> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it (`SIGSTOP`); on Linux returns once all its threads stand.
    pub fn pause(&self) -> Result<(), NomineeError> {
        self.signal(Signal::STOP)?;
        let tasks = Path::new("/proc").join(self.child.id().to_string()).join("task");
        eventually(zk_test_kit::wait::SOON, "all its threads stand", || {
            fs::read_dir(&tasks).map_or(true, |mut tasks| {
                tasks.all(|task| {
                    let stat = task.and_then(|task| fs::read_to_string(task.path().join("stat")));
                    // After the name, which stands in parentheses and may hold anything.
                    stat.is_ok_and(|stat| {
                        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
                    })
                })
            })
        })
        .map_err(|what| NomineeError::NotSaid {
            what,
            name: self.name.clone(),
            last: Vec::new(),
        })
    }

    /// Lets it go on (`SIGCONT`).
    pub fn resume(&self) -> Result<(), NomineeError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), NomineeError> {
        let pid = Pid::from_child(&self.child);
        Ok(kill_process(pid, signal).map_err(io::Error::from)?)
    }
}

impl Drop for NomineeProcess {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.kill();
    }
}

/// Returns the claims of all these nominees.
pub fn merged(nominees: &[NomineeProcess]) -> History {
    let mut history = History::default();
    for nominee in nominees {
        history.extend(nominee.reports().into_iter().filter_map(|report| match report {
            Report::Valid(claim) => Some(claim),
            _ => None,
        }));
    }
    history
}

impl Said {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, report: Report) {
        self.lock().push(report);
        self.more.notify_all();
    }
}

/// Returns the last reports that tell more than whether it may act.
fn latest(reports: &[Report]) -> Vec<Report> {
    let told = |report: &&Report| !matches!(report, Report::Valid(_) | Report::NotValid(_));
    let mut last: Vec<_> = reports.iter().rev().filter(told).take(8).cloned().collect();
    last.reverse();
    last
}
