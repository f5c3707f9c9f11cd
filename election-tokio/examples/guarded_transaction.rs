//! A leader that writes through `Leadership::transaction`: the server applies what it writes only
//! while it leads. Once it is deposed, its writes are refused, whether or not it knows.
//!
//! Usage: `guarded_transaction [SERVERS]`. Without servers it runs one in this process.

use std::error::Error;
use std::io;

use election_tokio::acl::Acls;
use election_tokio::election::{Leadership, Role};
use election_tokio::{Client, CreateMode, TransactionError, Version};
use zk_embedded::Server;

const ROOT: &str = "/examples/guarded-transaction";
const ELECTION: &str = "/examples/guarded-transaction/leader";
const LEDGER: &str = "/examples/guarded-transaction/ledger";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (servers, _own_server) = servers().await?;
    let connect = async || Client::builder(&servers).connect().await;
    let operator = connect().await?;
    operator.delete_tree(ROOT).await?;
    operator.create_with_parents(LEDGER, "", CreateMode::Persistent, &Acls::open()).await?;

    let (first, second) = (connect().await?, connect().await?);
    let mut nomination = first.election(ELECTION).data("first").nominate()?;
    let old = nomination.elected().await?;
    println!("the first nominee leads with token {}", old.token());
    write(&old, "written by the first").await?;
    show(&operator).await?;

    // Prepared while it leads, and sent too late, as a paused process sends it.
    let late = old.transaction().set_data(LEDGER, "written too late", Version::ANY);

    // The heir stands before the old leader falls, which would stand again and might lead again.
    let mut heir = second.election(ELECTION).data("second").nominate()?;
    heir.updates().wait_for(|status| matches!(status.role, Role::Following { .. })).await?;
    operator.delete(&format!("{ELECTION}/{}", old.candidate()), Version::ANY).await?;
    let new = heir.elected().await?;
    println!("the second nominee leads with token {}", new.token());
    assert!(new.token() > old.token(), "tokens grow from leader to leader");
    write(&new, "written by the second").await?;

    match late.commit().await {
        Err(error @ TransactionError::NotHeld) => println!("the late write: {error}"),
        outcome => return Err(format!("the late write was not refused: {outcome:?}").into()),
    }
    // The refusal is the server's, by the check of the candidate znode that comes first in each
    // guarded transaction. A client that has heard nothing of its fall asks just this:
    let unaware = first
        .transaction()
        .check(&format!("{ELECTION}/{}", old.candidate()), Version::ANY)
        .set_data(LEDGER, "written too late", Version::ANY);
    match unaware.commit().await {
        Err(error @ TransactionError::Refused { index: 0, .. }) => println!("the server: {error}"),
        outcome => return Err(format!("the server applied it: {outcome:?}").into()),
    }
    show(&operator).await?;

    new.resign().await?;
    drop(nomination);
    first.close().await?;
    second.close().await?;
    operator.delete_tree(ROOT).await?;
    operator.close().await?;
    Ok(())
}

async fn write(leadership: &Leadership, text: &'static str) -> Result<(), TransactionError> {
    leadership.transaction().set_data(LEDGER, text, Version::ANY).commit().await.map(drop)
}

async fn show(client: &Client) -> Result<(), election_tokio::Error> {
    let (data, _) = client.get_data(LEDGER).await?;
    println!("the ledger: {}", String::from_utf8_lossy(&data));
    Ok(())
}

/// Returns the servers that the first argument names, or one in this process.
async fn servers() -> io::Result<(String, Option<Server>)> {
    if let Some(servers) = std::env::args().nth(1) {
        return Ok((servers, None));
    }
    let server = Server::bind("127.0.0.1:0").await?;
    Ok((server.addr().to_string(), Some(server)))
}
