//! Contenders of two libraries that take turns, and are killed.

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use election_core::format::Access;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::now;
use zk_test_kit::raw::{CreateMode, RawClient};
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::wait::SOON;
use zk_tests::contender::{Held, Ledger, Report};

use crate::interop::contender::{Contender, Heard, State};
use crate::interop::pairs::{Pair, Readers};
use crate::interop::programs::Program;

/// Below the chroot of each test.
pub(super) const PATH: &str = "/place";

/// Of all sessions.
pub(super) const SESSION_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks the time for which the znodes of a process that was killed were there. A third of the timeout
/// may have gone by since its last ping, and another one while the machine stood still.
pub(super) fn lasted_a_session(span: Duration) {
    assert!(is_a_session(span), "they are gone {span:?} after it was killed");
}

pub(super) fn is_a_session(span: Duration) -> bool {
    span >= SESSION_TIMEOUT / 3
}

/// A session was lost that should not have been, as happens on a machine that stands still for a while.
#[derive(Debug, thiserror::Error)]
#[error("{contender} cannot be sure of its session")]
pub(super) struct SessionDisturbed {
    contender: String,
}

/// The treatment of a contender that cannot be sure of its session any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenDisturbed {
    /// The steps that depend on it end.
    Fail,
    /// It is killed, and another one follows.
    Replace,
}

/// An awaited event has not come, or an unexpected one has.
#[derive(Debug, thiserror::Error)]
#[error("{pair}: {what}\n{story}")]
struct Disturbed {
    pair: &'static str,
    what: String,
    story: String,
}

/// The contenders of one pair, at work.
pub(super) struct Relay {
    pub(super) pair: Pair,
    pub(super) server: &'static TestServer,
    pub(super) chroot: String,
    pub(super) contenders: BTreeMap<usize, Contender>,
    started: usize,
    heard: Receiver<(usize, Heard)>,
    hears: Sender<(usize, Heard)>,
    pub(super) ledger: Ledger,
    pub(super) random: fastrand::Rng,
    last: Option<Program>,
    pub(super) counts: Counts,
    pub(super) when_disturbed: WhenDisturbed,
}

/// The counts of a relay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) turns: usize,
    pub(super) between_libraries: usize,
    pub(super) killed_holders: usize,
    pub(super) killed_waiters: usize,
    pub(super) disturbed: usize,
}

impl Relay {
    pub(super) fn new(pair: Pair, server: ServerKind) -> Result<Self, TestFailure> {
        let server = server.shared()?;
        let chroot = server.fresh_chroot("interop")?;
        // Not all libraries create it.
        let mut client = RawClient::connect(server.addr(), SOON)?;
        client.create(&format!("{chroot}{PATH}"), CreateMode::Persistent)?;
        client.close()?;
        let (sender, heard) = channel();
        Ok(Self {
            pair,
            server,
            chroot,
            contenders: BTreeMap::new(),
            started: 0,
            heard,
            hears: sender,
            ledger: Ledger::default(),
            random: fastrand::Rng::with_seed(pair.name.bytes().map(u64::from).sum()),
            last: None,
            counts: Counts::default(),
            when_disturbed: WhenDisturbed::Fail,
        })
    }

    /// Starts a contender; its lines come later.
    pub(super) fn start(&mut self, program: Program) -> Result<usize, TestFailure> {
        let number = self.started;
        self.started += 1;
        let servers = format!("{}{}", self.server.connect_string(), self.chroot);
        let place = (servers.as_str(), PATH);
        let hears = self.hears.clone();
        let contender = Contender::start(program, number, place, SESSION_TIMEOUT, hears)?;
        self.contenders.insert(number, contender);
        Ok(number)
    }

    /// Starts a contender that asks for this, and waits until it was told to.
    pub(super) fn join(&mut self, program: Program, access: Access) -> Result<usize, TestFailure> {
        let number = self.start(program)?;
        if let Some(contender) = self.contenders.get_mut(&number) {
            contender.first = Some(access);
        }
        self.wait_until(&format!("contender {number} has asked"), |relay| {
            relay.state(number) != Some(State::Starting)
        })?;
        Ok(number)
    }

    pub(super) fn state(&self, number: usize) -> Option<State> {
        self.contenders.get(&number).map(|contender| contender.state)
    }

    pub(super) fn holds(&self, number: usize) -> bool {
        matches!(self.state(number), Some(State::Holding(..)))
    }

    pub(super) fn wait_until_held_by(&mut self, number: usize) -> TestResult {
        self.wait_until(&format!("contender {number} holds"), |relay| relay.holds(number))
    }

    /// Kills a contender; another of its kind may follow.
    pub(super) fn kill(&mut self, number: usize) -> Result<Duration, TestFailure> {
        let Some(contender) = self.contenders.get_mut(&number) else {
            return Err(self.disturbed("there is none to kill"));
        };
        let before = contender.state;
        let at = contender.kill()?;
        match before {
            State::Holding(access, from) => {
                self.counts.killed_holders += 1;
                let contender = contender.name.clone();
                self.ledger.record(Held { contender, access, from, until: at });
            }
            State::Releasing(access, from, until) => {
                self.counts.killed_holders += 1;
                let contender = contender.name.clone();
                self.ledger.record(Held { contender, access, from, until });
            }
            _ => self.counts.killed_waiters += 1,
        }
        Ok(at)
    }

    pub(super) fn release(&mut self, number: usize) -> TestResult {
        if let Some(contender) = self.contenders.get_mut(&number) {
            contender.release()?;
        }
        Ok(())
    }

