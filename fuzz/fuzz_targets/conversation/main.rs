//! A session and the embedded server, talking through a transport that the fuzzer delays, cuts in
//! pieces, breaks and falsifies both ways. Neither panics. A transport that does not falsify never
//! leads to a violation of the protocol; all comes to rest over it, and no change that is watched
//! for is lost, or told twice.

#![no_main]
#![forbid(unsafe_code)]

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroUsize;
use core::time::Duration;

use arbitrary::Arbitrary;
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use zk_embedded::{ConnectionId, Standalone, Transmit};
use zk_jute::records::{
    CreateMode, CreateRequest, DeleteRequest, GetChildrenRequest, SetDataRequest,
};
use zk_jute::{Vector, Version};
use zk_session::lease::LeaseUpkeep;
use zk_session::{
    Config, ConnectionEnd, Event, Instant, Session, TransportCommand, WatchMode, Watching,
};

use laws::Laws;

mod laws;

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
    /// The connection is lost. The server may have read the requests, but answers nothing any more.
    Break {
        is_read: bool,
    },
    /// One byte on its way is another.
    FalsifyToServer {
        at: u8,
        by: u8,
    },
    FalsifyToClient {
        at: u8,
        by: u8,
    },
    /// Everything that is on its way arrives.
    Flush,
    Create {
        name: u8,
        mode: u8,
    },
    Delete {
        name: u8,
    },
    Write {
        name: u8,
    },
    Watch {
        name: u8,
        kind: u8,
    },
    AddWatch {
        name: u8,
        recursive: bool,
    },
    Forget {
        nth: u8,
    },
    List,
    Heartbeats {
        name: u8,
    },
    Close,
}

struct World {
    session: Session<u32, u32>,
    server: Standalone,
    elapsed: Duration,
    link: Option<ConnectionId>,
    to_server: BytesMut,
    to_client: BytesMut,
    received: BytesMut,
    bytes: Fidelity,
    laws: Laws,
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
        laws: Laws::default(),
    };
    for step in &steps {
        world.take(step);
        world.settle();
    }
    if world.bytes == Fidelity::Genuine {
        world.rest();
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
            Step::ToServer { bytes } => self.reach_server(bytes.into()),
            Step::ToClient { bytes } => self.reach_client(bytes.into()),
            Step::Flush => self.flush(),
            Step::Break { is_read } => {
                if is_read {
                    self.reach_server(usize::MAX);
                }
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

    fn reach_server(&mut self, most: usize) {
        let bytes = self.to_server.split_to(self.to_server.len().min(most));
        if let Some(link) = self.link {
            self.server.receive(self.server_now(), link, &bytes);
        }
    }

    fn reach_client(&mut self, most: usize) {
        let bytes = self.to_client.split_to(self.to_client.len().min(most));
        if self.link.is_some() {
            self.received.extend_from_slice(&bytes);
            let now = self.now();
            self.session.handle_bytes(now, &mut self.received, 1 << 20);
        }
    }

    fn flush(&mut self) {
        while !(self.to_server.is_empty() && self.to_client.is_empty()) {
            self.reach_server(usize::MAX);
            self.settle();
            self.reach_client(usize::MAX);
            self.settle();
        }
    }

    /// Makes a request as the session's owner; the session may refuse it.
    fn ask(&mut self, step: &Step) {
        let (now, session, tag) = (self.now(), &mut self.session, self.laws.next_tag());
        let version = Version::ANY;
        let submitted = match *step {
            Step::Create { name, mode } => {
                let mode = CreateMode::new(i32::from(mode % 5));
                let (path, data) = (path(name), Some([1].as_slice()));
                session.submit(now, tag, &CreateRequest { path, data, acl: Vector::OPEN, mode })
            }
            Step::Delete { name } => {
                session.submit(now, tag, &DeleteRequest { path: path(name), version })
            }
            Step::Write { name } => {
                let request = SetDataRequest { path: path(name), data: Some(&[2]), version };
                session.submit(now, tag, &request)
            }
            Step::List => session.submit(now, tag, &GetChildrenRequest { path: "/", watch: false }),
            _ => return self.watch_or_end(step, tag),
        };
        if submitted.is_ok() {
            self.laws.submitted(tag);
        }
    }

    fn watch_or_end(&mut self, step: &Step, tag: u32) {
        let (now, session) = (self.now(), &mut self.session);
        match *step {
            Step::Watch { name, kind } => {
                let path = path(name);
                let read = match kind % 3 {
                    0 => Watching::Exists(path),
                    1 => Watching::GetData(path),
                    _ => Watching::GetChildren(path),
                };
                if let Ok(id) = session.submit_watching(now, tag, read, tag) {
                    self.laws.watches(tag, id, read);
                }
            }
            Step::AddWatch { name, recursive } => {
                let mode =
                    if recursive { WatchMode::PersistentRecursive } else { WatchMode::Persistent };
                let watch = (path(name), mode);
                if let Ok(id) = session.submit_persistent(now, tag, watch, tag) {
                    self.laws.watches_persistently(tag, id, watch);
                }
            }
            Step::Forget { nth } => {
                if let Some(id) = self.laws.forgotten(nth) {
                    session.forget(now, id);
                }
            }
            Step::Heartbeats { name } => {
                let _ = session.keep_lease(now, LeaseUpkeep::InForce { znode: path(name) });
            }
            _ => session.close(now),
        }
    }

    /// Lets everything arrive, and time pass until there is a connection, or no session.
    fn rest(&mut self) {
        for _ in 0..100 {
            self.flush();
            if self.session.ended().is_some() {
                return;
            }
            if self.session.is_connected() && self.laws.all_are_answered() {
                return self.laws.check_at_rest(self.server.database());
            }
            let next = self.session.poll_timeout().map(Instant::elapsed);
            self.elapsed = next.map_or(self.elapsed, |next| next.max(self.elapsed));
            self.server.handle_timeout(self.server_now());
            self.session.handle_timeout(self.now());
            self.settle();
        }
        panic!("no rest: {:?}", self.session);
    }

    fn settle(&mut self) {
        match self.session.poll_transport() {
            Some(TransportCommand::Connect(_)) => {
                self.disconnect();
                self.link = self.server.open(self.server_now(), PEER).ok();
                let now = self.now();
                if self.link.is_some() {
                    self.session.handle_opened(now);
                } else {
                    self.session.handle_closed(now);
                }
            }
            Some(TransportCommand::Disconnect) => {
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
            let lost = matches!(event, Event::WatchLost { .. }) && self.session.ended().is_none();
            if self.bytes == Fidelity::Genuine {
                assert!(!broken && !lost, "{event:?}");
                self.laws.follow(&event, self.session.last_zxid());
            }
        }
    }

    /// Takes the server's bytes, and notes whether it closes the connection.
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

/// Returns one of a few paths, so that they meet, some below others.
fn path(name: u8) -> &'static str {
    match name % 5 {
        0 => "/a",
        1 => "/a/b",
        2 => "/a/b/c",
        3 => "/d",
        _ => "/",
    }
}

fn falsify(bytes: &mut BytesMut, at: u8, by: u8) {
    let at = usize::from(at) % bytes.len().max(1);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= by;
    }
}
