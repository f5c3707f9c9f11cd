//! A session to which anything may happen. The world asserts its laws after each step; the tests' properties and the
//! fuzz target `session` decide what happens.

pub(crate) mod automaton;
mod happening;
mod laws;
mod peer;
mod server;

use core::fmt::Debug;
use core::time::Duration;

use bytes::BytesMut;
use zk_jute::records::GetDataRequest;
use zk_jute::{SessionId, Zxid};
use zk_session::lease::LeaseUpkeep;
use zk_session::sasl::SaslAnswer;
use zk_session::{
    Config, Event, Instant, ServerIndex, Session, SessionEnd, SessionTicket, SubmitError, Watching,
};

pub(crate) use self::happening::{Answer, Ask, Happening, Read, Receive, Word};
use self::laws::Laws;
use self::server::Server;

/// A shorter length fits into a frame, at any limits.
const SHORT: usize = 100;

struct World {
    config: Config,
    session: Session<u32, u32>,
    now: Instant,
    clock: Clock,
    journal: Journal,
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

/// Everything that comes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    Kept(Vec<String>),
    Off,
}

impl Journal {
    fn note(&mut self, output: &impl Debug) {
        if let Self::Kept(lines) = self {
            lines.push(format!("{output:?}"));
        }
    }
}

/// How the last session ends after it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its transport is closed.
    Cut,
    /// Nothing is heard of its server, until the end of time.
    Silence,
}

/// Has them all happen, then ends the session, and returns the journal.
pub(crate) fn run(
    config: Config,
    seed: u64,
    journal: Journal,
    happenings: impl IntoIterator<Item = Happening>,
    ending: Ending,
) -> Journal {
    let mut world = World::new(config, seed, journal);
    for happening in happenings {
        world.happen(happening);
        world.settle();
    }
    match ending {
        Ending::Cut => world.end(),
        Ending::Silence => {
            world.session.close(world.now);
            world.settle();
        }
    }
    world.now = Instant::since_origin(Duration::MAX);
    world.session.handle_timeout(world.now);
    world.settle();
    world.laws.check_end();
    assert!(world.session.last_zxid() >= Zxid::ZERO);
    world.journal
}

impl World {
    fn new(config: Config, seed: u64, journal: Journal) -> Self {
        Self {
            session: Session::new(config.clone(), seed, Instant::ORIGIN),
            config,
            now: Instant::ORIGIN,
            clock: Clock::Monotonic,
            journal,
            laws: Laws::new(),
            server: Server::default(),
            last_tag: 0,
            probed: None,
            ticket: None,
        }
    }

    fn happen(&mut self, happening: Happening) {
        let now = self.now;
        match happening {
            Happening::Ask(ask) => self.ask(ask),
            Happening::Wait { millis } => self.now = now + Duration::from_millis(millis),
            Happening::Jump { millis } => {
                self.now = Instant::since_origin(Duration::from_millis(millis));
                self.clock = Clock::Wild;
            }
            Happening::Timeout => self.do_what_is_due(),
            Happening::Sleep => self.sleep(),
            Happening::Opened => self.session.handle_opened(now),
            Happening::Closed => {
                self.server.disconnect();
                self.session.handle_closed(now);
            }
            Happening::Servers { count } => self.session.handle_servers(now, count),
            Happening::Probed { answer } => {
                let server = self.probed.unwrap_or(ServerIndex(0));
                self.session.handle_probed(now, server, answer);
            }
            Happening::Mechanism(word) => self.mechanism(&word),
            Happening::Connect => self.connect(),
            Happening::Receive(receive) => self.receive(&receive),
        }
    }

    fn ask(&mut self, ask: Ask) {
        let now = self.now;
        self.last_tag += 1;
        let tag = self.last_tag;
        match ask {
            Ask::Submit { path } => self.submit(tag, &path),
            Ask::Watch { path, read } => {
                let watching = match read {
                    Read::Exists => Watching::Exists(&path),
                    Read::GetData => Watching::GetData(&path),
                    Read::GetChildren => Watching::GetChildren(&path),
                };
                if let Ok(id) = self.session.submit_watching(now, tag, watching, tag) {
                    self.laws.watches(tag, id, watching);
                }
            }
            Ask::AddWatch { path, mode } => {
                if let Ok(id) = self.session.submit_persistent(now, tag, (&path, mode), tag) {
                    self.laws.watches_persistently(tag, id);
                }
            }
            Ask::Forget { nth } => {
                if let Some(id) = self.laws.dropped(nth) {
                    self.session.forget(now, id);
                }
            }
            Ask::Disregard { nth } => {
                if let Some(id) = self.laws.dropped(nth) {
                    self.session.forget_locally(id);
                }
            }
            Ask::Authenticate { scheme, credential } => {
                let kept = self.session.authenticate(now, &scheme, &credential);
                let is_short = scheme.len() + credential.len() < SHORT;
                assert!(!is_short || matches!(kept, Ok(()) | Err(SubmitError::Closed)), "{kept:?}");
            }
            Ask::KeepLease { znode } => self.keep_lease(LeaseUpkeep::InForce { znode: &znode }),
            Ask::KeepLeaseReady => self.keep_lease(LeaseUpkeep::Ready),
            Ask::LetLeaseLapse => self.keep_lease(LeaseUpkeep::Idle),
            Ask::Close => self.session.close(now),
            Ask::Detach => self.detach(),
            Ask::Resume { seed } => self.resume(seed),
        }
    }

