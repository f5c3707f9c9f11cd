//! The core of the embedded server, fed any bytes on any connection, and any passing of time. It
//! costs the connection at most: the server answers others, and its tree stays a tree.

#![no_main]
#![forbid(unsafe_code)]

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;

use arbitrary::Arbitrary;
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use zk_embedded::{Config, ConnectionId, Database, ExtendedTypes, Instant, Standalone, Transmit};
use zk_fuzz::Blob;
use zk_jute::records::{ConnectRequest, PASSWORD_LEN};
use zk_jute::{Encode, SessionId, Zxid, frame_len};

const PEER: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);

#[derive(Arbitrary, Debug)]
enum Step {
    Open,
    /// Begins a session.
    Handshake {
        connection: u8,
        timeout: u16,
    },
    /// A frame: these bytes behind their length.
    Frame {
        connection: u8,
        payload: Blob,
    },
    /// A request with a header that makes sense.
    Request {
        connection: u8,
        xid: u8,
        opcode: i8,
        body: Blob,
    },
    Bytes {
        connection: u8,
        bytes: Blob,
    },
    Close {
        connection: u8,
    },
    Pass {
        millis: u16,
    },
}

struct World {
    server: Standalone,
    now: Instant,
    connections: Vec<ConnectionId>,
}

fuzz_target!(|steps: Vec<Step>| {
    let mut config = Config::with_tick_time(Duration::from_millis(500));
    config.extended_types = ExtendedTypes::Enabled;
    // Within reach of a script, so that what is counted in is counted out.
    config.limits.max_reply = 2_000;
    config.limits.max_watch_bytes = 1_000;
    config.limits.max_tree_bytes = 12_000;
    let mut world = World {
        server: Standalone::new(Instant::ORIGIN, &config),
        now: Instant::ORIGIN,
        connections: Vec::new(),
    };
    for step in &steps {
        world.take(step);
        world.drain();
    }
    check(world.server.database());
    world.answers();
});

impl World {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Open => self.connections.extend(self.server.open(self.now, PEER)),
            Step::Handshake { connection, timeout } => {
                let mut payload = Vec::new();
                ConnectRequest {
                    protocol_version: 0,
                    last_zxid_seen: Zxid::ZERO,
                    timeout: (*timeout).into(),
                    session_id: SessionId::NONE,
                    password: Some(&[0; PASSWORD_LEN]),
                    read_only: Some(false),
                }
                .encode(&mut payload);
                self.send(*connection, &framed(&payload));
            }
            Step::Frame { connection, payload: Blob(payload) } => {
                self.send(*connection, &framed(payload));
            }
            Step::Request { connection, xid, opcode, body: Blob(body) } => {
                let mut payload = i32::from(*xid).to_be_bytes().to_vec();
                payload.extend(i32::from(*opcode).to_be_bytes());
                payload.extend(body);
                self.send(*connection, &framed(&payload));
            }
            Step::Bytes { connection, bytes: Blob(bytes) } => self.send(*connection, bytes),
            Step::Close { connection } => {
                if let Some(id) = self.connection(*connection) {
                    self.close(id);
                }
            }
            Step::Pass { millis } => {
                self.now = self.now + Duration::from_millis((*millis).into());
                self.server.handle_timeout(self.now);
            }
        }
    }

    fn connection(&self, number: u8) -> Option<ConnectionId> {
        self.connections.get(usize::from(number) % self.connections.len().max(1)).copied()
    }

    fn send(&mut self, number: u8, bytes: &[u8]) {
        if let Some(id) = self.connection(number) {
            self.server.receive(self.now, id, bytes);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        self.server.close(id);
        self.connections.retain(|other| *other != id);
    }

    fn drain(&mut self) -> BytesMut {
        let mut all = BytesMut::new();
        while let Some(id) = self.server.poll_ready() {
            let mut output = BytesMut::new();
            let transmit = loop {
                let before = output.len();
                let transmit = self.server.poll_transmit(self.now, id, &mut output);
                if transmit == Transmit::Close || output.len() == before {
                    break transmit;
                }
            };
            if transmit == Transmit::Close {
                self.close(id);
            }
            all.unsplit(output);
        }
        all
    }

    /// Asserts that another client can still begin a session.
    fn answers(&mut self) {
        for connection in core::mem::take(&mut self.connections) {
            self.server.close(connection);
        }
        self.take(&Step::Open);
        self.take(&Step::Handshake { connection: 0, timeout: 4000 });
        let answer = self.drain();
        let length = frame_len(&answer, 1 << 20).expect("a frame");
        assert_eq!(length, Some(answer.len() - 4), "one whole answer");
    }
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short");
    [&length.to_be_bytes(), payload].concat()
}

/// Asserts that every znode has its parent, and an ephemeral one its session.
fn check(database: &Database) {
    for (path, znode) in database.znodes() {
        if let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !name.is_empty()) {
            let parent = if parent.is_empty() { "/" } else { parent };
            let parent = database.znode(parent).expect("a parent");
            assert!(parent.children().any(|child| child == name), "{path} is not listed");
        }
        let owner = znode.stat().ephemeral_owner;
        assert!(
            znode.children().len() == usize::try_from(znode.stat().num_children).expect("a count")
        );
        if let zk_embedded::Lifetime::Ephemeral(session) = znode.lifetime() {
            assert_eq!(owner, session);
            assert!(database.has_session(session), "{path} outlives its session");
            assert!(database.ephemerals_of(session).any(|own| own == path));
        }
    }
}