    /// A contender asks the holders to let go.
    pub(super) fn revoke(&mut self, number: usize) -> TestResult {
        if let Some(contender) = self.contenders.get_mut(&number) {
            contender.revoke()?;
        }
        Ok(())
    }

    pub(super) fn wait_until_asked(&mut self, number: usize) -> TestResult {
        self.wait_until(&format!("contender {number} is asked to let go"), |relay| {
            relay.contenders.get(&number).is_some_and(|contender| contender.was_asked)
        })
    }

    /// A writer goes on as a reader.
    pub(super) fn downgrade(&mut self, number: usize) -> TestResult {
        if let Some(contender) = self.contenders.get_mut(&number) {
            contender.downgrade()?;
        }
        self.wait_until(&format!("contender {number} is a reader"), |relay| {
            matches!(relay.state(number), Some(State::Holding(Access::Shared, _)))
        })
    }

    pub(super) fn replace(&mut self, number: usize) -> TestResult {
        self.kill(number)?;
        let program = self.contenders.get(&number).map(|contender| contender.program);
        if let Some(program) = program {
            self.start(program)?;
        }
        Ok(())
    }

    fn replace_disturbed(&mut self, number: usize) -> TestResult {
        self.counts.disturbed += 1;
        match (self.when_disturbed, self.contenders.get(&number)) {
            (WhenDisturbed::Fail, Some(contender)) => {
                Err(SessionDisturbed { contender: contender.name.clone() }.into())
            }
            _ => self.replace(number),
        }
    }

    pub(super) fn wait_until(
        &mut self,
        what: &str,
        condition: impl Fn(&Self) -> bool,
    ) -> TestResult {
        let until = Instant::now() + SOON;
        while !condition(self) {
            if !self.hear(until)? {
                return Err(self.disturbed(&format!("still not so after {SOON:?}: {what}")));
            }
        }
        Ok(())
    }

    /// Takes what one of them says; false if none says anything until then.
    pub(super) fn hear(&mut self, until: Instant) -> Result<bool, TestFailure> {
        let bound = until.saturating_duration_since(Instant::now());
        let (number, heard) = match self.heard.recv_timeout(bound) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(false),
        };
        match heard {
            Heard::Said(report) => self.take(number, report)?,
            Heard::Nonsense(line) => {
                return Err(self.disturbed(&format!("contender {number} prints {line:?}")));
            }
            Heard::Ended => {
                let state = self.state(number);
                if !matches!(state, Some(State::Killed(..)) | None) {
                    return Err(self.disturbed(&format!("contender {number} has ended")));
                }
                self.contenders.remove(&number);
            }
        }
        Ok(true)
    }

    fn take(&mut self, number: usize, report: Report) -> TestResult {
        let Some(contender) = self.contenders.get_mut(&number) else {
            return Ok(());
        };
        let name = contender.name.clone();
        match (report, contender.state) {
            (Report::Ready(at), State::Starting) => {
                if at < contender.started || at > now() {
                    return Err(self.disturbed(&format!("{name} has a clock of its own")));
                }
                let access = contender.first;
                self.ask(number, access)?;
            }
            (Report::Holds(at), State::Waiting(access)) => {
                contender.state = State::Holding(access, at);
                contender.was_asked = false;
                let program = contender.program;
                self.counts.turns += 1;
                if self.last.is_some_and(|last| last != program) {
                    self.counts.between_libraries += 1;
                }
                self.last = Some(program);
            }
            (Report::Asked(_), State::Holding(..)) => contender.was_asked = true,
            (Report::Downgrades(at), State::Holding(access, from)) => {
                contender.state = State::Holding(Access::Shared, at);
                self.ledger.record(Held { contender: name, access, from, until: at });
            }
            // Said before it was killed, and heard after.
            (Report::Holds(from), State::Killed(access, until)) => {
                let until = until.max(from);
                self.ledger.record(Held { contender: name, access, from, until });
            }
            (Report::Releases(until), State::Releasing(access, from, _)) => {
                self.ledger.record(Held { contender: name, access, from, until });
                self.ask(number, None)?;
            }
            (
                Report::Loses(until, _),
                State::Holding(access, from) | State::Releasing(access, from, _),
            ) => {
                self.ledger.record(Held { contender: name, access, from, until });
                contender.state = State::Waiting(access);
                self.replace_disturbed(number)?;
            }
            (Report::Loses(..), State::Waiting(_) | State::Starting) => {
                self.replace_disturbed(number)?;
            }
            (_, State::Killed(..)) => {}
            (report, state) => {
                return Err(self.disturbed(&format!("{name}, {state:?}, says {report:?}")));
            }
        }
        Ok(())
    }

    fn ask(&mut self, number: usize, access: Option<Access>) -> TestResult {
        let access = access.unwrap_or_else(|| match self.pair.readers {
            Readers::Some if self.random.u8(0..3) > 0 => Access::Shared,
            Readers::Some | Readers::None => Access::Exclusive,
        });
        if let Some(contender) = self.contenders.get_mut(&number) {
            contender.ask(access)?;
        }
        Ok(())
    }

    pub(super) fn disturbed(&self, what: &str) -> TestFailure {
        let mut story = format!("{:?}\n", self.counts);
        for contender in self.contenders.values() {
            let (name, state, log) = (&contender.name, contender.state, contender.log());
            let _ = writeln!(story, "{name}: {state:?}\n{log}");
        }
        Disturbed { pair: self.pair.name, what: what.to_owned(), story }.into()
    }
}
