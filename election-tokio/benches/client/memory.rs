//! The memory of an idle client and of a nomination: the resident memory of this process, before
//! and after, divided. The responder has a process of its own.

use core::error::Error;
use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::Role;

use crate::measure::resident_kib;
use crate::responder::Responder;

const CLIENTS: usize = 1000;

/// Measures clients of the responder.
pub(crate) async fn of_clients() -> Result<(), Box<dyn Error>> {
    print_head();
    idle_clients().await
}

/// Nominations on one session of a real server.
pub(crate) async fn of_nominations(servers: &str) -> Result<(), Box<dyn Error>> {
    print_head();
    for nominations in [1000, 10_000] {
        nominations_of_one_session(servers, nominations).await?;
    }
    Ok(())
}

async fn idle_clients() -> Result<(), Box<dyn Error>> {
    let responder = Responder::start()?;
    let servers = format!("127.0.0.1:{}", responder.port);
    let connect = || Client::builder(&servers).session_timeout(Duration::from_secs(30)).connect();
    // The first client's own costs are not counted.
    let first = connect().await?;
    let before = resident_kib()?;
    let mut clients = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        clients.push(connect().await?);
    }
    print("idle clients", CLIENTS, before)?;
    for client in &clients {
        client.get_data("/znode").await?;
    }
    print("used clients", CLIENTS, before)?;
    drop((first, clients));
    Ok(())
}

async fn nominations_of_one_session(servers: &str, number: usize) -> Result<(), Box<dyn Error>> {
    let client =
        Client::builder(servers).session_timeout(Duration::from_secs(60)).connect().await?;
    let election = client.election(&format!("/memory-{}-{number}", std::process::id()));
    let before = resident_kib()?;
    let mut nominations = Vec::with_capacity(number);
    for _ in 0..number {
        nominations.push(election.nominate()?);
        // One after the other: what is measured is what they hold, not the lists on their way.
        if let Some(nomination) = nominations.last() {
            let in_place =
                |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
            nomination.updates().wait_for(|status| in_place(&status.role)).await?;
        }
    }
    print("nominations", number, before)?;
    client.close().await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn print_head() {
    println!("{:>8} {:14} {:>10}", "number", "of", "KiB each");
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn print(of: &str, number: usize, before: u64) -> Result<(), Box<dyn Error>> {
    let grown = u32::try_from(resident_kib()?.saturating_sub(before))?;
    let each = f64::from(grown) / f64::from(u32::try_from(number)?);
    println!("{number:>8} {of:14} {each:>10.2}");
    Ok(())
}
