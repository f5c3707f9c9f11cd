//! A session, fed any frames, times and orders of calls. It never panics; each request is completed
//! once, in order; a watch is told of only while it is set; the lease rests on what a server has
//! answered; polling twice changes nothing; and after its end it is silent.

#![no_main]
#![forbid(unsafe_code)]

use core::time::Duration;

use bytes::{Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use zk_fuzz::session::{encoded, mechanism, mode, servers, watching};
use zk_fuzz::{Blob, Text};
use zk_jute::records::{
    ConnectResponse, Credential, EventType, GetDataRequest, KeeperState, MultiResponse,
    MultiResult, SetSaslResponse, WatcherEvent,
};
use zk_jute::{ErrorCode, ReplyHeader, SessionId, Xid, Zxid};
use zk_session::{
    Config, Instant, LeaseUpkeep, ProbeAnswer, SaslAnswer, ServerIndex, Session, SessionEnd,
    SessionTicket,
};

use laws::Laws;
use script::{Ask, PATHS, Receive, Script, Step, TELLING};
use server::Server;

mod laws;
mod script;

/// The automaton, and what a server's answers prove, are those of the session's own tests.
#[path = "../../../session/tests/session/automaton.rs"]
mod automaton;
#[path = "../../../session/tests/session/server.rs"]
mod server;

struct World {
    config: Config,
    session: Session<u32, u32>,
    now: Instant,
    clock: Clock,
    laws: Laws,
    server: Server,
    last_tag: u32,
    probed: Option<ServerIndex>,
    ticket: Option<SessionTicket>,
}

/// Nothing is said about the lease under a clock that goes back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Monotonic,
    Wild,
}

fuzz_target!(|script: Script| {
    let config = script.setting.config();
    let mut world = World {
        session: Session::new(config.clone(), script.seed, Instant::ORIGIN),
        config,
        now: Instant::ORIGIN,
        clock: Clock::Monotonic,
        laws: Laws::new(),
        server: Server::default(),
        last_tag: 0,
        probed: None,
        ticket: None,
    };
    for step in &script.steps {
        world.take(step);
        world.settle();
    }
    world.end();
    world.now = Instant::since_origin(Duration::MAX);
    world.session.handle_timeout(world.now);
    world.settle();
    world.laws.check_end();
});

impl World {
    fn take(&mut self, step: &Step) {
        let now = self.now;
        match step {
            Step::Ask(ask) => self.ask(ask),
            Step::Receive(receive) => self.receive(receive),
            Step::Pass { millis } => self.now = now + Duration::from_millis((*millis).into()),
            Step::Jump { millis } => {
                self.now = Instant::since_origin(Duration::from_millis(*millis));
                self.clock = Clock::Wild;
            }
            Step::Timeout => self.sleep(),
            Step::Opened => self.session.handle_opened(now),
            Step::Closed => self.session.handle_closed(now),
            Step::Servers { count } => self.session.handle_servers(now, servers(*count)),
            Step::Probed { read_write } => {
                let answer = if *read_write { ProbeAnswer::ReadWrite } else { ProbeAnswer::Other };
                let server = self.probed.unwrap_or(ServerIndex(0));
                self.session.handle_probed(now, server, answer);
            }
            Step::Mechanism { answer, token: Blob(token) } => {
                let answer = mechanism(*answer, token);
                self.session.handle_sasl(now, answer);
            }
            Step::Connect => self.connect(),
        }
    }

