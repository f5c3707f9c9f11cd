//! Stands for election as a process of its own, and says on standard output what it is and
//! whether it may act, one [`Report`] a line.
//!
//! `nominee SERVERS ELECTION NAME SESSION_TIMEOUT_MS [TICKET ID]`. On standard input, `write PATH`
//! makes it create a znode under the guard of its present or last leadership, `resign` ends the
//! nomination, `hand-over` gives it up together with the session: another process that is started
//! with the ticket and the id goes on. The end of standard input, or of the process that started
//! this one, ends all.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::thread;

use election_tokio::election::{Leadership, Nomination, Role};
use election_tokio::session::IfGone;
use election_tokio::{Client, CreateMode};
use tokio::sync::mpsc;
use zk_test_kit::history::Claim;
use zk_tests::nominee::Report;

extern crate alloc;

enum Order {
    Write(String),
    Resign,
    HandOver,
    Quit,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Err(error) = die_with_parent() {
        eprintln!("nominee: {error}");
        return ExitCode::FAILURE;
    }
    match stand().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nominee: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Has the kernel end this process with its parent, also while it is stopped, when it cannot see
/// that its standard input ended.
#[cfg(target_os = "linux")]
fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> io::Result<()> {
    Ok(())
}

async fn stand() -> Result<(), Box<dyn core::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut orders = orders();
    let (name, client, mut nomination) = begin(&arguments).await?;
    tokio::spawn(report_roles(nomination.updates()));
    let mut last: Option<Arc<Leadership>> = None;
    loop {
        let elected = tokio::select! {
            elected = nomination.elected() => elected,
            order = orders.recv() => match (order, &last) {
                (Some(Order::Write(path)), Some(leadership)) => {
                    write(leadership, &path).await;
                    continue;
                }
                (order, _) => return end(order, client, nomination).await,
            },
        };
        let leadership = match elected {
            Ok(leadership) => Arc::new(leadership),
            Err(reason) => {
                say(&Report::Ended(reason.to_string()));
                return Ok(());
            }
        };
        say(&Report::Elected {
            token: leadership.token(),
            candidate: leadership.candidate().to_string(),
        });
        let over = Arc::new(AtomicBool::new(false));
        let asking = thread::spawn({
            let (name, leadership) = (name.clone(), Arc::clone(&leadership));
            let over = Arc::clone(&over);
            move || report_validity(&name, &leadership, &over)
        });
        last = Some(Arc::clone(&leadership));
        let reason = loop {
            tokio::select! {
                reason = leadership.lost() => break reason,
                order = orders.recv() => match order {
                    Some(Order::Write(path)) => write(&leadership, &path).await,
                    order => return end(order, client, nomination).await,
                },
            }
        };
        say(&Report::Lost { token: leadership.token(), reason: reason.to_string() });
        over.store(true, Ordering::Relaxed);
        let _ = asking.join();
    }
}

async fn begin(
    arguments: &[String],
) -> Result<(String, Client, Nomination), Box<dyn core::error::Error>> {
    let [servers, election, name, timeout, handed_over @ ..] = arguments else {
        return Err("usage: nominee SERVERS ELECTION NAME SESSION_TIMEOUT_MS [TICKET ID]".into());
    };
    let builder = Client::builder(servers)
        .session_timeout(Duration::from_millis(timeout.parse()?))
        .connect_timeout(Duration::from_secs(30));
    if let [ticket, id] = handed_over {
        let client = builder.resume(ticket.parse()?, IfGone::Fail).connect().await?;
        let nomination = client.election(election).take_over(id.parse()?)?;
        return Ok((name.clone(), client, nomination));
    }
    let client = builder.connect().await?;
    let nomination = client.election(election).data(name.clone()).nominate()?;
    Ok((name.clone(), client, nomination))
}

/// Writes as if it led: whether it does is for the guard to find out.
async fn write(leadership: &Leadership, path: &str) {
    let transaction = leadership.transaction().create(path, "", CreateMode::Persistent);
    let outcome = transaction.commit().await;
    let token = leadership.token();
    say(&match outcome {
        Ok(_) => Report::Written(token),
        Err(error) => Report::NotWritten { token, reason: error.to_string() },
    });
}

async fn end(
    order: Option<Order>,
    client: Client,
    nomination: Nomination,
) -> Result<(), Box<dyn core::error::Error>> {
    match order {
        Some(Order::Resign) => {
            let departure = nomination.withdraw().await?;
            say(&Report::Ended(format!("{departure:?}")));
            client.close().await?;
        }
        Some(Order::HandOver) => {
            let id = nomination.id().to_string();
            let ticket = client.detach()?.expose();
            say(&Report::HandedOver { ticket, id });
        }
        Some(Order::Write(_) | Order::Quit) | None => {}
    }
    Ok(())
}

async fn report_roles(mut status: election_tokio::Updates<election_tokio::election::Status>) {
    let mut latest = Some(status.latest_and_update());
    while let Some(shown) = latest {
        match shown.role {
            Role::Following { predecessor, .. } => say(&Report::Following {
                candidate: shown.candidate.map(|name| name.to_string()).unwrap_or_default(),
                predecessor: predecessor.to_string(),
            }),
            Role::Suspended { token, .. } => say(&Report::Suspended(token)),
            _ => {}
        }
        latest = status.next().await;
    }
}

/// Reports the validity from a thread of its own, as a busy application would ask.
fn report_validity(name: &str, leadership: &Leadership, over: &AtomicBool) {
    loop {
        let was_over = over.load(Ordering::Relaxed);
        match Claim::ask(name, leadership) {
            Some(claim) => say(&Report::Valid(claim)),
            None => say(&Report::NotValid(leadership.token())),
        }
        if was_over {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn orders() -> mpsc::UnboundedReceiver<Order> {
    let (sender, receiver) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let order = match line.as_deref() {
                Ok("resign") => Order::Resign,
                Ok("hand-over") => Order::HandOver,
                Ok(line) => match line.strip_prefix("write ") {
                    Some(path) => Order::Write(path.to_owned()),
                    None => Order::Quit,
                },
                Err(_) => Order::Quit,
            };
            if sender.send(order).is_err() {
                return;
            }
        }
        let _ = sender.send(Order::Quit);
    });
    receiver
}

/// Writes a report in one piece, so that lines of several threads do not mix.
fn say(report: &Report) {
    if writeln!(io::stdout().lock(), "{report}").is_err() {
        // No process listens any more.
        std::process::exit(1);
    }
}
