//! However the process that started a server ends, the server and its folder are gone.
#![forbid(unsafe_code)]

use core::net::SocketAddr;
use std::io::{self, BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use zk_test_kit::failure::TestResult;
use zk_test_kit::wait::{NotInTime, SOON, eventually};
use zk_test_kit::zookeeper::Options;

/// A process of its own that runs servers, and what it said about them.
struct Holder {
    process: Child,
    servers: Vec<Trace>,
}

/// The traces of a server while it exists.
struct Trace {
    address: SocketAddr,
    process: u32,
    folder: PathBuf,
}

impl Holder {
    fn spawn(arguments: &[&str]) -> io::Result<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_zookeeper"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut lines = BufReader::new(output).lines();
        let mut line = || lines.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
        let mut servers = Vec::new();
        for address in line()?.split(',') {
            let address = address.parse().map_err(io::Error::other)?;
            let line = line()?;
            let (process, folder) = line.split_once(' ').ok_or(io::ErrorKind::InvalidData)?;
            let process = process.parse().map_err(io::Error::other)?;
            servers.push(Trace { address, process, folder: folder.into() });
        }
        Ok(Self { process, servers })
    }
}

impl Trace {
    fn exists(&self) -> bool {
        TcpStream::connect(self.address).is_ok() || self.folder.exists() || is_alive(self.process)
    }

    fn is_complete(&self) -> bool {
        TcpStream::connect(self.address).is_ok() && self.folder.is_dir() && is_alive(self.process)
    }

    fn wait_until_gone(&self) -> Result<(), NotInTime> {
        eventually(SOON, "the server's process, port and folder are gone", || !self.exists())
    }
}

fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

#[test]
fn after_the_process_was_killed() -> TestResult {
    let mut holder = Holder::spawn(&[])?;
    assert!(holder.servers.iter().all(Trace::is_complete));
    holder.process.kill()?;
    holder.process.wait()?;
    assert_eq!(holder.servers.len(), 1);
    holder.servers.iter().try_for_each(Trace::wait_until_gone)?;
    Ok(())
}

#[test]
fn after_the_process_of_a_paused_server_was_killed() -> TestResult {
    let mut holder = Holder::spawn(&[])?;
    for server in &holder.servers {
        let stop = format!("kill -STOP {}", server.process);
        assert!(Command::new("/bin/sh").args(["-c", &stop]).status()?.success());
    }
    holder.process.kill()?;
    holder.process.wait()?;
    holder.servers.iter().try_for_each(Trace::wait_until_gone)?;
    Ok(())
}

#[test]
fn after_the_process_of_an_ensemble_was_killed() -> TestResult {
    let mut holder = Holder::spawn(&["ensemble"])?;
    assert_eq!(holder.servers.len(), 3);
    holder.process.kill()?;
    holder.process.wait()?;
    holder.servers.iter().try_for_each(Trace::wait_until_gone)?;
    Ok(())
}

#[test]
fn after_the_process_ended_with_its_server_in_a_static() -> TestResult {
    let mut holder = Holder::spawn(&[])?;
    // Waiting closes the standard input, and that is what the process waits for.
    assert!(holder.process.wait()?.success());
    holder.servers.iter().try_for_each(Trace::wait_until_gone)?;
    Ok(())
}

#[test]
fn after_an_interrupt_at_the_terminal() -> TestResult {
    let mut holder = Holder::spawn(&[])?;
    let interrupt = format!("kill -INT {}", holder.process.id());
    assert!(Command::new("/bin/sh").args(["-c", &interrupt]).status()?.success());
    holder.process.wait()?;
    holder.servers.iter().try_for_each(Trace::wait_until_gone)?;
    Ok(())
}

#[test]
fn after_a_panic() -> TestResult {
    let server = Options::new().start_server()?;
    let trace = Trace {
        address: server.addr(),
        process: server.process_id().expect("it runs"),
        folder: server.folder().to_owned(),
    };
    assert!(trace.is_complete());
    let panicked = thread::spawn(move || {
        let _server = server;
        panic!("as a failing test does");
    });
    assert!(panicked.join().is_err());
    assert!(!trace.exists(), "a drop waits for the end");
    Ok(())
}
