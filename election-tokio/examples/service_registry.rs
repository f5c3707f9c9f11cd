//! A registry of services: each instance registers itself by an ephemeral znode that holds its
//! address, and others keep the list of those that live by one watch on the whole tree. An instance
//! registers again after its session has expired, and readers read the list again when they may
//! have missed a change.
//!
//! Usage: `service_registry [SERVERS]`. Without servers it runs one in this process, and ends the
//! session of an instance too.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;

use election_tokio::acl::Acls;
use election_tokio::watch::WatchMode;
use election_tokio::{Client, ConnectionState, CreateMode, ErrorKind, SessionId, Version};
use tokio::sync::{mpsc, watch};
use zk_embedded::Server;

const ROOT: &str = "/examples/service-registry";
const SERVICE: &str = "/examples/service-registry/api";

/// The addresses of the instances that live, by their names.
type Instances = BTreeMap<String, String>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (servers, own_server) = servers().await?;
    let caller = Client::builder(&servers).connect().await?;
    caller.delete_tree(ROOT).await?;
    let (sender, list) = watch::channel(Instances::new());
    let mut keeping = tokio::spawn(keep_list(caller.clone(), sender));
    tokio::select! {
        // As long as the client lives, it ends only if it cannot go on.
        error = &mut keeping => return Err(error?.to_string().into()),
        done = come_and_go(&servers, own_server.as_ref(), list) => done?,
    }

    caller.delete_tree(ROOT).await?;
    caller.close().await?;
    println!("the list ends: {}", keeping.await?);
    Ok(())
}

/// Instances that register, lose their session, and leave.
async fn come_and_go(
    servers: &str,
    own_server: Option<&Server>,
    mut list: watch::Receiver<Instances>,
) -> Result<(), Box<dyn Error>> {
    let connect = async || Client::builder(servers).connect().await;
    let mut first = Instance::start(connect().await?, "first", "10.0.0.1:80");
    first.registered().await?;
    wait_for(&mut list, &["first"]).await?;
    let mut second = Instance::start(connect().await?, "second", "10.0.0.2:80");
    let session = second.registered().await?;
    wait_for(&mut list, &["first", "second"]).await?;

    if let Some(server) = own_server {
        // As if it had been unreachable for too long.
        server.expire(session)?;
        println!("the session of the second instance is expired");
        second.registered().await?;
        wait_for(&mut list, &["first", "second"]).await?;
    }

    // The end of a session takes its znodes along; that of a process does so after a while.
    first.client.close().await?;
    println!("the first instance has left");
    wait_for(&mut list, &["second"]).await?;
    second.client.close().await?;
    wait_for(&mut list, &[]).await?;
    Ok(())
}

/// An instance of the service.
struct Instance {
    client: Client,
    /// By which sessions it has been registered.
    sessions: mpsc::UnboundedReceiver<SessionId>,
}

impl Instance {
    fn start(client: Client, name: &'static str, address: &'static str) -> Self {
        let (sender, sessions) = mpsc::unbounded_channel();
        let of_task = client.clone();
        tokio::spawn(async move {
            if let Err(error) = stay_registered(of_task, name, address, sender).await {
                println!("instance {name}: {error}");
            }
        });
        Self { client, sessions }
    }

    /// Waits for its next registration, and tells by which session.
    async fn registered(&mut self) -> Result<SessionId, &'static str> {
        self.sessions.recv().await.ok_or("the instance has given up")
    }
}

/// Registers in every session, until the client is closed.
async fn stay_registered(
    client: Client,
    name: &str,
    address: &str,
    sessions: mpsc::UnboundedSender<SessionId>,
) -> Result<(), election_tokio::Error> {
    let mut connection = client.connection_updates();
    let mut state = Some(connection.latest_and_update());
    let mut registered = None;
    while let Some(now) = state {
        if let ConnectionState::Connected { session, .. } = now
            && registered != Some(session)
        {
            match register(&client, name, address, session).await {
                Ok(()) => {
                    println!("instance {name} is registered");
                    registered = Some(session);
                    // No task has to listen.
                    let _ = sessions.send(session);
                }
                Err(error) if passes_by_itself(&error) => {}
                Err(error) => return Err(error),
            }
        }
        state = connection.next().await;
    }
    Ok(())
}

async fn register(
    client: &Client,
    name: &str,
    address: &str,
    session: SessionId,
) -> Result<(), election_tokio::Error> {
    let path = format!("{SERVICE}/{name}");
    loop {
        let mode = CreateMode::Ephemeral;
        match client.create_with_parents(&path, address.to_owned(), mode, &Acls::open()).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_node_exists() => {}
            Err(error) => return Err(error),
        }
        match client.exists(&path).await? {
            // A request with a lost answer has created it.
            Some(stat) if stat.ephemeral_owner == session => return Ok(()),
            // Left over from the session before: it would go when that one is expired.
            Some(_) => match client.delete(&path, Version::ANY).await {
                Err(error) if !error.is_no_node() => return Err(error),
                _ => {}
            },
            None => {}
        }
    }
}

/// Keeps `list` up to date, as long as the client lives. Returns why it cannot any more.
async fn keep_list(client: Client, list: watch::Sender<Instances>) -> election_tokio::Error {
    loop {
        if let Err(error) = keep_list_in_session(&client, &list).await {
            if !passes_by_itself(&error) {
                return error;
            }
            let mut connection = client.connection_updates();
            let connected =
                |state: &ConnectionState| matches!(state, ConnectionState::Connected { .. });
            // Of a client that is closed instead, the next operation tells.
            drop(connection.wait_for(connected).await);
        }
    }
}

/// Keeps `list` up to date until the watch is lost, with its session.
async fn keep_list_in_session(
    client: &Client,
    list: &watch::Sender<Instances>,
) -> Result<(), election_tokio::Error> {
    // First the watch, then the list: so no change falls in between.
    let mut changes = client.add_watch(SERVICE, WatchMode::PersistentRecursive).await?;
    loop {
        list.send_replace(instances(client).await?);
        // A change, or after a reconnect `WatchUpdate::ChangesMissed`: read again, in either case.
        let Some(Ok(_)) = changes.next().await else {
            return Ok(());
        };
    }
}

async fn instances(client: &Client) -> Result<Instances, election_tokio::Error> {
    let children = match client.get_children(SERVICE).await {
        Ok(children) => children,
        Err(error) if error.is_no_node() => return Ok(Instances::new()),
        Err(error) => return Err(error),
    };
    let mut instances = Instances::new();
    for name in children.iter() {
        match client.get_data(&format!("{SERVICE}/{name}")).await {
            Ok((address, _)) => {
                instances.insert(name.to_owned(), String::from_utf8_lossy(&address).into_owned());
            }
            // Gone since the listing.
            Err(error) if error.is_no_node() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(instances)
}

/// Whether the error passes by itself: the connection comes back, if need be with another session.
fn passes_by_itself(error: &election_tokio::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionLoss | ErrorKind::NotConnected)
}

/// Waits for these names, and shows the addresses; a caller would use the list.
async fn wait_for(
    list: &mut watch::Receiver<Instances>,
    wanted: &[&str],
) -> Result<(), watch::error::RecvError> {
    let list = list.wait_for(|list| list.keys().eq(wanted)).await?;
    let shown: Vec<_> = list.values().map(String::as_str).collect();
    println!("instances: [{}]", shown.join(", "));
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
