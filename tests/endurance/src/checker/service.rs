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

use super::guard::Guard;
use super::register::{Fence, Refused, Register, Tally};

/// Asks for the checker's time.
const NOW: &str = "now";

/// The registers outside of ZooKeeper, one a guard. Served until the process ends.
#[derive(Debug)]
pub(super) struct Registers {
    address: SocketAddr,
    shared: Arc<Mutex<BTreeMap<Guard, Register>>>,
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
        let shared = Arc::new(Mutex::new(BTreeMap::from(registers)));
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
        let registers = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        registers.get(&guard).map(|register| register.tally().clone())
    }
}

fn serve(
    stream: TcpStream,
    shared: &Mutex<BTreeMap<Guard, Register>>,
    begun_at: Duration,
) -> io::Result<()> {
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let at = history::now().saturating_sub(begun_at);
        if line == NOW {
            writeln!(answers, "{}", at.as_nanos())?;
            continue;
        }
        let mut registers = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer(&line, at, &mut registers).ok_or(io::ErrorKind::InvalidData)?;
        drop(registers);
        match answer {
            Ok(version) => writeln!(answers, "{version}")?,
            Err(Refused) => writeln!(answers, "refused")?,
        }
    }
    Ok(())
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
        let order = format!("read {guard} {}\n", token.get());
        self.ask(&order)
    }

    /// Writes what was made of the version `base`; `None` if the token is refused.
    pub(super) fn write(
        &mut self,
        guard: Guard,
        token: Token,
        base: u64,
    ) -> io::Result<Option<u64>> {
        let order = format!("write {guard} {} {base}\n", token.get());
        self.ask(&order)
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
