//! A transfer between two sites, which both make or neither does.
//!
//! Usage: `two_phase_commit [SERVERS [SITE SECONDS]]`. Without servers it runs one in this process. With
//! a site, it takes part for that in the transaction that stands there, votes to commit, and does what is
//! decided, so many seconds after the vote: to be started once for each site, killed, and started again.

use std::error::Error;
use std::io;
use std::time::Duration;

use election_tokio::Client;
use election_tokio::commit::{CommitError, CommitParticipant, Decision};
use zk_embedded::Server;

const ROOT: &str = "/examples/two-phase-commit";
const TRANSFER: &str = "/examples/two-phase-commit/transfer";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [] => {
            let server = Server::bind("127.0.0.1:0").await?;
            show(&server.addr().to_string()).await
        }
        [servers] => show(servers).await,
        [servers, site, seconds] => take_part(servers, site, seconds.parse()?).await,
        _ => Err(io::Error::other("usage: two_phase_commit [SERVERS [SITE SECONDS]]").into()),
    }
}

async fn show(servers: &str) -> Result<(), Box<dyn Error>> {
    let (one, other) = (connect(servers).await?, connect(servers).await?);
    one.delete_tree(ROOT).await?;

    let transfer = one.two_phase_commit(TRANSFER);
    let coordinator = transfer.begin("10 from a to b", ["a", "b"]).await?;
    let a = other.two_phase_commit(TRANSFER).join("a").await?;
    println!("a is to do: {}", String::from_utf8_lossy(&a.content().await?));
    a.vote_commit().await?;
    println!("{}", coordinator.status().await?);

    // As if the coordinator had failed: any other party goes on.
    drop(coordinator);
    let coordinator = other.two_phase_commit(TRANSFER).recover().await?;
    let b = one.two_phase_commit(TRANSFER).join("b").await?;
    let (voted, decided) = tokio::join!(b.vote_commit(), coordinator.decided());
    voted?;
    println!("decided: {:?}", decided?);
    for site in [a, b] {
        apply(site).await?;
    }
    coordinator.finish().await?;

    let coordinator = transfer.begin("1000 from a to b", ["a", "b"]).await?;
    let refuses = transfer.join("a").await?;
    println!("a refuses: {:?}", refuses.vote_abort().await?);
    refuses.acknowledge().await?;
    coordinator.finish().await?;
    match other.two_phase_commit(TRANSFER).join("b").await {
        Ok(_) => println!("b takes part"),
        Err(error) => println!("b is late: {error}"),
    }
    one.delete_tree(ROOT).await?;
    one.close().await?;
    other.close().await?;
    Ok(())
}

/// Does what is decided, and says so.
async fn apply(participant: CommitParticipant) -> Result<(), CommitError> {
    let site = participant.site().to_owned();
    match participant.decision().await? {
        Decision::Commit => println!("{site} commits"),
        Decision::Abort => println!("{site} aborts"),
    }
    participant.acknowledge().await
}

async fn take_part(servers: &str, site: &str, seconds: u64) -> Result<(), Box<dyn Error>> {
    let client = connect(servers).await?;
    let participant = client.two_phase_commit(TRANSFER).join(site).await?;
    println!("{site} is there");
    participant.vote_commit().await?;
    println!("{site} has voted");
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    apply(participant).await?;
    client.close().await?;
    Ok(())
}

async fn connect(servers: &str) -> Result<Client, Box<dyn Error>> {
    Ok(Client::builder(servers).session_timeout(Duration::from_secs(4)).connect().await?)
}
