//! A process that stands for election and, while it leads, writes to each register.

use alloc::sync::Arc;
use core::error::Error;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Write as _};
use std::thread;

use election_tokio::election::Leadership;
use election_tokio::{Client, OperationOutcome, Version};
use zk_test_kit::history::Claim;

use super::guard::Guard;
use super::report::Report;
use super::service::RegisterClient;

/// The election that the writers stand in.
pub(super) const ELECTION: &str = "/checker/election";
/// The register of [`Guard::Transaction`]. Its data are the writer's token and the version that it had
/// read.
pub(super) const ZNODE: &str = "/checker/register";

/// How long a leader takes over what it has read, at most.
const WORK: Duration = Duration::from_millis(40);
/// How often the writer asks whether it leads validly.
const ASKS: Duration = Duration::from_millis(5);

/// Stands and writes until the process is killed, or nothing reads its output.
///
/// The arguments: servers, name, session timeout in milliseconds, address of the registers.
///
/// # Errors
///
/// When it cannot begin, or the registers are gone.
pub async fn write(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [servers, name, timeout, registers] = arguments else {
        return Err("usage: SERVERS NAME SESSION_TIMEOUT_MS REGISTERS".into());
    };
    let registers: SocketAddr = registers.parse()?;
    let client = Client::builder(servers)
        .session_timeout(Duration::from_millis(timeout.parse()?))
        .connect_timeout(Duration::from_secs(120))
        .connect()
        .await?;
    let mut nomination = client.election(ELECTION).data(name.clone()).nominate()?;
    loop {
        let leadership = Arc::new(nomination.elected().await?);
        let token = leadership.token();
        say(&Report::Elected(token));
        let over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for guard in [Guard::Nothing, Guard::IsValid, Guard::Token] {
            let (leadership, over) = (Arc::clone(&leadership), Arc::clone(&over));
            let register = RegisterClient::connect(registers)?;
            threads.push(thread::spawn(move || lead(guard, register, &leadership, &over)));
        }
        let (asked, asks_until) = (Arc::clone(&leadership), Arc::clone(&over));
        let name = name.clone();
        let clock = RegisterClient::connect(registers)?;
        threads.push(thread::spawn(move || {
            // Without the checker, nothing is left to report to.
            let _ = report_validity(&name, clock, &asked, &asks_until);
        }));
        let reason = tokio::select! {
            reason = leadership.lost() => reason,
            gone = write_guarded(&client, &leadership, RegisterClient::connect(registers)?) => {
                return Err(gone.into());
            }
        };
        over.store(true, Ordering::SeqCst);
        say(&Report::Lost(token, reason.to_string()));
        for thread in threads {
            // A thread that has lost its register has said so.
            let _ = thread.join();
        }
    }
}

/// Reads, works, writes, from a thread of its own, as an application would that is busy.
fn lead(guard: Guard, mut register: RegisterClient, leadership: &Leadership, over: &AtomicBool) {
    let token = leadership.token();
    let may_write = || match guard {
        Guard::IsValid => leadership.is_valid(),
        Guard::Nothing | Guard::Token | Guard::Transaction => true,
    };
    while !over.load(Ordering::SeqCst) {
        let turn = || -> io::Result<()> {
            let base = may_write().then(|| register.read(guard, token)).transpose()?.flatten();
            work();
            if let Some(base) = base
                && may_write()
            {
                register.write(guard, token, base)?;
            }
            Ok(())
        };
        if let Err(error) = { turn }() {
            eprintln!("the register under {guard}: {error}");
            return;
        }
    }
}

/// Writes under the guard. A read shows all earlier leaders' writes once a guarded transaction of this leadership was
/// applied on the same connection before it.
///
/// Ends when the checker is gone.
async fn write_guarded(
    client: &Client,
    leadership: &Leadership,
    mut notes: RegisterClient,
) -> io::Error {
    let token = leadership.token();
    let pause = || tokio::time::sleep(WORK.mul_f64(fastrand::f64()));
    loop {
        pause().await;
        if leadership.confirm().await.is_err() {
            continue;
        }
        let Ok((data, stat)) = client.get_data(ZNODE).await else {
            continue;
        };
        let base = stat.version.get();
        if let Some((writer, of)) = parse(&data) {
            say(&Report::Seen { token: writer, base: of, version: base });
        }
        pause().await;
        // Any version: the guard alone is to keep others out.
        let data = format!("{token} {base}");
        let of = u64::try_from(base).unwrap_or_default();
        let begun = match notes.write_begins(Guard::Transaction, token, of) {
            Ok(begun) => begun,
            Err(error) => return error,
        };
        let written = leadership.transaction().set_data(ZNODE, data, Version::ANY).commit().await;
        let ended = match &written {
            Ok(outcomes) => {
                let [OperationOutcome::DataSet(stat)] = outcomes.as_slice() else {
                    return io::ErrorKind::InvalidData.into();
                };
                let version = stat.version.get();
                say(&Report::Seen { token, base, version });
                notes.write_ends(begun, (token, of), u64::try_from(version).ok())
            }
            Err(error) => {
                say(&Report::NotWritten(token));
                if error.may_have_happened() {
                    Ok(())
                } else {
                    notes.write_ends(begun, (token, of), None)
                }
            }
        };
        if let Err(error) = ended {
            return error;
        }
    }
}

fn parse(data: &[u8]) -> Option<(election_tokio::Token, i32)> {
    let (token, base) = core::str::from_utf8(data).ok()?.split_once(' ')?;
    Some((election_tokio::Token::new(token.parse().ok()?), base.parse().ok()?))
}

fn work() {
    thread::sleep(WORK.mul_f64(fastrand::f64()));
}

/// Frames each yes by two readings of the checker's clock.
fn report_validity(
    name: &str,
    mut clock: RegisterClient,
    leadership: &Leadership,
    over: &AtomicBool,
) -> io::Result<()> {
    let (token, nominee) = (leadership.token(), name.to_owned());
    while !over.load(Ordering::SeqCst) {
        let asked_at = clock.now()?;
        let is_valid = leadership.is_valid();
        let answered_at = clock.now()?;
        if is_valid {
            say(&Report::Valid(Claim { nominee: nominee.clone(), token, asked_at, answered_at }));
        }
        thread::sleep(ASKS);
    }
    Ok(())
}

/// Writes a report in one piece, so that lines of several threads do not mix.
fn say(report: &Report) {
    if writeln!(io::stdout().lock(), "{report}").is_err() {
        // The checker is gone.
        std::process::exit(1);
    }
}
