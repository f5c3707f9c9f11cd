//! The registers, served to the writers' processes.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;

use election_tokio::Token;
use zk_test_kit::history;
use zk_verdict::{CallId, History, Op};

use super::guard::Guard;
use super::register::{Fence, Refused, Register, Tally};

/// Asks for the checker's time.
const NOW: &str = "now";

/// What is served.
#[derive(Debug)]
struct Shared {
    registers: BTreeMap<Guard, Register>,
    /// The accesses, as their writers see them. One that its writer does not end has an unknown outcome.
    history: History,
    begun: Vec<CallId>,
}

/// An access that a writer has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun(u64);

/// The registers outside of ZooKeeper, one a guard. Served until the process ends.
#[derive(Debug)]
pub(super) struct Registers {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    begun_at: Duration,
}

/// A writer's end of it.
#[derive(Debug)]
pub(super) struct RegisterClient {
    stream: BufReader<TcpStream>,
}

impl Registers {
    pub(super) fn serve() -> io::Result<Self> {
        let listener = TcpListener::bind((core::net::Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let registers = [
            (Guard::Nothing, Register::new(Fence::Open)),
            (Guard::IsValid, Register::new(Fence::Open)),
            (Guard::Token, Register::new(Fence::Closed)),
        ];
        let registers = BTreeMap::from(registers);
        let shared = Shared { registers, history: History::new(), begun: Vec::new() };
        let shared = Arc::new(Mutex::new(shared));
        let begun_at = history::now();
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&served);
                // A writer that is killed ends its connection: nothing to tell.
                thread::spawn(move || serve(stream, &shared, begun_at).ok());
            }
        });
        Ok(Self { address, shared, begun_at })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) const fn begun_at(&self) -> Duration {
        self.begun_at
    }

    pub(super) fn tally(&self, guard: Guard) -> Option<Tally> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.registers.get(&guard).map(|register| register.tally().clone())
    }

    /// Returns the accesses so far.
    pub(super) fn history(&self) -> History {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).history.clone()
    }
}

fn serve(stream: TcpStream, shared: &Mutex<Shared>, begun_at: Duration) -> io::Result<()> {
    // An access asks three times, and what lies between a leader's look and its act is to stay short.
    stream.set_nodelay(true)?;
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let at = history::now().saturating_sub(begun_at);
        if line == NOW {
            writeln!(answers, "{}", at.as_nanos())?;
            continue;
        }
        let mut served = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = note(&line, at, &mut served);
        let answer = noted
            .map(Ok)
            .or_else(|| answer(&line, at, &mut served.registers))
            .ok_or(io::ErrorKind::InvalidData)?;
        drop(served);
        match answer {
            Ok(version) => writeln!(answers, "{version}")?,
            Err(Refused) => writeln!(answers, "refused")?,
        }
    }
    Ok(())
}

/// Notes the beginning of an access, and returns its number; or its end.
fn note(line: &str, at: Duration, shared: &mut Shared) -> Option<u64> {
    let mut words = line.split(' ');
    match words.next()? {
        "begin" => {
            let key = key(words.next()?.parse().ok()?);
            let op = operation(words, None)?;
            shared.begun.push(shared.history.invoke(&key, at, op));
            u64::try_from(shared.begun.len() - 1).ok()
        }
        "end" => {
            let number: u64 = words.next()?.parse().ok()?;
            let call = *shared.begun.get(usize::try_from(number).ok()?)?;
            match words.next()? {
                "refused" => shared.history.fail(call, at),
                version => {
                    shared.history.ok(call, at, operation(words, version.parse().ok())?);
                }
            }
            Some(number)
        }
        _ => None,
    }
}

/// Returns the key of a register in the history.
pub(super) fn key(guard: Guard) -> String {
    format!("register/{guard}")
}

/// Reads an operation: its word, its token, and the version that it was made of, if it is a write.
fn operation<'a>(mut words: impl Iterator<Item = &'a str>, version: Option<u64>) -> Option<Op> {
    let (order, token) = (words.next()?, words.next()?.parse().ok()?);
    match (order, words.next()) {
        ("read", None) => Some(Op::Read { token, version }),
        ("write", Some(base)) => Some(Op::Write { token, base: base.parse().ok(), version }),
        _ => None,
    }
}

fn answer(
    line: &str,
    at: Duration,
    registers: &mut BTreeMap<Guard, Register>,
) -> Option<Result<u64, Refused>> {
    let mut words = line.split(' ');
    let (order, guard, token) = (words.next()?, words.next()?, words.next()?);
    let register = registers.get_mut(&guard.parse().ok()?)?;
    let token = Token::new(token.parse().ok()?);
    match (order, words.next()) {
        ("read", None) => Some(register.read(token)),
        ("write", Some(base)) => Some(register.write(at, token, base.parse().ok()?)),
        _ => None,
    }
}

impl RegisterClient {
    pub(super) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Returns the present version of this guard's register; `None` if the token is refused.
    pub(super) fn read(&mut self, guard: Guard, token: Token) -> io::Result<Option<u64>> {
        self.access(guard, &format!("read {guard} {}", token.get()), &read_by(token))
    }

    /// Writes what was made of the version `base`; `None` if the token is refused.
    pub(super) fn write(
        &mut self,
        guard: Guard,
        token: Token,
        base: u64,
    ) -> io::Result<Option<u64>> {
        self.access(guard, &format!("write {guard} {} {base}", token.get()), &made_of(token, base))
    }

    fn access(&mut self, guard: Guard, order: &str, op: &str) -> io::Result<Option<u64>> {
        let begun = self.begin(guard, op)?;
        let answer = self.ask(&format!("{order}\n"))?;
        self.end(begun, op, answer)?;
        Ok(answer)
    }

    /// Notes that a write of what was made of the version `base` begins.
    pub(super) fn write_begins(
        &mut self,
        guard: Guard,
        token: Token,
        base: u64,
    ) -> io::Result<Begun> {
        self.begin(guard, &made_of(token, base))
    }

    /// Notes that a write has made this version; `None` if it has made none, and never will.
    pub(super) fn write_ends(
        &mut self,
        begun: Begun,
        (token, base): (Token, u64),
        version: Option<u64>,
    ) -> io::Result<()> {
        self.end(begun, &made_of(token, base), version)
    }

    fn begin(&mut self, guard: Guard, op: &str) -> io::Result<Begun> {
        let number = self.ask(&format!("begin {guard} {op}\n"))?;
        number.map(Begun).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn end(&mut self, Begun(number): Begun, op: &str, answer: Option<u64>) -> io::Result<()> {
        let answer = answer.map_or_else(|| "refused".to_owned(), |version| version.to_string());
        self.ask(&format!("end {number} {answer} {op}\n")).map(drop)
    }

    /// Returns the checker's time since the beginning of the run: a writer's own clocks may run
    /// wrong.
    pub(super) fn now(&mut self) -> io::Result<Duration> {
        let nanoseconds = self.ask(&format!("{NOW}\n"))?;
        Ok(Duration::from_nanos(nanoseconds.unwrap_or_default()))
    }

    fn ask(&mut self, order: &str) -> io::Result<Option<u64>> {
        self.stream.get_mut().write_all(order.as_bytes())?;
        let mut answer = String::new();
        if self.stream.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match answer.trim_end() {
            "refused" => Ok(None),
            version => version.parse().map(Some).map_err(|_| io::ErrorKind::InvalidData.into()),
        }
    }
}

fn read_by(token: Token) -> String {
    format!("read {}", token.get())
}

fn made_of(token: Token, base: u64) -> String {
    format!("write {} {base}", token.get())
}
