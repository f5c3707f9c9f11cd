//! A host, a clock, and the driver between the host and a server.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use election_core::election::{Nominee, Policy};
use election_core::{NomineeId, Recipe};
use election_session::{Chroot, Event, GrantChange, RecipeHost, RecipeKey, Settings, Site};
use zk_jute::{OpCode, frame_len};
use zk_session::{Config, Instant, ServerIndex, TransportCommand};

use crate::server::{Answers, Mode, Server, TIMEOUT_MILLIS};

pub(crate) struct Lab<R: Recipe> {
    pub(crate) host: RecipeHost<R, u32, u32>,
    pub(crate) server: Server,
    pub(crate) now: Instant,
    /// The servers that the host wanted a connection to.
    pub(crate) wanted: Vec<ServerIndex>,
    /// The events that have come out of the host since the test last took them.
    events: Vec<Event<R, u32, u32>>,
    output: BytesMut,
}

impl<R: Recipe> Lab<R> {
    /// Makes a connected host without a recipe.
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(adjust: impl FnOnce(&mut Settings)) -> Self {
        let mut server = Server::new();
        server.put("/e", "");
        Self::on(server, Instant::ORIGIN, adjust)
    }

    /// Makes a host that begins with this server.
    pub(crate) fn on(server: Server, now: Instant, adjust: impl FnOnce(&mut Settings)) -> Self {
        let mut config = Config::new(NonZeroUsize::MIN);
        config.session_timeout = millis(TIMEOUT_MILLIS.unsigned_abs().into());
        let mut settings = Settings::new(config, 1);
        adjust(&mut settings);
        let host = RecipeHost::new(settings, now).expect("there are no identities");
        let (wanted, events, output) = (Vec::new(), Vec::new(), BytesMut::new());
        let mut lab = Self { host, server, now, wanted, events, output };
        lab.tick();
        lab
    }

    pub(crate) fn stand(&mut self, recipe: R) -> RecipeKey {
        self.stand_with(recipe, |site| site)
    }

    pub(crate) fn stand_with(&mut self, recipe: R, adjust: impl FnOnce(Site) -> Site) -> RecipeKey {
        let site = adjust(Site::new(&"/e".parse().expect("it is a path"), &Chroot::default()));
        let key = self.host.stand(self.now, recipe, Arc::new(site));
        self.run();
        key
    }

    /// Does all that can be done without the passing of time.
    pub(crate) fn run(&mut self) {
        loop {
            while let Some(event) = self.host.poll_event(self.now) {
                self.events.push(event);
            }
            let command = self.host.poll_transport();
            if let Some(TransportCommand::Connect(server)) = command {
                self.wanted.push(server);
            }
            match command {
                Some(TransportCommand::Connect(_)) if self.server.mode == Mode::Away => {
                    self.host.handle_closed(self.now);
                    continue;
                }
                Some(TransportCommand::Connect(_)) => self.host.handle_opened(self.now),
                Some(TransportCommand::Disconnect) => {
                    self.server.disconnect();
                    self.output.clear();
                }
                None => {}
            }
            self.host.poll_transmit(&mut self.output);
            while let Some(length) = frame_len(&self.output, usize::MAX).expect("a length") {
                self.output.advance(4);
                let frame = self.output.split_to(length);
                self.server.take_in(&frame);
            }
            match self.server.answer() {
                Some(frame) => self.host.handle_frame(self.now, frame),
                None => return,
            }
        }
    }

    /// Lets one of the answers through that the server holds back.
    pub(crate) fn answer_one(&mut self) {
        self.server.answers = Answers::Sent;
        let frame = self.server.answer();
        self.server.answers = Answers::Held;
        if let Some(frame) = frame {
            self.host.handle_frame(self.now, frame);
            self.run();
        }
    }

    pub(crate) fn tick(&mut self) {
        self.host.handle_timeout(self.now);
        self.run();
    }

    /// Lets time pass, with a call whenever the host wants one.
    pub(crate) fn pass(&mut self, span: u64) {
        let end = self.now + millis(span);
        while let Some(at) = self.host.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.tick();
        }
        self.now = end;
    }

    /// Breaks the connection.
    pub(crate) fn disconnect(&mut self) {
        self.server.disconnect();
        self.output.clear();
        self.host.handle_closed(self.now);
        self.run();
    }

    pub(crate) fn events(&mut self) -> Vec<Event<R, u32, u32>> {
        core::mem::take(&mut self.events)
    }

    /// Returns the changes to grants among the events since the last call.
    pub(crate) fn grants(&mut self) -> Vec<GrantChange> {
        let steps = self.events().into_iter().filter_map(|event| match event {
            Event::Stepped(step) => step.grant,
            _ => None,
        });
        steps.collect()
    }

    /// Returns the requests to the server since the last call, without heartbeats and
    /// confirmations.
    pub(crate) fn asked(&mut self) -> Vec<(OpCode, String)> {
        let mut requests = core::mem::take(&mut self.server.requests);
        requests.retain(|(opcode, _)| ![OpCode::SYNC, OpCode::MULTI].contains(opcode));
        requests
    }

    /// Returns the znodes that heartbeats have checked since the last call.
    pub(crate) fn checked(&mut self) -> Vec<String> {
        let requests = core::mem::take(&mut self.server.requests).into_iter();
        requests.filter(|(opcode, _)| *opcode == OpCode::MULTI).map(|(_, path)| path).collect()
    }
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn nominee(id: u8) -> Nominee {
    Nominee::new(NomineeId::from_bytes([id; 16]), Policy::default())
}
