//! A host of recipes, and the embedded server behind a transport that the fuzzer delays, breaks and
//! falsifies, while callers and drivers do anything at any time. The host never panics; each call is
//! completed once, in order, within its bound; a watch is told of once, and only while it is set; each
//! recipe is handed back once; what is announced rests on a lease; nothing stands by a server that is
//! cut off; polling twice changes nothing; and after its end it is silent.

#![no_main]
#![forbid(unsafe_code)]

use core::time::Duration;

use bytes::{Bytes, BytesMut};
use election_session::{Chroot, RecipeHost, Resumption, Settings};
use libfuzzer_sys::fuzz_target;
use zk_embedded::{Instant as ServerInstant, Standalone};
use zk_fuzz::Blob;
use zk_fuzz::session::{encoded, mechanism, servers};
use zk_jute::records::{ConnectResponse, EventType, KeeperState, WatcherEvent};
use zk_jute::{ErrorCode, ReplyHeader, SessionId, Xid, Zxid};
use zk_session::{Instant, ProbeAnswer, ServerIndex, SessionTicket, TransportCommand};

use laws::{Freshness, Laws, Now};
use recipe::{Any, Commander};
use script::{Falsification, PATHS, Receive, Script, Step, TELLING};
use wire::Wire;

mod asking;
mod laws;
mod recipe;
mod script;
mod wire;

pub(crate) type Host = RecipeHost<Any, u32, u32>;

struct World {
    settings: Settings,
    chroot: Chroot,
    host: Host,
    wire: Wire,
    /// How many servers the driver knows.
    servers: usize,
    /// The transport that the host wants, until it is open.
    dialing: Option<ServerIndex>,
    now: Instant,
    /// The server's clock never goes back.
    server_now: Duration,
    clock: Clock,
    laws: Laws,
    last_tag: u32,
    probed: Option<ServerIndex>,
    ticket: Option<SessionTicket>,
    /// Steps before anything is taken out again.
    held: u8,
    freshness: Freshness,
}

/// Nothing is said about the lease under a clock that goes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Monotonic,
    Wild,
}

fuzz_target!(|script: Script| {
    let settings = script.setting.settings(script.seed);
    let server = zk_embedded::Config::with_tick_time(Duration::from_millis(500));
    let mut world = World {
        host: RecipeHost::new(settings.clone(), Instant::ORIGIN).expect("no identity"),
        chroot: script.setting.chroot(),
        wire: Wire::new(Standalone::new(ServerInstant::ORIGIN, &server)),
        servers: settings.session.servers.get(),
        settings,
        dialing: None,
        now: Instant::ORIGIN,
        server_now: Duration::ZERO,
        clock: Clock::Monotonic,
        laws: Laws::new(),
        last_tag: 0,
        probed: None,
        ticket: None,
        held: 0,
        freshness: Freshness::Fresh,
    };
    for step in &script.steps {
        world.take(step);
        world.settle();
    }
    world.held = 0;
    world.end();
    // The host hands a recipe back that comes too late.
    let key = world.stand(Any::Commander(Box::new(Commander::new(Vec::new()))), 0);
    world.host.set_deadline(key, Some(world.now));
    world.settle();
    world.now = Instant::since_origin(Duration::MAX);
    world.host.handle_timeout(world.now);
    world.settle();
    world.laws.check_end();
});

