//! A session and the embedded server, talking through a transport that the fuzzer delays, cuts in
//! pieces, breaks and falsifies both ways. Neither panics, and a transport that only delays never
//! leads to a violation of the protocol.

#![no_main]
#![forbid(unsafe_code)]

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroUsize;
use core::time::Duration;

use arbitrary::Arbitrary;
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use zk_embedded::{ConnectionId, Standalone, Transmit};
use zk_jute::records::{CreateMode, CreateRequest, DeleteRequest, GetChildrenRequest};
use zk_jute::{Vector, Version};
use zk_session::{Config, ConnectionEnd, Event, Instant, Session, Transport, Watching};

const PEER: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);

#[derive(Arbitrary, Debug)]
enum Step {
    Pass {
        millis: u16,
    },
    /// This many bytes arrive, whole frames or not.
    ToServer {
        bytes: u8,
    },
    ToClient {
        bytes: u8,
    },
    Break,
    /// One byte on its way is another.
    FalsifyToServer {
        at: u8,
        by: u8,
    },
    FalsifyToClient {
        at: u8,
        by: u8,
    },
    Create {
        name: u8,
        mode: u8,
    },
    Delete {
        name: u8,
    },
    Watch {
        name: u8,
        kind: u8,
    },
    List,
    Heartbeats {
        name: u8,
    },
    Close,
}

struct World {
    session: Session<(), ()>,
    server: Standalone,
    elapsed: Duration,
    link: Option<ConnectionId>,
    to_server: BytesMut,
    to_client: BytesMut,
    received: BytesMut,
    bytes: Fidelity,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fidelity {
    Genuine,
    Falsified,
}

fuzz_target!(|steps: Vec<Step>| {
    let config = Config::new(NonZeroUsize::MIN);
    let server = zk_embedded::Config::with_tick_time(Duration::from_millis(500));
    let mut world = World {
        session: Session::new(config, 1, Instant::ORIGIN),
        server: Standalone::new(zk_embedded::Instant::ORIGIN, &server),
        elapsed: Duration::ZERO,
        link: None,
        to_server: BytesMut::new(),
        to_client: BytesMut::new(),
        received: BytesMut::new(),
        bytes: Fidelity::Genuine,
    };
    for step in &steps {
        world.take(step);
        world.settle();
    }
});

impl World {
    fn now(&self) -> Instant {
        Instant::since_origin(self.elapsed)
    }

    fn server_now(&self) -> zk_embedded::Instant {
        zk_embedded::Instant::since_origin(self.elapsed)
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Pass { millis } => {
                self.elapsed += Duration::from_millis(millis.into());
                self.server.handle_timeout(self.server_now());
                self.session.handle_timeout(self.now());
            }
            Step::ToServer { bytes } => {
                let bytes = self.to_server.split_to(self.to_server.len().min(bytes.into()));
                if let Some(link) = self.link {
                    self.server.receive(self.server_now(), link, &bytes);
                }
            }
            Step::ToClient { bytes } => {
                let bytes = self.to_client.split_to(self.to_client.len().min(bytes.into()));
                if self.link.is_some() {
                    self.received.extend_from_slice(&bytes);
                    let now = self.now();
                    self.session.handle_bytes(now, &mut self.received, 1 << 20);
                }
            }
            Step::Break => {
                if self.disconnect() {
                    self.session.handle_closed(self.now());
                }
            }
            Step::FalsifyToServer { at, by } => {
                self.bytes = Fidelity::Falsified;
                falsify(&mut self.to_server, at, by);
            }
            Step::FalsifyToClient { at, by } => {
                self.bytes = Fidelity::Falsified;
                falsify(&mut self.to_client, at, by);
            }
            _ => self.ask(step),
        }
    }

    /// What the session's owner asks for; it may be refused.
    fn ask(&mut self, step: &Step) {
        let (now, session) = (self.now(), &mut self.session);
        let path = |name: u8| format!("/z{}", name % 4);
        let _ = match *step {
            Step::Create { name, mode } => {
                let mode = CreateMode::new(i32::from(mode % 5));
                let path = &path(name);
                let request = CreateRequest { path, data: Some(&[1]), acl: Vector::OPEN, mode };
                session.submit(now, (), &request)
            }
            Step::Delete { name } => {
                session.submit(now, (), &DeleteRequest { path: &path(name), version: Version::ANY })
            }
            Step::Watch { name, kind } => {
                let path = path(name);
                let read = match kind % 3 {
                    0 => Watching::Exists(&path),
                    1 => Watching::GetData(&path),
                    _ => Watching::GetChildren(&path),
                };
                session.submit_watching(now, (), read, ()).map(drop)
            }
            Step::List => session.submit(now, (), &GetChildrenRequest { path: "/", watch: false }),
            Step::Heartbeats { name } => session.start_heartbeats(now, &path(name)),
            _ => {
                session.close(now);
                Ok(())
            }
        };
    }

    fn settle(&mut self) {
        match self.session.poll_transport() {
            Some(Transport::Connect(_)) => {
                self.disconnect();
                self.link = self.server.open(self.server_now(), PEER).ok();
                let now = self.now();
                if self.link.is_some() {
                    self.session.handle_opened(now);
                } else {
                    self.session.handle_closed(now);
                }
            }
            Some(Transport::Disconnect) => {
                self.disconnect();
            }
            None => {}
        }
        self.session.poll_transmit(&mut self.to_server);
        self.collect();
        while let Some(event) = self.session.poll_event() {
            let broken = matches!(
                event,
                Event::Disconnected { end: ConnectionEnd::Protocol(_), .. }
                    | Event::ConnectFailed { end: ConnectionEnd::Protocol(_), .. }
            );
            assert!(!broken || self.bytes == Fidelity::Falsified, "{event:?}");
        }
    }

    /// What the server sends, and whether it closes the connection.
    fn collect(&mut self) {
        while let Some(id) = self.server.poll_ready() {
            let mut output = BytesMut::new();
            let transmit = loop {
                let before = output.len();
                let transmit = self.server.poll_transmit(self.server_now(), id, &mut output);
                if transmit == Transmit::Close || output.len() == before {
                    break transmit;
                }
            };
            if self.link == Some(id) {
                self.to_client.unsplit(output);
            }
            if transmit == Transmit::Close {
                self.server.close(id);
                if self.link == Some(id) && self.disconnect() {
                    self.session.handle_closed(self.now());
                }
            }
        }
    }

    fn disconnect(&mut self) -> bool {
        self.to_server.clear();
        self.to_client.clear();
        self.received.clear();
        match self.link.take() {
            Some(link) => {
                self.server.close(link);
                true
            }
            None => false,
        }
    }
}

fn falsify(bytes: &mut BytesMut, at: u8, by: u8) {
    let at = usize::from(at) % bytes.len().max(1);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= by;
    }
}
