//! Processes that end with this one, however it ends.

use core::time::Duration;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::outcome::{Outcome, failed};

/// Longer than any order takes.
const BOUND: Duration = Duration::from_secs(180);

/// Makes a command; its process is killed once this one has ended.
pub(crate) fn ending_with_us(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Returns the same command, on one core.
pub(crate) fn pinned(core: usize, program: &Command) -> Command {
    let mut command = ending_with_us("taskset");
    command.args(["-c", &core.to_string()]).arg(program.get_program()).args(program.get_args());
    command
}

/// Returns the last core that this process may run on.
pub(crate) fn last_core() -> Outcome<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let last = allowed.and_then(|list| list.trim().rsplit([',', '-']).next());
    Ok(last.unwrap_or_default().parse()?)
}

/// A process. Dropped: it is killed.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) -> Outcome<()> {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status()?;
        if status.success() { Ok(()) } else { failed(format!("no signal {name}")) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A worker: see `worker`.
#[derive(Debug)]
pub(crate) struct Worker {
    process: Process,
    orders: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    pub(crate) fn start(command: &Command, core: Option<usize>) -> Outcome<Self> {
        let mut command = if let Some(core) = core {
            pinned(core, command)
        } else {
            let mut again = ending_with_us(command.get_program());
            again.args(command.get_args());
            again
        };
        let errors = if std::env::var_os("PEERS_VERBOSE").is_some() {
            Stdio::inherit()
        } else {
            // Some tell of every connection that ends.
            Stdio::null()
        };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn()?;
        let orders = child.stdin.take().ok_or("no standard input")?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Ok(Self { process: Process(child), orders, answers })
    }

    /// Gives an order and waits for what came of it.
    pub(crate) fn ask(&mut self, order: &str) -> Outcome<Vec<f64>> {
        self.order(order)?;
        self.answer()
    }

    /// Returns the first number of the answer.
    pub(crate) fn ask_one(&mut self, order: &str) -> Outcome<f64> {
        number(&self.ask(order)?, 0)
    }

    pub(crate) fn order(&mut self, order: &str) -> Outcome<()> {
        writeln!(self.orders, "{order}")?;
        Ok(self.orders.flush()?)
    }

    pub(crate) fn answer(&mut self) -> Outcome<Vec<f64>> {
        let Ok(line) = self.answers.recv_timeout(BOUND) else {
            return failed("the worker has ended, or does not answer");
        };
        let mut words = line.split_whitespace();
        match words.next() {
            Some("ok") => Ok(words.map(str::parse).collect::<Result<_, _>>()?),
            _ => failed(line),
        }
    }

    /// Returns the time of all threads on the processor.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let mut nanos = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.id()))? {
            // A thread may have ended meanwhile.
            let Ok(stat) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            nanos += stat.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Returns the resident memory.
    pub(crate) fn resident_kib(&self) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        Ok(kib.unwrap_or_default().parse()?)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

/// Returns one of the numbers of an answer.
pub(crate) fn number(numbers: &[f64], index: usize) -> Outcome<f64> {
    Ok(*numbers.get(index).ok_or("too few numbers in the answer")?)
}