impl World {
    fn take(&mut self, step: &Step) {
        let now = self.now;
        match step {
            Step::Ask(ask) => self.ask(ask),
            Step::AskAndFlush(ask) => {
                self.ask(ask);
                self.settle();
                self.flush();
            }
            Step::Receive(receive) => self.receive(receive),
            Step::Pass { millis } => self.pass(now + Duration::from_millis((*millis).into())),
            Step::Jump { millis } => {
                self.clock = Clock::Wild;
                self.pass(Instant::since_origin(Duration::from_millis(*millis)));
            }
            Step::Timeout => self.sleep(),
            Step::Connect { by } => self.connect(by.as_ref()),
            Step::Flush => self.flush(),
            Step::Hold { steps } => self.held = steps % 8,
            Step::Opened => self.host.handle_opened(now),
            Step::Closed => self.host.handle_closed(now),
            Step::Break { is_read } => {
                if *is_read {
                    self.wire.to_server(self.server_now(), usize::MAX);
                }
                self.hang_up();
            }
            Step::ToServer { bytes } => {
                self.wire.to_server(self.server_now(), (*bytes).into());
                self.collect();
            }
            Step::ToClient { frames } => {
                for _ in 0..=*frames {
                    let Some(frame) = self.wire.next() else { break };
                    self.host.handle_frame(now, frame);
                    self.settle();
                }
            }
            Step::Falsify { nth, by } => self.wire.falsify(*nth, by),
            Step::Servers { count } => {
                let count = servers(*count);
                self.servers = count.get();
                self.host.handle_servers(now, count);
            }
            Step::Probed { read_write } => {
                let answer = if *read_write { ProbeAnswer::ReadWrite } else { ProbeAnswer::Other };
                let server = self.probed.unwrap_or(ServerIndex(0));
                // Of an earlier list, perhaps: its place may mean nothing any more.
                if server.0 < self.servers {
                    self.host.handle_probed(now, server, answer);
                }
            }
            Step::Mechanism { answer, token: Blob(token) } => {
                let answer = mechanism(*answer, token);
                self.host.handle_sasl(now, answer);
            }
        }
    }

    fn pass(&mut self, now: Instant) {
        self.now = now;
        self.server_now = self.server_now.max(now.elapsed().min(Duration::from_secs(1 << 40)));
        if self.held > 0 {
            self.freshness = Freshness::Stale;
        }
    }

    fn server_now(&self) -> ServerInstant {
        ServerInstant::since_origin(self.server_now)
    }

    /// Makes another host, which goes on with the session of this one.
    fn resume(&mut self, seed: u64, fails: bool) {
        let Some(ticket) = self.ticket.take() else { return };
        self.held = 0;
        self.settle();
        self.end();
        let resumption = Resumption { ticket, if_gone: script::if_gone(fails) };
        let mut settings = self.settings.clone();
        settings.session.servers = servers(u8::try_from(self.servers - 1).unwrap_or(0));
        settings.resumption = Some(Box::new(resumption));
        settings.seed = seed;
        self.host = RecipeHost::new(settings, self.now).expect("no identity");
        self.laws = Laws::new();
        self.probed = None;
    }

    /// Closes the session, and has its server never answer.
    fn end(&mut self) {
        self.settle();
        self.host.close(self.now);
        self.laws.closing();
        self.settle();
        self.host.handle_closed(self.now);
        self.settle();
        self.laws.check_end();
    }

    fn receive(&mut self, receive: &Receive) {
        let now = self.now;
        match receive {
            Receive::Accept { session, timeout, read_only } => {
                let response = ConnectResponse {
                    protocol_version: 0,
                    timeout: (*timeout).into(),
                    session_id: SessionId::new((*session).into()),
                    password: Some(&[7; 16]),
                    read_only: *read_only,
                };
                self.host.handle_frame(now, encoded(&response, &[]));
            }
            Receive::Notify { zxid, kind, path } => {
                // The four that there are, and one more.
                let kind = EventType::new((kind % 5 + 1).into());
                let event = WatcherEvent {
                    kind,
                    state: KeeperState::SYNC_CONNECTED,
                    path: path.among(&PATHS),
                };
                let event = encoded(&event, &[]);
                self.reply(Xid::NOTIFICATION, (*zxid).into(), ErrorCode::OK, &event);
            }
            Receive::Answer { zxid, error, body: Blob(body) } => {
                if let Some(xid) = self.wire.next_unanswered() {
                    self.reply(xid, (*zxid).into(), error.error(&TELLING), body);
                }
            }
            Receive::Pong { zxid, error } => {
                self.reply(Xid::PING, (*zxid).into(), error.error(&TELLING), &[]);
            }
            Receive::Frame(Blob(frame)) => {
                self.host.handle_frame(now, Bytes::from(frame.clone()));
            }
            Receive::Stream(Blob(bytes)) => {
                self.host.handle_bytes(now, &mut BytesMut::from(&**bytes), 1 << 16);
            }
        }
    }

