//! A session that anything may happen to.

mod laws;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use zk_jute::records::{
    ConnectResponse, Credential, EventType, GetDataRequest, MultiResponse, MultiResult,
    SetSaslResponse,
};
use zk_jute::{Encode, ErrorCode, ReplyHeader, SessionId, Xid, Zxid};
use zk_session::{
    Config, Instant, LeaseUpkeep, ProbeAnswer, SaslAnswer, SaslFailure, ServerIndex, Session,
    SessionEnd, SubmitError, TransportCommand, WatchId, WatchMode, Watching,
};

use crate::automaton::Automaton;
use crate::happening::{Happening, Setting};
use crate::lab::{encoded, header, notification};
use crate::server::Server;

/// Runs them all, then ends the session, and returns everything that came out.
pub(crate) fn run(setting: &Setting, happenings: &[Happening]) -> Vec<String> {
    let mut world = World::new(setting);
    for happening in happenings {
        world.happen(happening);
    }
    world.end();
    world.log
}

struct World {
    session: Session<u32, u32>,
    now: Instant,
    clock: Clock,
    log: Vec<String>,
    automaton: Automaton,
    server: Server,
    last_tag: u32,
    unanswered: BTreeSet<u32>,
    watches: BTreeMap<u32, WatchState>,
    persistent: BTreeSet<u32>,
    lapse: Lapse,
    lease_before: Option<Instant>,
    probed: Option<ServerIndex>,
}