    /// Submits a request. The session refuses it for want of room where there is none, and only
    /// there.
    fn submit(&mut self, tag: u32, path: &str) {
        let is_full = self.session.is_full();
        let is_connected = self.session.is_connected();
        let request = GetDataRequest { path, watch: false };
        match self.session.submit(self.now, tag, &request) {
            Ok(()) => {
                assert!(!(is_full && is_connected));
                self.laws.submitted(tag);
            }
            Err(error) => assert!(!(is_full && is_connected) || error == SubmitError::Full),
        }
    }

    fn keep_lease(&mut self, upkeep: LeaseUpkeep<'_>) {
        let kept = self.session.keep_lease(self.now, upkeep);
        let is_long = matches!(upkeep, LeaseUpkeep::InForce { znode } if znode.len() >= SHORT);
        match kept {
            Ok(()) => {}
            Err(SubmitError::TooLarge { .. }) => assert!(is_long, "{upkeep:?}"),
            Err(error) => unreachable!("{error:?}"),
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

    /// Closes the session; its transport is closed before the server has answered.
    fn end(&mut self) {
        self.session.close(self.now);
        self.settle();
        self.session.handle_closed(self.now);
        self.settle();
        self.laws.check_end();
    }

    fn mechanism(&mut self, word: &Word) {
        let answer = match word {
            Word::Token(token) => SaslAnswer::Token(token),
            Word::LastToken(token) => SaslAnswer::LastToken(token),
            Word::Done => SaslAnswer::Done,
            Word::Failed(failure) => SaslAnswer::Failed(*failure),
        };
        self.session.handle_sasl(self.now, answer);
    }

    fn connect(&mut self) {
        for _ in 0..4 {
            if self.session.ended().is_none() && !self.session.is_connected() {
                self.sleep();
                self.session.handle_opened(self.now);
                self.settle();
            }
            if self.server.handshake_at.is_some() && !self.session.is_connected() {
                self.accept(self.session.id().map_or(1, SessionId::get), 4000, Some(false));
                self.settle();
                self.mechanism(&Word::Token(vec![1]));
                self.settle();
                self.token(Some(&[2]));
                self.mechanism(&Word::Done);
                self.settle();
            }
        }
    }

    fn sleep(&mut self) {
        if let Some(at) = self.session.poll_timeout() {
            self.now = self.now.max(at);
        }
        self.do_what_is_due();
    }

    /// Does what is due. A driver that does it may sleep afterwards: it does not spin.
    fn do_what_is_due(&mut self) {
        for _ in 0..4 {
            self.session.handle_timeout(self.now);
            self.settle();
        }
        let next = self.session.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?}");
    }

    /// Takes out everything, and checks it.
    fn settle(&mut self) {
        if let Some(command) = self.session.poll_transport() {
            self.server.disconnect();
            self.journal.note(&command);
        }
        if let Some(challenge) = self.session.poll_sasl() {
            self.journal.note(&challenge);
        }
        if let Some(server) = self.session.poll_probe() {
            assert!(self.session.is_read_only());
            self.probed = Some(server);
            self.journal.note(&server);
        }
        let mut output = BytesMut::new();
        self.session.poll_transmit(&mut output);
        self.journal.note(&output);
        self.server.input.unsplit(output);
        self.server.read(self.now);
        let events: Vec<_> = core::iter::from_fn(|| self.session.poll_event()).collect();
        if self.clock == Clock::Monotonic {
            self.laws.check_lapse(self.now, &events);
        }
        for event in &events {
            if matches!(event, Event::Connected { read_only: true, .. }) {
                assert!(self.session.is_read_only());
            }
            self.laws.follow(event, &mut self.server);
            self.journal.note(event);
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
