//! The writers' processes, and their reports.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::proxy::{Directions, Proxy};

use super::report::Report;

/// A rate at which a writer's clock runs, in thousandths of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockRate(pub(super) u16);

/// A writer, over all the processes that it is in turn.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) name: String,
    /// One a member of the ensemble.
    ways: Vec<Proxy>,
    process: Option<Child>,
}

/// How a writer's process is started.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) timeout: Duration,
    pub(super) registers: SocketAddr,
    /// A library that, preloaded, changes the rate of a process's clock.
    pub(super) clock: Option<PathBuf>,
    /// The channel for the writer's reports, with its index.
    pub(super) reports: Sender<(usize, Report)>,
}

impl Writer {
    pub(super) fn new(name: String, members: &[SocketAddr]) -> io::Result<Self> {
        let ways = members.iter().map(|member| Proxy::to(*member)).collect::<Result<_, _>>()?;
        Ok(Self { name, ways, process: None })
    }

    /// Starts its process. It dies with the thread that started it, on Linux.
    pub(super) fn start(
        &mut self,
        index: usize,
        launch: &Launch,
        rate: ClockRate,
    ) -> io::Result<()> {
        let servers: Vec<_> = self.ways.iter().map(Proxy::connect_string).collect();
        let timeout = launch.timeout.as_millis().to_string();
        let mut command = Command::new(&launch.program);
        command
            .args(["writer", &servers.join(","), &self.name, &timeout])
            .arg(launch.registers.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Some(library) = &launch.clock {
            let ClockRate(thousandths) = rate;
            command.env("LD_PRELOAD", library);
            command
                .env("FAKETIME", format!("+0 x{}.{:03}", thousandths / 1000, thousandths % 1000));
        }
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let reports = launch.reports.clone();
        thread::spawn(move || {
            // Half a line at the end is that of a process that was killed.
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for report in lines.filter_map(|line| line.parse().ok()) {
                if reports.send((index, report)).is_err() {
                    return;
                }
            }
        });
        self.process = Some(child);
        Ok(())
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
            process.wait()?;
        }
        Ok(())
    }

    pub(super) fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    pub(super) fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    pub(super) fn cut(&self) {
        self.ways.iter().for_each(Proxy::cut);
    }

    pub(super) fn black_hole(&self, directions: Directions) {
        self.ways.iter().for_each(|way| way.black_hole(directions));
    }

    /// Lets bytes through again; those that were held back are lost with their connections.
    pub(super) fn heal(&self) {
        self.ways.iter().for_each(Proxy::heal_by_cutting);
    }

    /// Delays what arrives from now on.
    pub(super) fn delay(&self, delay: Duration) {
        self.ways.iter().for_each(|way| way.delay(delay));
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match &self.process {
            Some(process) => Ok(kill_process(Pid::from_child(process), signal)?),
            None => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.kill();
    }
}

/// Returns the path of the library that Debian's package `libfaketime` installs.
pub(super) fn preloaded_clock() -> Option<PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let path = Path::new("/usr/lib").join(triple).join("faketime/libfaketime.so.1");
    path.exists().then_some(path)
}
