//! A service that follows a value in a znode: it reads it, watches it, and reads it again after
//! every change, and whenever it may have missed one. Lost connections and expired sessions pass by
//! it.
//!
//! Usage: `config_watcher [SERVERS]`. Without servers it runs one in this process, and breaks the
//! connection and ends the session too.

use std::error::Error;
use std::io;

use election_tokio::acl::Acls;
use election_tokio::watch::WatchMode;
use election_tokio::{Bytes, Client, ConnectionState, CreateMode, ErrorKind, Version};
use tokio::sync::watch;
use zk_embedded::Server;

const ROOT: &str = "/examples/config-watcher";
const PATH: &str = "/examples/config-watcher/limit";

/// `None`: there is no such znode.
type Value = Option<Bytes>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (servers, own_server) = servers().await?;
    let operator = Client::builder(&servers).connect().await?;
    let service = Client::builder(&servers).connect().await?;
    operator.delete_tree(ROOT).await?;

    let (sender, value) = watch::channel(None);
    let mut following = tokio::spawn(follow(service.clone(), sender));
    tokio::select! {
        // As long as the client lives, it ends only if it cannot go on.
        error = &mut following => return Err(error?.to_string().into()),
        done = operate(&operator, &service, own_server.as_ref(), value) => done?,
    }

    service.close().await?;
    // The last that the follower hears: the client is closed.
    println!("the follower ends: {}", following.await?);
    operator.close().await?;
    Ok(())
}

/// Changes the value, in good times and bad, and waits until the service has followed.
async fn operate(
    operator: &Client,
    service: &Client,
    own_server: Option<&Server>,
    mut value: watch::Receiver<Value>,
) -> Result<(), Box<dyn Error>> {
    operator.create_with_parents(PATH, "10", CreateMode::Persistent, &Acls::open()).await?;
    wait_for(&mut value, Some("10")).await?;
    operator.set_data(PATH, "20", Version::ANY).await?;
    wait_for(&mut value, Some("20")).await?;

    if let Some(server) = own_server {
        server.drop_connections();
        println!("all connections are cut");
        write(operator, "30").await?;
        wait_for(&mut value, Some("30")).await?;

        if let ConnectionState::Connected { session, .. } = service.connection_updates().latest() {
            server.expire(session)?;
            println!("the session of the service is expired");
        }
        write(operator, "40").await?;
        wait_for(&mut value, Some("40")).await?;
    }

    operator.delete_tree(ROOT).await?;
    wait_for(&mut value, None).await?;
    Ok(())
}

/// Keeps `value` up to date, as long as the client lives. Returns why it cannot any more.
async fn follow(client: Client, value: watch::Sender<Value>) -> election_tokio::Error {
    loop {
        if let Err(error) = follow_in_session(&client, &value).await {
            match error.kind() {
                // The connection comes back by itself, if need be with another session.
                ErrorKind::ConnectionLoss | ErrorKind::NotConnected => connected(&client).await,
                _ => return error,
            }
        }
    }
}

/// Keeps `value` up to date until the watch is lost, with its session.
async fn follow_in_session(
    client: &Client,
    value: &watch::Sender<Value>,
) -> Result<(), election_tokio::Error> {
    // First the watch, then the value: so no change falls in between.
    let mut changes = client.add_watch(PATH, WatchMode::Persistent).await?;
    loop {
        let latest = match client.get_data(PATH).await {
            Ok((data, _)) => Some(data),
            Err(error) if error.is_no_node() => None,
            Err(error) => return Err(error),
        };
        value.send_if_modified(|value| {
            let modified = *value != latest;
            *value = latest;
            modified
        });
        // A change, or after a reconnect `WatchUpdate::ChangesMissed`: read again, in either case.
        let Some(Ok(_)) = changes.next().await else {
            return Ok(());
        };
    }
}

async fn connected(client: &Client) {
    let mut connection = client.connection_updates();
    // Of a client that is closed instead, the next operation tells.
    drop(connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. })).await);
}

/// Writes, also if the connection is lost meanwhile: to write this twice does no harm.
async fn write(client: &Client, data: &'static str) -> Result<(), election_tokio::Error> {
    loop {
        match client.set_data(PATH, data, Version::ANY).await {
            Ok(_) => return Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionLoss | ErrorKind::NotConnected => connected(client).await,
                _ => return Err(error),
            },
        }
    }
}

/// Waits for a value, and shows each one; a service would configure itself by it.
async fn wait_for(
    value: &mut watch::Receiver<Value>,
    wanted: Option<&str>,
) -> Result<(), watch::error::RecvError> {
    loop {
        let now = value.borrow_and_update().clone();
        if now.as_deref() == wanted.map(str::as_bytes) {
            match wanted {
                Some(limit) => println!("the limit is {limit}"),
                None => println!("there is no limit"),
            }
            return Ok(());
        }
        value.changed().await?;
    }
}

/// Returns the servers that the first argument names, or one in this process.
async fn servers() -> io::Result<(String, Option<Server>)> {
    if let Some(servers) = std::env::args().nth(1) {
        return Ok((servers, None));
    }
    let server = Server::bind("127.0.0.1:0").await?;
    Ok((server.addr().to_string(), Some(server)))
}
