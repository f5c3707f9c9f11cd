//! The memory of a session and of a znode: the bytes that the server's thread has allocated and not freed, divided by
//! their number. The clients run on another thread, and their bytes are not counted.

use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::thread;

use allocation_counter::measure;
use election_tokio::{Client, CreateMode};
use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use zk_embedded::{Config, Server};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SESSIONS: usize = 200;
const ZNODES: usize = 5000;
/// Of the data of each znode.
const DATA: [u8; 100] = [7; 100];

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Connected,
    Created,
}

fn runtime() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Connects, tells so, creates znodes, tells so, and stays.
fn spawn_clients(address: SocketAddr, stages: UnboundedSender<Stage>) {
    thread::spawn(move || {
        let live = async {
            let servers = address.to_string();
            let connect =
                || Client::builder(&servers).session_timeout(Duration::from_secs(30)).connect();
            let clients =
                try_join_all((0..SESSIONS).map(|_| connect())).await.expect("they connect");
            stages.send(Stage::Connected).expect("the test waits");
            let client = clients.first().expect("one at least");
            let create = async |number| {
                client
                    .create(&format!("/member-{number:010}"), &DATA[..], CreateMode::Persistent)
                    .await
            };
            try_join_all((0..ZNODES).map(create)).await.expect("they are created");
            stages.send(Stage::Created).expect("the test waits");
            core::future::pending::<()>().await;
        };
        runtime().expect("a runtime").block_on(live);
    });
}

/// Serves until the clients have come so far; the bytes that are held then, and were not before.
fn serve_until(runtime: &Runtime, stages: &mut UnboundedReceiver<Stage>, stage: &Stage) -> i64 {
    let counted = measure(|| {
        assert_eq!(runtime.block_on(stages.recv()).as_ref(), Some(stage));
    });
    counted.bytes_current
}

#[test]
fn sessions_and_znodes_take_little() -> Outcome<()> {
    let runtime = runtime()?;
    let mut config = Config::default();
    config.limits.max_client_connections = 0;
    let server = runtime.block_on(Server::bind_with("127.0.0.1:0", config))?;
    let (sender, mut stages) = mpsc::unbounded_channel();
    spawn_clients(server.addr(), sender);
    let each = serve_until(&runtime, &mut stages, &Stage::Connected) / i64::try_from(SESSIONS)?;
    assert!(each <= 2560, "{each} bytes a session");
    let each = serve_until(&runtime, &mut stages, &Stage::Created) / i64::try_from(ZNODES)?;
    assert!(each <= 640, "{each} bytes a znode");
    Ok(())
}