    fn reply(&mut self, xid: Xid, zxid: i64, error: ErrorCode, body: &[u8]) {
        let header = ReplyHeader { xid, zxid: Zxid::new(zxid), error };
        self.host.handle_frame(self.now, encoded(&header, body));
    }

    fn connect(&mut self, by: Option<&Falsification>) {
        self.held = 0;
        self.settle();
        if self.host.ended().is_some() || self.host.is_connected() {
            return;
        }
        if self.dialing.is_none() {
            self.sleep();
        }
        if self.dialing.take().is_some() {
            let now = self.server_now();
            if self.wire.open(now).is_ok() {
                self.host.handle_opened(self.now);
            } else {
                self.host.handle_closed(self.now);
            }
            self.settle();
            self.wire.to_server(self.server_now(), usize::MAX);
            self.collect();
            if let Some(by) = by {
                self.wire.falsify(0, by);
            }
            self.flush();
        }
    }

    /// Delivers everything that is on its way, and the answers to it.
    fn flush(&mut self) {
        for _ in 0..64 {
            if self.wire.is_quiet() {
                return;
            }
            self.wire.to_server(self.server_now(), usize::MAX);
            self.collect();
            while let Some(frame) = self.wire.next() {
                self.host.handle_frame(self.now, frame);
                self.settle();
            }
        }
    }

    /// Takes the server's bytes into the wire, and its end of the connection.
    fn collect(&mut self) {
        if self.wire.collect(self.server_now()) {
            while let Some(frame) = self.wire.next() {
                self.host.handle_frame(self.now, frame);
            }
            self.hang_up();
        }
    }

    fn hang_up(&mut self) {
        if self.wire.close() {
            self.host.handle_closed(self.now);
        }
    }

    /// Sleeps until something is due. A driver that does it may sleep again: it does not spin.
    fn sleep(&mut self) {
        self.held = 0;
        self.settle();
        if let Some(at) = self.host.poll_timeout() {
            self.pass(self.now.max(at));
        }
        self.wire.handle_timeout(self.server_now());
        self.collect();
        for _ in 0..4 {
            self.host.handle_timeout(self.now);
            self.settle();
        }
        let next = self.host.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?}");
    }

    /// Takes out everything, and checks it.
    fn settle(&mut self) {
        if self.held > 0 {
            self.held -= 1;
            return;
        }
        while let Some(command) = self.host.poll_transport() {
            self.wire.close();
            self.dialing = match command {
                TransportCommand::Connect(server) => {
                    assert!(server.0 < self.servers, "{server:?} of {}", self.servers);
                    Some(server)
                }
                TransportCommand::Disconnect => None,
            };
        }
        self.host.poll_sasl();
        if let Some(server) = self.host.poll_probe() {
            assert!(self.host.is_read_only() && server.0 < self.servers);
            self.probed = Some(server);
        }
        let now = Now { now: self.now, clock: self.clock, freshness: self.freshness };
        while let Some(event) = self.host.poll_event(self.now) {
            self.laws.follow(&event, &self.host, now);
        }
        self.freshness = Freshness::Fresh;
        // Another session that begins behind events drops the transport of the one before.
        while let Some(command) = self.host.poll_transport() {
            self.wire.close();
            self.dialing = None;
            assert_eq!(command, TransportCommand::Disconnect);
        }
        let mut output = BytesMut::new();
        self.host.poll_transmit(&mut output);
        self.wire.send(output);
        self.laws.check_view(&self.host);
        self.check_that_polling_again_is_harmless();
    }

    fn check_that_polling_again_is_harmless(&mut self) {
        let next = self.host.poll_timeout();
        let mut output = BytesMut::new();
        self.host.poll_transmit(&mut output);
        assert!(output.is_empty());
        assert_eq!(self.host.poll_transport(), None);
        assert_eq!(self.host.poll_sasl(), None);
        assert_eq!(self.host.poll_probe(), None);
        let event = self.host.poll_event(self.now);
        assert!(event.is_none(), "{event:?}");
        assert_eq!(self.host.poll_timeout(), next);
        assert_eq!(self.host.ended().is_some(), self.laws.has_ended());
        assert_eq!(next.is_none(), self.laws.has_ended(), "{next:?}");
    }
}
