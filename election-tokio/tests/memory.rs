//! The memory of clients and nominations: the bytes that this thread has allocated and not freed, divided by their
//! number. The server runs on another thread, and its bytes are not counted.
#![forbid(unsafe_code)]

use core::error::Error;
use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use allocation_counter::measure;
use election_tokio::election::Role;
use election_tokio::{Client, CreateMode};
use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};
use tokio::spawn;
use tokio::time::sleep;
use zk_embedded::{Config, Server};

type Outcome<T> = Result<T, Box<dyn Error>>;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a server on a thread of its own, which ends with the process.
fn server() -> Outcome<String> {
    let (sender, address) = mpsc::channel();
    thread::spawn(move || {
        let serve = async move {
            let mut config = Config::default();
            config.limits.max_client_connections = 0;
            let server = Server::bind_with("127.0.0.1:0", config).await.expect("a free port");
            sender.send(server.addr().to_string()).expect("the test waits");
            core::future::pending::<()>().await;
        };
        runtime().expect("a runtime").block_on(serve);
    });
    Ok(address.recv()?)
}

fn runtime() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Returns the result of `work`, and the bytes that it has allocated and not freed.
fn held<T>(runtime: &Runtime, work: impl Future<Output = Outcome<T>>) -> Outcome<(T, i64)> {
    let mut made = None;
    let counted = measure(|| made = Some(runtime.block_on(work)));
    Ok((made.expect("it ran")?, counted.bytes_current))
}

async fn connect(servers: &str) -> Outcome<Client> {
    Ok(Client::builder(servers).session_timeout(TIMEOUT).connect().await?)
}

/// After this time a client has given back what it does not need while it is idle. It passes in parts: when a busy
/// machine is late for one, the clients' tasks have their turn before the next.
async fn rest() {
    for _ in 0..4 {
        sleep(Duration::from_millis(500)).await;
    }
}

/// A client that has just connected, and one that has read a list of 57 KB, rest in the same few bytes: buffers
/// grow with what comes, and are given back.
#[test]
fn an_idle_client_holds_four_kilobytes() -> Outcome<()> {
    const CLIENTS: i64 = 50;
    const LONGEST: i64 = 4236;
    let (servers, runtime) = (server()?, runtime()?);
    let connecting = async {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(connect(&servers).await?);
        }
        rest().await;
        Ok(clients)
    };
    let (clients, connected) = held(&runtime, connecting)?;
    let each = connected / CLIENTS;
    assert!(each <= LONGEST, "{each} bytes a client that has connected");

    let creating = async {
        let client = connect(&servers).await?;
        let path = |number| format!("/_c_01234567-89ab-cdef-0123-456789abcdef-latch-{number:010}");
        let creating = (0..1000).map(async |number| {
            client.create(&path(number), &b""[..], CreateMode::Persistent).await.map(drop)
        });
        try_join_all(creating).await?;
        Outcome::Ok(client.close().await?)
    };
    runtime.block_on(creating)?;
    let listing = async {
        for client in &clients {
            let children = client.get_children("/").await?;
            assert!(children.iter().map(str::len).sum::<usize>() > 50_000);
        }
        rest().await;
        Ok(())
    };
    let ((), more) = held(&runtime, listing)?;
    let each = (connected + more) / CLIENTS;
    assert!(each <= LONGEST, "{each} bytes a client that has read a list");
    Ok(())
}

/// Nominations of one client in one election, from the second on followers of one another.
#[test]
fn a_nomination_holds_little() -> Outcome<()> {
    const NOMINATIONS: i64 = 1000;
    const LONGEST: i64 = 1024;
    let (servers, runtime) = (server()?, runtime()?);
    let client = runtime.block_on(connect(&servers))?;
    let election = client.election("/election");
    let nominating = async {
        let mut nominations = Vec::new();
        nominations.reserve_exact(usize::try_from(NOMINATIONS)?);
        for _ in 0..NOMINATIONS {
            let nomination = election.nominate()?;
            let in_place =
                |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
            nomination.updates().wait_for(|status| in_place(&status.role)).await?;
            nominations.push(nomination);
        }
        rest().await;
        Ok(nominations)
    };
    let (nominations, bytes) = held(&runtime, nominating)?;
    let each = bytes / NOMINATIONS;
    assert!(each <= LONGEST, "{each} bytes a nomination");
    drop(nominations);
    Ok(())
}

