//! The memory of a session and of a znode: the bytes that the server's thread has allocated and not freed, divided by
//! their number. The clients run on another thread, and their bytes are not counted.

use core::error::Error;
use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::thread;

use allocation_counter::measure;
use election_tokio::{Client, CreateMode};
use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use zk_embedded::{Config, Instant, Server, Standalone};

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

/// Connections that begin a handshake and do not go on, each from an address of its own: one that claims to be
/// long, and one of the greatest length that comes but for a byte.
#[test]
fn half_a_handshake_takes_little() {
    const CONNECTIONS: u32 = 1000;
    let claims = [&(1_i32 << 20).to_be_bytes()[..], &vec![7; 1 << 16]].concat();
    let lacks_a_byte = [&1024_i32.to_be_bytes()[..], &[7; 1023]].concat();
    for bytes in [claims, lacks_a_byte] {
        let mut server = Standalone::new(Instant::ORIGIN, &Config::default());
        let held = measure(|| {
            for number in 0..CONNECTIONS {
                let peer = SocketAddr::from((Ipv4Addr::from_bits(number), 1));
                let id = server.open(Instant::ORIGIN, peer).expect("one of each address");
                server.receive(Instant::ORIGIN, id, &bytes);
            }
        });
        let each = held.bytes_current / i64::from(CONNECTIONS);
        assert!(each <= 2560, "{each} bytes a connection");
        // A part of a handshake is no reason to wait for long.
        server.handle_timeout(Instant::ORIGIN + Duration::from_secs(10));
        let mut closed = 0;
        while let Some(id) = server.poll_ready() {
            assert!(server.is_closing(id));
            server.close(id);
            closed += 1;
        }
        assert_eq!(closed, CONNECTIONS);
    }
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
