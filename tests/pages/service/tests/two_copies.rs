//! Two copies of the service as processes, on a fresh Apache ZooKeeper server.
#![forbid(unsafe_code)]

#[path = "../src/ledger.rs"]
mod ledger;

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ledger::{Ledger, LedgerError};
use tempfile::TempDir;
use zk_test_kit::wait::eventually;
use zk_test_kit::zookeeper::{Options, Server};

/// Longer than a session timeout of ten seconds, and a tick.
const TAKE_OVER: Duration = Duration::from_secs(30);

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A copy of the service. Dropped: it is killed.
struct Copy {
    name: &'static str,
    process: Child,
    address: String,
}

impl Copy {
    fn start(name: &'static str, server: &Server, database: &str) -> Outcome<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_reports"))
            .env("ZOOKEEPER", server.connect_string())
            .env("NAME", name)
            .env("HTTP", "127.0.0.1:0")
            .env("DATABASE", database)
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("its output")?).lines();
        let address = loop {
            let line = lines.next().ok_or("it ended")??;
            if let Some((_, rest)) = line.split_once("serves http://") {
                break rest.trim_end_matches('/').to_owned();
            }
        };
        // The copy's later lines go where the test's output goes.
        thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| println!("{name}: {line}"))
        });
        Ok(Self { name, process, address })
    }

    /// Returns the copy's answer: the code, and the body.
    fn get(&self, path: &str) -> Outcome<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(TAKE_OVER))?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no body")?;
        let code = head.split(' ').nth(1).ok_or("no code")?.parse()?;
        Ok((code, body.to_owned()))
    }

    /// Returns the name and the token of the leader that it knows.
    fn leader(&self) -> Option<(String, i64)> {
        let (200, body) = self.get("/leader").ok()? else { return None };
        let (name, token) = body.trim_end().split_once(" token ")?;
        Some((name.to_owned(), token.parse().ok()?))
    }

    fn leads(&self) -> Outcome<bool> {
        let (code, body) = self.get("/metrics")?;
        assert_eq!(code, 200);
        Ok(body.lines().any(|line| line == "zk_election_leading 1"))
    }

    fn signal(&self, signal: &str) -> Outcome {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status()?.success());
        Ok(())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn one_of_two_copies_leads_and_the_other_one_once_that_is_killed() -> Outcome {
    let server = Options::new().start_server()?;
    let folder = TempDir::new()?;
    let database = folder.path().join("reports.db").display().to_string();
    let a = Copy::start("a", &server, &database)?;
    let b = Copy::start("b", &server, &database)?;

    let mut seen = None;
    eventually(TAKE_OVER, "both know the same leader", || {
        seen = a.leader();
        seen.is_some() && seen == b.leader()
    })?;
    let (name, old) = seen.ok_or("a leader")?;
    let (leader, other) = if name == a.name { (a, b) } else { (b, a) };
    eventually(TAKE_OVER, "the leader counts itself", || leader.leads().unwrap_or(false))?;
    assert!(!other.leads()?);
    for copy in [&leader, &other] {
        // One that a busy machine holds up is neither for a moment.
        for page in ["/healthz", "/readyz"] {
            eventually(TAKE_OVER, page, || copy.get(page).is_ok_and(|(code, _)| code == 200))?;
        }
    }
    let ledger = Ledger::open(&database)?;
    eventually(TAKE_OVER, "it writes", || ledger.take_over(old).is_ok_and(|last| last >= 2))?;

    leader.signal("-KILL")?;
    eventually(TAKE_OVER, "the other one leads", || other.leads().unwrap_or(false))?;
    eventually(TAKE_OVER, "and says so", || {
        other.leader().is_some_and(|(name, _)| name == other.name)
    })?;
    let (_, new) = other.leader().ok_or("a leader")?;
    assert!(new > old);
    eventually(TAKE_OVER, "its fence is up", || {
        matches!(ledger.write(old), Err(LedgerError::Fenced))
    })?;

    // It ends in order.
    let mut other = other;
    other.signal("-TERM")?;
    assert!(other.process.wait()?.success());
    Ok(())
}
