//! Clients that share a few permits.
//!
//! Usage: `semaphore [SERVERS [NAME PERMITS SECONDS]]`. Without servers it runs one in this process. With
//! a name, it takes one of so many permits and holds it for so long: to be started several times at once,
//! and killed.

use core::num::NonZeroU32;
use std::error::Error;
use std::io;
use std::time::Duration;

use election_tokio::Client;
use tokio::task::JoinSet;
use zk_embedded::Server;

const ROOT: &str = "/examples/semaphore";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [] => {
            let server = Server::bind("127.0.0.1:0").await?;
            share(&server.addr().to_string()).await
        }
        [servers] => share(servers).await,
        [servers, name, permits, seconds] => {
            hold(servers, name, permits.parse()?, seconds.parse()?).await
        }
        _ => Err(io::Error::other("usage: semaphore [SERVERS [NAME PERMITS SECONDS]]").into()),
    }
}

async fn share(servers: &str) -> Result<(), Box<dyn Error>> {
    let client = connect(servers).await?;
    client.delete_tree(ROOT).await?;
    let two = NonZeroU32::MIN.saturating_add(1);
    let mut workers = JoinSet::new();
    for worker in 1..=4 {
        let semaphore = client.semaphore(ROOT, two).data(format!("worker {worker}"));
        workers.spawn(async move {
            let permit = semaphore.acquire().await?;
            println!("worker {worker} works");
            tokio::time::sleep(Duration::from_millis(50)).await;
            println!("worker {worker} has done its work");
            permit.release().await?;
            Ok::<(), Box<dyn Error + Send + Sync>>(())
        });
    }
    while let Some(done) = workers.join_next().await {
        done?.map_err(|error| error.to_string())?;
    }
    client.delete_tree(ROOT).await?;
    client.close().await?;
    Ok(())
}

async fn hold(
    servers: &str,
    name: &str,
    permits: NonZeroU32,
    seconds: u64,
) -> Result<(), Box<dyn Error>> {
    let client = connect(servers).await?;
    let permit = client.semaphore(ROOT, permits).data(name.to_owned()).acquire().await?;
    println!("{name} holds a permit with token {}", permit.token());
    match permit.guard(tokio::time::sleep(Duration::from_secs(seconds))).await {
        Ok(()) => permit.release().await.map(drop)?,
        Err(loss) => println!("{name} has lost it: {loss}"),
    }
    client.close().await?;
    Ok(())
}

async fn connect(servers: &str) -> Result<Client, Box<dyn Error>> {
    Ok(Client::builder(servers).session_timeout(Duration::from_secs(4)).connect().await?)
}
