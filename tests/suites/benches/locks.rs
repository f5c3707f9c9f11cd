//! The costs of taking and releasing a free lock, on Apache ZooKeeper: this library, kazoo,
//! Curator, and the floor, in turns. `benches/README.md` says how to run it.
#![forbid(unsafe_code)]

#[path = "../tests/programs/kazoo/environment.rs"]
mod environment;
#[path = "../tests/programs/interop/programs.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod programs;
#[path = "elections/raw.rs"]
#[expect(dead_code, reason = "the other benchmarks use more of it")]
mod raw;

use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use election_tokio::format::Format;
use election_tokio::lease::LeaseGrade;
use election_tokio::{Client, CreateMode};
use tokio::runtime::{Builder, Runtime};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::ServerKind;

use programs::Program;
use raw::{DELETE, GET_CHILDREN, Raw, buffer, children, create, read_frame, request};

const PATH: &str = "/locks";

/// The contender that takes and releases a lock so often.
enum Side {
    Raw(Raw),
    Ours(Client),
    Peer(Peer),
}

/// A process that times its own locks. Dropped: it is killed.
struct Peer {
    child: Child,
    orders: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

fn main() -> TestResult {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let (rounds, turns) = if is_smoke { (1, 5) } else { (15, 200) };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut sides = sides(&runtime)?;
    let mut times: Vec<Vec<Duration>> = sides.iter().map(|_| Vec::new()).collect();
    for (_, side) in &mut sides {
        side.time(&runtime, turns)?;
    }
    for _ in 0..rounds {
        for ((_, side), times) in sides.iter_mut().zip(&mut times) {
            times.push(side.time(&runtime, turns)?);
        }
    }
    println!(
        "| a free lock, taken and released | median of {rounds} × {turns} | ÷ raw |\n|---|---|---|"
    );
    let mut floor = None;
    for ((name, _), mut times) in sides.into_iter().zip(times) {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default() / turns;
        let floor = *floor.get_or_insert(median);
        println!("| {name} | {median:.0?} | {:.2} |", median.div_duration_f64(floor));
    }
    Ok(())
}

fn sides(runtime: &Runtime) -> Result<Vec<(&'static str, Side)>, TestFailure> {
    let server = ServerKind::Apache.shared()?;
    let servers = server.connect_string();
    let client = |grade| {
        runtime.block_on(async {
            let client = Client::builder(&servers).lease_grade(grade).connect().await?;
            match client.create(PATH, "", CreateMode::Persistent).await {
                Err(error) if !error.is_node_exists() => Err(TestFailure::from(error)),
                _ => Ok(client),
            }
        })
    };
    Ok(vec![
        ("raw: create, list, delete", Side::Raw(Raw::connect(server.addr())?)),
        ("ours, `Contact`", Side::Ours(client(LeaseGrade::Contact)?)),
        ("ours, `Quorum`", Side::Ours(client(LeaseGrade::Quorum)?)),
        ("kazoo 2.11 `Lock`", Side::Peer(Peer::start(Program::Kazoo("lock"), &servers)?)),
        (
            "Curator 5.4 `InterProcessMutex`",
            Side::Peer(Peer::start(Program::Curator("mutex", "1"), &servers)?),
        ),
    ])
}

impl Raw {
    /// Takes and releases a lock by its bare requests: the create, a list, and the deletion, each
    /// after the other.
    fn lock(&mut self, node: &str) -> io::Result<()> {
        let prefix = format!("{node}/_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-");
        self.exchange(&create(&prefix, 3))?;
        let list = self.exchange(&request(GET_CHILDREN, &[&buffer(node), &[0]]))?;
        for name in children(&list) {
            let path = buffer(&format!("{node}/{name}"));
            self.exchange(&request(DELETE, &[&path, &(-1_i32).to_be_bytes()]))?;
        }
        Ok(())
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.output.write_all(request)?;
        read_frame(&mut self.input)
    }
}

impl Side {
    /// Returns how long so many turns take, one after another.
    fn time(&mut self, runtime: &Runtime, turns: u32) -> Result<Duration, TestFailure> {
        let began = Instant::now();
        match self {
            Self::Raw(raw) => {
                for _ in 0..turns {
                    raw.lock(PATH)?;
                }
            }
            Self::Ours(client) => runtime.block_on(async {
                for _ in 0..turns {
                    let lock = client.lock(PATH).format(Format::curator_lock());
                    lock.lock().await?.release().await?;
                }
                Ok::<_, TestFailure>(())
            })?,
            Self::Peer(peer) => return peer.time(turns),
        }
        Ok(began.elapsed())
    }
}

impl Peer {
    fn start(program: Program, servers: &str) -> Result<Self, TestFailure> {
        let path = format!("{PATH}-{}", program.library());
        let mut command = program.command(&[servers, &path, "timed", "30000"])?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let piped = || io::Error::from(io::ErrorKind::BrokenPipe);
        let orders = child.stdin.take().ok_or_else(piped)?;
        let said = BufReader::new(child.stdout.take().ok_or_else(piped)?).lines();
        Ok(Self { child, orders, said })
    }

    fn time(&mut self, turns: u32) -> Result<Duration, TestFailure> {
        writeln!(self.orders, "time {turns}")?;
        for line in self.said.by_ref() {
            let line = line?;
            if let ["took", _, nanoseconds] = *line.split(' ').collect::<Vec<_>>() {
                return Ok(Duration::from_nanos(nanoseconds.parse()?));
            }
        }
        Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