/// Watches that fire once, each on a path of its own, of 14 bytes.
#[test]
fn a_watch_holds_little() -> Outcome<()> {
    const WATCHES: i64 = 10_000;
    const LONGEST: i64 = 205;
    let (servers, runtime) = (server()?, runtime()?);
    let client = runtime.block_on(connect(&servers))?;
    let watching = async {
        let mut watches = Vec::new();
        watches.reserve_exact(usize::try_from(WATCHES)?);
        for number in 0..WATCHES {
            watches.push(client.exists_and_watch(&format!("/watched-{number:05}")).await?.1);
        }
        rest().await;
        Ok(watches)
    };
    let (watches, bytes) = held(&runtime, watching)?;
    let each = bytes / WATCHES;
    assert!(each <= LONGEST, "{each} bytes a watch");
    drop(watches);
    Ok(())
}

/// Tasks that wait for a lock: 256 bytes are the task itself, with the future that waits.
#[test]
fn a_waiter_of_a_lock_holds_little() -> Outcome<()> {
    const WAITERS: i64 = 1000;
    const LONGEST: i64 = 1080;
    let (servers, runtime) = (server()?, runtime()?);
    let client = runtime.block_on(connect(&servers))?;
    let lock = client.lock("/lock");
    let guard = runtime.block_on(lock.lock())?;
    let waiting = async {
        let mut waiters = Vec::new();
        waiters.reserve_exact(usize::try_from(WAITERS)?);
        for _ in 0..WAITERS {
            let lock = lock.clone();
            waiters.push(spawn(async move { lock.lock().await }));
        }
        while lock.contenders().await?.len() <= waiters.len() {
            sleep(Duration::from_millis(50)).await;
        }
        rest().await;
        Ok(waiters)
    };
    let (waiters, bytes) = held(&runtime, waiting)?;
    let each = bytes / WAITERS;
    assert!(each <= LONGEST, "{each} bytes a waiter");
    drop((guard, waiters));
    Ok(())
}

/// The bytes of data of a cached znode.
const DATA: usize = 100;

/// Makes a tree of a hundred parents with so many children together.
async fn make(servers: &str, znodes: usize) -> Outcome<Client> {
    let client = connect(servers).await?;
    client.create("/tree", "", CreateMode::Persistent).await?;
    for parent in 0..100 {
        let parent = format!("/tree/{parent:02}");
        let mut creates = client.transaction().create(&parent, "", CreateMode::Persistent);
        for child in 0..znodes / 100 {
            let path = format!("{parent}/znode-{child:06}");
            creates = creates.create(&path, vec![b'x'; DATA], CreateMode::Persistent);
        }
        creates.commit().await?;
    }
    Ok(client)
}

/// The memory of a cached tree, beside paths and data; its fill, and its round after a lost connection.
///
/// With `CACHED_ZNODES=100000` and `--nocapture` it prints the figures of the page.
#[test]
fn a_cached_znode_holds_three_hundred_bytes_beside_its_data() -> Outcome<()> {
    let znodes = std::env::var("CACHED_ZNODES").map_or(Ok(10_000), |text| text.parse())?;
    let (servers, runtime) = (server()?, runtime()?);
    let client = runtime.block_on(make(&servers, znodes))?;
    let began = std::time::Instant::now();
    let filling = async {
        let cache = client.cache("/tree").keep()?;
        cache.current().await?;
        rest().await;
        Ok(cache)
    };
    let (cache, bytes) = held(&runtime, filling)?;
    let filled = began.elapsed().saturating_sub(Duration::from_secs(2));
    let each = bytes / i64::try_from(znodes)?;
    println!(
        "{znodes} znodes: {each} bytes each with path and {DATA} of data, filled in {filled:?}"
    );
    assert!(each < 300 + i64::try_from(DATA)?, "{each} bytes a znode");
    assert_eq!(cache.snapshot().iter().len(), znodes + 101);
    Ok(())
}