    /// What the caller asks for; it may be refused.
    fn ask(&mut self, ask: &Ask) {
        let now = self.now;
        self.last_tag += 1;
        let tag = self.last_tag;
        match ask {
            Ask::Submit { path } => {
                let request = GetDataRequest { path: path.among(&PATHS), watch: false };
                if self.session.submit(now, tag, &request).is_ok() {
                    self.laws.submitted(tag);
                }
            }
            Ask::Watch { path, kind } => {
                let read = watching(path.among(&PATHS), *kind);
                if let Ok(id) = self.session.submit_watching(now, tag, read, tag) {
                    self.laws.watches(tag, id, read);
                }
            }
            Ask::AddWatch { path, recursive } => {
                let watch = (path.among(&PATHS), mode(*recursive));
                if let Ok(id) = self.session.submit_persistent(now, tag, watch, tag) {
                    self.laws.watches_persistently(tag, id);
                }
            }
            Ask::Forget { nth } => {
                if let Some(id) = self.laws.dropped(*nth) {
                    self.session.forget(now, id);
                }
            }
            Ask::Disregard { nth } => {
                if let Some(id) = self.laws.dropped(*nth) {
                    self.session.forget_locally(id);
                }
            }
            Ask::Authenticate { scheme: Text(scheme), credential: Blob(credential) } => {
                let _ = self.session.authenticate(now, scheme, credential);
            }
            Ask::KeepLease { path } => {
                let upkeep = LeaseUpkeep::InForce { znode: path.among(&PATHS) };
                let _ = self.session.keep_lease(now, upkeep);
            }
            Ask::KeepLeaseReady => {
                let _ = self.session.keep_lease(now, LeaseUpkeep::Ready);
            }
            Ask::LetLeaseLapse => {
                let _ = self.session.keep_lease(now, LeaseUpkeep::Idle);
            }
            Ask::Close => self.session.close(now),
            Ask::Detach => self.detach(),
            Ask::Resume { seed } => self.resume((*seed).into()),
        }
    }

    fn detach(&mut self) {
        if let Some(ticket) = self.session.detach(self.now) {
            assert_eq!(self.session.id(), Some(ticket.session()));
            assert_eq!(self.session.ended(), Some(SessionEnd::Detached));
            assert_eq!(ticket.expose().parse().as_ref(), Ok(&ticket));
            self.ticket = Some(ticket);
        }
    }

    fn resume(&mut self, seed: u64) {
        let Some(ticket) = self.ticket.take() else { return };
        self.settle();
        self.end();
        let config = self.config.clone();
        self.session = Session::resume(&ticket, config, seed, self.now);
        assert_eq!(self.session.id(), Some(ticket.session()));
        assert_eq!(self.session.last_zxid(), ticket.last_zxid());
        self.laws = Laws::new();
        self.server = Server::default();
        self.probed = None;
    }

    /// Closes the session, and has its server never answer.
    fn end(&mut self) {
        self.session.close(self.now);
        self.settle();
        self.session.handle_closed(self.now);
        self.settle();
        self.laws.check_end();
    }

