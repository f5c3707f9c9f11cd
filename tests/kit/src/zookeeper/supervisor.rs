//! The shell process between this one and a server.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wait;

/// The state of the server's process, by the last order to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Down,
    Running(u32),
    Paused(u32),
}

/// Owns a server's process and folder. Dropped: both are gone.
#[derive(Debug)]
pub(super) struct Supervisor {
    folder: PathBuf,
    shell: Mutex<Shell>,
}

#[derive(Debug)]
struct Shell {
    process: Child,
    answers: BufReader<ChildStdout>,
    life: Life,
}

impl Supervisor {
    /// Starts the supervisor, not yet the server. The command will run in [`Self::folder`].
    pub(super) fn spawn(command: &[OsString]) -> io::Result<Self> {
        let mut process = Command::new("/bin/sh")
            .arg("-c")
            .arg(include_str!("supervisor.sh"))
            .arg("zookeeper-supervisor")
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, so that a signal to the tests' group does not end the process
            // that cleans up.
            .process_group(0)
            .spawn()?;
        let answers = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut shell = Shell { process, answers: BufReader::new(answers), life: Life::Down };
        let folder = PathBuf::from(shell.answer()?);
        Ok(Self { folder, shell: Mutex::new(shell) })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn life(&self) -> Life {
        self.shell().life
    }

    /// Starts the server unless it is there already.
    pub(super) fn start(&self) -> io::Result<()> {
        let mut shell = self.shell();
        if shell.life == Life::Down {
            shell.life = Life::Running(shell.order("START")?);
        }
        Ok(())
    }

    /// Kills the server and waits for its end. Nothing to do if it is down.
    pub(super) fn kill(&self) -> io::Result<()> {
        let mut shell = self.shell();
        if shell.life != Life::Down {
            shell.order("KILL")?;
            shell.life = Life::Down;
        }
        Ok(())
    }

    /// Stops the server and waits until each of its threads stands.
    pub(super) fn pause(&self) -> io::Result<()> {
        let mut shell = self.shell();
        if let Life::Running(pid) = shell.life {
            shell.order("STOP")?;
            shell.life = Life::Paused(pid);
            wait::eventually(wait::SOON, "every thread of the server stands", || {
                threads(pid).iter().all(|state| *state == 'T')
            })
            .map_err(io::Error::other)?;
        }
        Ok(())
    }

    pub(super) fn resume(&self) -> io::Result<()> {
        let mut shell = self.shell();
        if let Life::Paused(pid) = shell.life {
            shell.order("CONT")?;
            shell.life = Life::Running(pid);
        }
        Ok(())
    }

    /// Whether the server was started and has ended by itself.
    pub(super) fn has_exited(&self) -> bool {
        match self.life() {
            Life::Down | Life::Paused(_) => false,
            Life::Running(pid) => threads(pid).first() == Some(&'Z'),
        }
    }

    fn shell(&self) -> MutexGuard<'_, Shell> {
        self.shell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // `wait` closes the pipe first, and that is the order to clean up.
        if let Err(error) = self.shell().process.wait() {
            eprintln!("the supervisor of {} cannot be waited for: {error}", self.folder.display());
        }
    }
}

impl Shell {
    fn order(&mut self, order: &str) -> io::Result<u32> {
        let orders = self.process.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(orders, "{order}")?;
        self.answer()?.parse().map_err(io::Error::other)
    }

    fn answer(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the supervisor ended; is the folder for temporary files writable?",
            ));
        }
        Ok(line.trim_end().to_owned())
    }
}

/// Returns the states of a process's threads as in proc(5): `T` stopped, `Z` dead and not yet
/// waited for. Empty where there is no such file system: then the states are not known, and the
/// caller does not wait for them.
fn threads(pid: u32) -> Vec<char> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok())
        // The state follows the name, which is in brackets and may hold anything.
        .filter_map(|stat| stat.rsplit_once(") ")?.1.chars().next())
        .collect()
}
