//! Puts jobs into a queue; the worker that claims one does it, and each is done at least once.
//!
//! Usage: `queue [SERVERS [NAME SECONDS]]`. Without servers it runs one in this process. With a name, it
//! claims a job and works at it for so long: to be started several times at once, and killed.

use std::error::Error;
use std::io;
use std::time::Duration;

use election_tokio::Client;
use zk_embedded::Server;

const ROOT: &str = "/examples/queue";
const JOBS: &str = "/examples/queue/jobs";
const URGENT: &str = "/examples/queue/urgent";
const DONE: &str = "/examples/queue/done";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [] => {
            let server = Server::bind("127.0.0.1:0").await?;
            show(&server.addr().to_string()).await
        }
        [servers] => show(servers).await,
        [servers, name, seconds] => work(servers, name, seconds.parse()?).await,
        _ => Err(io::Error::other("usage: queue [SERVERS [NAME SECONDS]]").into()),
    }
}

async fn show(servers: &str) -> Result<(), Box<dyn Error>> {
    let (one, other) = (connect(servers).await?, connect(servers).await?);
    one.delete_tree(ROOT).await?;

    let (jobs, others) = (one.queue(JOBS), other.queue(JOBS).data("the second client"));
    jobs.put("wash").await?;
    jobs.put_many(["dry", "fold"]).await?;
    println!("jobs: {}", jobs.len().await?);
    let taken = jobs.take().await?;
    println!("the first client takes: {}", String::from_utf8_lossy(&taken.data));

    let claimed = others.claim().await?;
    println!("the second client claims: {}", String::from_utf8_lossy(&claimed.item().data));
    let next = jobs.peek().await?.ok_or("there is one more")?;
    println!("the next one is: {}", String::from_utf8_lossy(&next.data));
    // As if the second client had failed.
    claimed.give_back().await?;
    // By another handle: `jobs` takes what its list has shown before it lists again.
    let again = one.queue(JOBS).claim().await?;
    println!("the first client claims: {}", String::from_utf8_lossy(&again.item().data));
    again.done().await?;

    let urgent = one.priority_queue(URGENT);
    urgent.put(50, "some time").await?;
    urgent.put(1, "now").await?;
    println!("first: {}", String::from_utf8_lossy(&urgent.take().await?.data));

    let done = one.counter(DONE);
    done.add(2).await?;
    println!("done: {}", done.add(1).await?);
    one.delete_tree(ROOT).await?;
    one.close().await?;
    other.close().await?;
    Ok(())
}

async fn work(servers: &str, name: &str, seconds: u64) -> Result<(), Box<dyn Error>> {
    let client = connect(servers).await?;
    let claimed = client.queue(JOBS).data(name.to_owned()).claim().await?;
    println!("{name} claims {}", String::from_utf8_lossy(&claimed.item().data));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    claimed.done().await?;
    client.close().await?;
    Ok(())
}

async fn connect(servers: &str) -> Result<Client, Box<dyn Error>> {
    Ok(Client::builder(servers).session_timeout(Duration::from_secs(4)).connect().await?)
}