/// Nothing is said about the lease under a clock that goes back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Monotonic,
    Wild,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lapse {
    Possible,
    Announced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchState {
    Asked(WatchId, LeftOn),
    Set(WatchId),
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftOn {
    Success,
    SuccessOrNoNode,
}

impl World {
    fn new(setting: &Setting) -> Self {
        let mut config = Config::new(setting.servers);
        config.session_timeout = Duration::from_millis(setting.timeout.into());
        config.while_disconnected = setting.while_disconnected;
        config.grade = setting.grade;
        config.sasl = setting.sasl;
        config.limits.max_in_flight = 5;
        config.limits.max_queued_bytes = 200;
        Self {
            session: Session::new(config, setting.seed, Instant::ORIGIN),
            now: Instant::ORIGIN,
            clock: Clock::Monotonic,
            log: Vec::new(),
            automaton: Automaton::Apart,
            server: Server::default(),
            last_tag: 0,
            unanswered: BTreeSet::new(),
            watches: BTreeMap::new(),
            persistent: BTreeSet::new(),
            lapse: Lapse::Announced,
            lease_before: None,
            probed: None,
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match *happening {
            Happening::Submit => self.submit(),
            Happening::Watch { read, path } => self.watch(read, path_of(path)),
            Happening::AddWatch { mode, path } => self.add_watch(mode, path_of(path)),
            Happening::Forget { nth } => self.forget(nth),
            Happening::Authenticate => {
                let kept = self.session.authenticate(self.now, "digest", b"a:b");
                assert_eq!(kept.is_err(), kept == Err(SubmitError::Closed));
            }
            Happening::Close => self.session.close(self.now),
            Happening::Detach => self.detach(),
            Happening::KeepLease => {
                let started =
                    self.session.keep_lease(self.now, LeaseUpkeep::InForce { znode: "/e/c" });
                assert_eq!(started, Ok(()));
            }
            Happening::KeepLeaseReady => {
                assert_eq!(self.session.keep_lease(self.now, LeaseUpkeep::Ready), Ok(()));
            }
            Happening::LetLeaseLapse => {
                assert_eq!(self.session.keep_lease(self.now, LeaseUpkeep::Idle), Ok(()));
            }
            Happening::Servers { count } => self.session.handle_servers(self.now, count),
            Happening::Wait { millis } => {
                self.now = self.now + Duration::from_millis(millis);
                return;
            }
            Happening::Jump { millis } => {
                self.now = Instant::since_origin(Duration::from_millis(millis));
                self.clock = Clock::Wild;
                return;
            }
            Happening::Timeout => return self.timeout(),
            Happening::Opened => self.session.handle_opened(self.now),
            Happening::Closed => self.closed(),
            Happening::Accept { session, millis, read_only } => {
                self.accept(session, millis, read_only);
            }
            Happening::Probed { answer } => self.answer_probe(answer),
            Happening::Refuse => self.receive(encoded(&ConnectResponse::REFUSED)),
            Happening::Connect => return self.connect(),
            Happening::Answer { zxid, error } => self.answer(zxid, error),
            Happening::Mangled { at, byte } => self.mangled(at, byte),
            Happening::Mechanism { answer } => self.mechanism(answer),
            Happening::Token { token } => self.token(token),
            Happening::Pong { zxid } => self.pong(zxid),
            Happening::Stray { xid, error } => self.stray(reply(Xid::new(xid), 1, error)),
            Happening::Notify { zxid, kind, path } => {
                let kind = EventType::new(kind);
                self.receive(notification(zxid, kind, path_of(path)));
            }
            Happening::Bytes(ref bytes) => self.stray(Bytes::from(bytes.clone())),
        }
        self.settle();
    }

    fn pong(&mut self, zxid: i64) {
        let sent_at = self.server.ping_at.take();
        self.server.prove(sent_at);
        self.receive(reply(Xid::PING, zxid, 0));
    }

    /// What answers anything, or nothing.
    fn stray(&mut self, frame: Bytes) {
        self.server.prove_by_anything();
        self.receive(frame);
    }

    fn closed(&mut self) {
        self.server.disconnect();
        self.session.handle_closed(self.now);
    }

    fn submit(&mut self) {
        self.last_tag += 1;
        let path = "/a";
        let request = GetDataRequest { path, watch: false };
        let full = self.session.is_connected() && self.session.is_full();
        match self.session.submit(self.now, self.last_tag, &request) {
            Ok(()) => {
                assert!(!full);
                self.unanswered.insert(self.last_tag);
            }
            Err(error) => assert!(!full || error == SubmitError::Full),
        }
    }

    fn watch(&mut self, read: u8, path: &str) {
        self.last_tag += 1;
        let (read, left_on) = match read % 3 {
            0 => (Watching::Exists(path), LeftOn::SuccessOrNoNode),
            1 => (Watching::GetData(path), LeftOn::Success),
            _ => (Watching::GetChildren(path), LeftOn::Success),
        };
        let tag = self.last_tag;
        if let Ok(id) = self.session.submit_watching(self.now, tag, read, tag) {
            self.unanswered.insert(tag);
            self.watches.insert(tag, WatchState::Asked(id, left_on));
        }
    }

    fn add_watch(&mut self, mode: WatchMode, path: &str) {
        self.last_tag += 1;
        let tag = self.last_tag;
        if let Ok(id) = self.session.submit_persistent(self.now, tag, (path, mode), tag) {
            self.unanswered.insert(tag);
            self.watches.insert(tag, WatchState::Asked(id, LeftOn::SuccessOrNoNode));
            self.persistent.insert(tag);
        }
    }

    fn forget(&mut self, nth: usize) {
        let count = self.watches.len().max(1);
        if let Some((_, state)) = self.watches.iter_mut().nth(nth % count) {
            if let WatchState::Asked(id, _) | WatchState::Set(id) = *state {
                self.session.forget(self.now, id);
            }
            *state = WatchState::Over;
        }
    }

    fn accept(&mut self, session: i64, millis: i32, read_only: bool) {
        self.receive(encoded(&ConnectResponse {
            protocol_version: 0,
            timeout: millis,
            session_id: SessionId::new(session),
            password: Some(&[7; 16]),
            read_only: Some(read_only),
        }));
    }

    fn detach(&mut self) {
        let ticket = self.session.detach(self.now);
        if let Some(ticket) = &ticket {
            assert_eq!(self.session.id(), Some(ticket.session()));
            assert_eq!(ticket.expose().parse().as_ref(), Ok(ticket));
        }
        assert!(ticket.is_none() || self.session.ended() == Some(SessionEnd::Detached));
    }

    fn answer_probe(&mut self, answer: ProbeAnswer) {
        if let Some(server) = self.probed {
            let was_connected = self.session.is_connected();
            self.session.handle_probed(self.now, server, answer);
            if was_connected && !self.session.is_connected() {
                self.server.disconnect();
            }
        }
    }

    fn connect(&mut self) {
        for _ in 0..4 {
            if let Some(at) = self.session.poll_timeout()
                && !self.session.is_connected()
            {
                self.now = self.now.max(at);
                self.timeout();
                self.session.handle_opened(self.now);
                self.settle();
            }
            if self.server.handshake_at.is_some() && !self.session.is_connected() {
                self.accept(self.session.id().map_or(1, SessionId::get), 4000, false);
                self.settle();
                self.mechanism(0);
                self.settle();
                self.token(Some(1));
                self.mechanism(4);
                self.settle();
            }
        }
    }

    fn mechanism(&mut self, answer: u8) {
        let answer = match answer % 8 {
            0..3 => SaslAnswer::Token(b"token"),
            3 => SaslAnswer::LastToken(b"token"),
            4..7 => SaslAnswer::Done,
            _ => SaslAnswer::Failed(SaslFailure::Challenge),
        };
        self.session.handle_sasl(self.now, answer);
    }

    fn token(&mut self, token: Option<u8>) {
        if let Some((xid, sent_at)) = self.server.requests.pop_front() {
            if self.server.last_token != Some(xid) {
                self.server.prove(Some(sent_at));
            }
            let token = token.as_ref().map(core::slice::from_ref);
            let mut frame = BytesMut::from(&*reply(xid, 0, 0));
            SetSaslResponse { token: Credential::new(token) }.encode(&mut frame);
            self.receive(frame.freeze());
        }
    }

    fn answer(&mut self, zxid: i64, error: i32) {
        if let Some((xid, sent_at)) = self.server.requests.pop_front() {
            self.server.prove(Some(sent_at));
            if self.server.last_multi == Some(xid) {
                self.receive(reply_to_check(xid, zxid, error));
            } else {
                self.receive(reply(xid, zxid, error));
            }
        }
    }

    fn mangled(&mut self, at: usize, byte: u8) {
        let oldest = self.server.requests.front();
        let xid = oldest.map_or(Xid::PING, |&(xid, _)| xid);
        let mut frame = BytesMut::from(&*reply(xid, 5, 0));
        let at = at % frame.len();
        if let Some(mangled) = frame.get_mut(at) {
            *mangled = byte;
        }
        self.server.prove_by_anything();
        self.receive(frame.freeze());
    }

    fn receive(&mut self, frame: Bytes) {
        self.session.handle_frame(self.now, frame);
    }

    /// A driver that does what it is told may sleep afterwards: it does not spin.
    fn timeout(&mut self) {
        for _ in 0..4 {
            self.session.handle_timeout(self.now);
            self.settle();
        }
        let next = self.session.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?}");
    }

    /// Takes out everything, and checks it.
    fn settle(&mut self) {
        match self.session.poll_transport() {
            Some(order @ (TransportCommand::Connect(_) | TransportCommand::Disconnect)) => {
                self.server.disconnect();
                self.log.push(format!("{order:?}"));
            }
            None => {}
        }
        if let Some(challenge) = self.session.poll_sasl() {
            self.log.push(format!("{challenge:?}"));
        }
        if let Some(server) = self.session.poll_probe() {
            assert!(self.session.is_read_only());
            self.probed = Some(server);
            self.log.push(format!("{server:?}?"));
        }
        let mut output = BytesMut::new();
        self.session.poll_transmit(&mut output);
        self.log.push(format!("{output:?}"));
        self.server.input.unsplit(output);
        self.server.read(self.now);
        let events: Vec<_> = core::iter::from_fn(|| self.session.poll_event()).collect();
        self.check_lapse(&events);
        for event in events {
            self.check_event(&event);
            self.log.push(format!("{event:?}"));
        }
        self.check_lease();
        self.check_that_polling_again_is_harmless();
    }

    fn end(&mut self) {
        self.session.close(self.now);
        self.settle();
        self.now = Instant::since_origin(Duration::MAX);
        self.session.handle_timeout(self.now);
        self.settle();
        assert_eq!(self.automaton, Automaton::End);
        assert_eq!(self.unanswered, BTreeSet::new());
        let told = |state: &WatchState| *state == WatchState::Over;
        assert!(self.watches.values().all(told), "{:?}", self.watches);
        assert!(self.session.last_zxid() >= Zxid::ZERO);
    }
}

fn reply(xid: Xid, zxid: i64, error: i32) -> Bytes {
    let header: ReplyHeader = header(xid, zxid, ErrorCode::new(error));
    encoded(&header)
}

/// By its header, a multi always succeeds.
fn reply_to_check(xid: Xid, zxid: i64, error: i32) -> Bytes {
    let result = match ErrorCode::new(error) {
        ErrorCode::OK => MultiResult::Check,
        error => MultiResult::Error(error),
    };
    let mut frame = BytesMut::from(&*reply(xid, zxid, 0));
    MultiResponse::new(&[result]).encode(&mut frame);
    frame.freeze()
}

fn path_of(path: u8) -> &'static str {
    match path % 3 {
        0 => "/a",
        1 => "/b",
        _ => "/a/c",
    }
}