    fn receive(&mut self, receive: &Receive) {
        match receive {
            Receive::Accept { session, timeout, read_only } => {
                self.accept((*session).into(), *timeout, *read_only);
            }
            Receive::Answer { zxid, error, body: Blob(body) } => {
                if let Some(xid) = self.oldest() {
                    let checked = encoded(&MultiResponse::new(&[MultiResult::Check]), &[]);
                    let is_multi = self.server.last_multi == Some(xid);
                    // What a heartbeat is answered with can hardly be guessed.
                    let body = if is_multi && body.is_empty() { &checked } else { body.as_slice() };
                    self.reply(xid, (*zxid).into(), error.error(&TELLING), body);
                }
            }
            Receive::Token { token } => {
                let token = token.as_ref().map(|Blob(token)| token.as_slice());
                self.token(token);
            }
            Receive::Pong { zxid, error } => {
                let sent_at = self.server.ping_at.take();
                self.server.prove(sent_at);
                self.reply(Xid::PING, (*zxid).into(), error.error(&TELLING), &[]);
            }
            Receive::Authenticated { error } => {
                self.reply(Xid::AUTH, 0, error.error(&TELLING), &[]);
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
            Receive::Reply { xid, zxid, error, body: Blob(body) } => {
                self.prove_all();
                self.reply(Xid::new(*xid), *zxid, ErrorCode::new(*error), body);
            }
            Receive::Frame(Blob(frame)) => {
                self.prove_all();
                self.session.handle_frame(self.now, Bytes::from(frame.clone()));
            }
            Receive::Stream(Blob(bytes)) => {
                self.prove_all();
                self.session.handle_bytes(self.now, &mut BytesMut::from(&**bytes), 1 << 16);
            }
        }
    }

    /// The oldest request that was sent; an answer to it proves the lease, unless it is a token.
    fn oldest(&mut self) -> Option<Xid> {
        let (xid, sent_at) = self.server.requests.pop_front()?;
        if self.server.last_token != Some(xid) {
            self.server.prove(Some(sent_at));
        }
        Some(xid)
    }

    /// For frames of which nobody can say what, and how much, they answer.
    fn prove_all(&mut self) {
        self.server.prove_by_anything();
        let latest = self.server.requests.back().map(|&(_, sent_at)| sent_at);
        self.server.prove(latest);
    }

    fn accept(&mut self, session: i64, timeout: i32, read_only: Option<bool>) {
        let response = ConnectResponse {
            protocol_version: 0,
            timeout,
            session_id: SessionId::new(session),
            password: Some(&[7; 16]),
            read_only,
        };
        self.session.handle_frame(self.now, encoded(&response, &[]));
    }

    fn token(&mut self, token: Option<&[u8]>) {
        if let Some(xid) = self.oldest() {
            let response = SetSaslResponse { token: Credential::new(token) };
            let body = encoded(&response, &[]);
            self.reply(xid, 0, ErrorCode::OK, &body);
        }
    }

    fn reply(&mut self, xid: Xid, zxid: i64, error: ErrorCode, body: &[u8]) {
        let header = ReplyHeader { xid, zxid: Zxid::new(zxid), error };
        self.session.handle_frame(self.now, encoded(&header, body));
    }

    fn connect(&mut self) {
        if self.session.ended().is_none() && !self.session.is_connected() {
            self.sleep();
            self.session.handle_opened(self.now);
            self.settle();
            self.accept(self.session.id().map_or(1, SessionId::get), 4000, Some(false));
            self.settle();
            self.session.handle_sasl(self.now, SaslAnswer::LastToken(&[1]));
            self.settle();
            if !self.session.is_connected() {
                self.token(Some(&[2]));
            }
        }
    }

    /// Until something is due. A driver that does it may sleep again: it does not spin.
    fn sleep(&mut self) {
        if let Some(at) = self.session.poll_timeout() {
            self.now = self.now.max(at);
        }
        for _ in 0..4 {
            self.session.handle_timeout(self.now);
            self.settle();
        }
        let next = self.session.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?}");
    }

    /// Takes out everything, and checks it.
    fn settle(&mut self) {
        if self.session.poll_transport().is_some() {
            self.server.disconnect();
        }
        self.session.poll_sasl();
        if let Some(server) = self.session.poll_probe() {
            assert!(self.session.is_read_only());
            self.probed = Some(server);
        }
        let mut output = BytesMut::new();
        self.session.poll_transmit(&mut output);
        self.server.input.unsplit(output);
        self.server.read(self.now);
        let events: Vec<_> = core::iter::from_fn(|| self.session.poll_event()).collect();
        if self.clock == Clock::Monotonic {
            self.laws.check_lapse(self.now, &events);
        }
        for event in &events {
            self.laws.follow(event, &mut self.server);
        }
        self.check_lease();
        self.check_that_polling_again_is_harmless();
    }

    fn check_lease(&mut self) {
        let deadline = self.session.lease_deadline();
        let is_secure = self.session.lease_is_secure(self.now);
        assert!(deadline.is_some() || !is_secure);
        self.laws.note_lease(deadline);
        if let Some(deadline) = deadline {
            let bound = self.server.bound;
            assert!(deadline <= bound || self.clock == Clock::Wild, "{deadline:?} {bound:?}");
            assert_eq!(self.session.ended(), None);
        }
    }

    fn check_that_polling_again_is_harmless(&mut self) {
        let next = self.session.poll_timeout();
        let mut output = BytesMut::new();
        self.session.poll_transmit(&mut output);
        assert!(output.is_empty());
        assert_eq!(self.session.poll_transport(), None);
        assert_eq!(self.session.poll_sasl(), None);
        assert_eq!(self.session.poll_probe(), None);
        assert_eq!(self.session.poll_event(), None);
        assert_eq!(self.session.poll_timeout(), next);
        assert_eq!(next.is_none(), self.laws.has_ended());
        assert_eq!(self.session.ended().is_some(), self.laws.has_ended());
    }
}
