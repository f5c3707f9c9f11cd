//! Stands for election and works for as long as it leads.
//!
//! Usage: `stand SERVERS ELECTION NAME`, several times at once; end the leader with Ctrl-C or
//! `kill -9`.

use std::time::Duration;

use election_tokio::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(servers), Some(path), Some(name)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: stand SERVERS ELECTION NAME".into());
    };
    let client =
        Client::builder(&servers).session_timeout(Duration::from_secs(4)).connect().await?;
    let mut nomination = client.election(&path).data(name.clone()).nominate()?;
    let mut status = nomination.updates();
    tokio::spawn(async move {
        while let Some(status) = status.next().await {
            println!("status: {:?}", status.role);
        }
    });
    loop {
        let leadership = nomination.elected().await?;
        println!("{name} leads with token {}", leadership.token());
        let work = async {
            loop {
                println!("{name} works, valid: {}", leadership.is_valid());
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let Err(loss) = leadership.guard(work).await;
        println!("{name}: {loss}");
    }
}
