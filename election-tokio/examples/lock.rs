//! Clients that take a lock in turn, and write only while they hold it.
//!
//! Usage: `lock [SERVERS [NAME SECONDS]]`. Without servers it runs one in this process. With a name, it
//! takes the lock and holds it for so long: to be started several times at once, and killed.

use std::error::Error;
use std::io;
use std::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::lock::LockGuard;
use election_tokio::{Client, CreateMode, TransactionError, Version};
use zk_embedded::Server;

const ROOT: &str = "/examples/lock";
const LOCK: &str = "/examples/lock/lock";
const LEDGER: &str = "/examples/lock/ledger";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [] => {
            let server = Server::bind("127.0.0.1:0").await?;
            take_turns(&server.addr().to_string()).await
        }
        [servers] => take_turns(servers).await,
        [servers, name, seconds] => hold(servers, name, seconds.parse()?).await,
        _ => Err(io::Error::other("usage: lock [SERVERS [NAME SECONDS]]").into()),
    }
}

async fn take_turns(servers: &str) -> Result<(), Box<dyn Error>> {
    let (one, other) = (connect(servers).await?, connect(servers).await?);
    one.delete_tree(ROOT).await?;
    one.create_with_parents(LEDGER, "", CreateMode::Persistent, &Acls::open()).await?;

    let first = one.lock(LOCK).data("first").lock().await?;
    println!("the first client holds the lock with token {}", first.token());
    write(&first, "written by the first").await?;
    let attempt = other.lock(LOCK).try_lock().await?;
    println!("the second client tries, and has it: {}", attempt.is_some());

    // Prepared while the lock is held, and sent too late, as a paused process sends it.
    let late = first.transaction().set_data(LEDGER, "written too late", Version::ANY);
    let lock = other.lock(LOCK).data("second");
    let (released, second) = tokio::join!(first.release(), lock.lock());
    released?;
    let second = second?;
    println!("the second client holds the lock with token {}", second.token());
    write(&second, "written by the second").await?;
    match late.commit().await {
        Err(error @ TransactionError::NotHeld) => println!("the late write: {error}"),
        outcome => return Err(format!("the late write was not refused: {outcome:?}").into()),
    }
    second.release().await?;

    let (reader, another) =
        (one.read_lock(ROOT).lock().await?, other.read_lock(ROOT).lock().await?);
    println!("two readers hold it: {}", reader.is_valid() && another.is_valid());
    let writer = one.write_lock(ROOT).try_lock().await?;
    println!("a writer tries, and has it: {}", writer.is_some());
    reader.release().await?;
    another.release().await?;

    let (ledger, _) = one.get_data(LEDGER).await?;
    println!("the ledger: {}", String::from_utf8_lossy(&ledger));
    one.delete_tree(ROOT).await?;
    one.close().await?;
    other.close().await?;
    Ok(())
}

async fn write(guard: &LockGuard, text: &'static str) -> Result<(), TransactionError> {
    guard.transaction().set_data(LEDGER, text, Version::ANY).commit().await.map(drop)
}

async fn hold(servers: &str, name: &str, seconds: u64) -> Result<(), Box<dyn Error>> {
    let client = connect(servers).await?;
    let guard = client.lock(LOCK).data(name.to_owned()).lock().await?;
    println!("{name} holds the lock with token {}", guard.token());
    match guard.guard(tokio::time::sleep(Duration::from_secs(seconds))).await {
        Ok(()) => guard.release().await.map(drop)?,
        Err(loss) => println!("{name} has lost it: {loss}"),
    }
    client.close().await?;
    Ok(())
}

async fn connect(servers: &str) -> Result<Client, Box<dyn Error>> {
    Ok(Client::builder(servers).session_timeout(Duration::from_secs(4)).connect().await?)
}
