//! The laws that one session has to keep, whatever happens.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use zk_jute::ErrorCode;
use zk_session::{ConnectionEnd, Event, Failure, Instant, WatchId, Watching};

use super::automaton::Automaton;
use super::server::Server;

/// No server is left for a shorter silence.
const LEAST_PATIENCE: Duration = Duration::from_millis(250);

/// The requests and the reports so far.
pub(crate) struct Laws {
    automaton: Automaton,
    /// In the order of submission, which is that of their completion.
    unanswered: VecDeque<u32>,
    watches: BTreeMap<u32, Watch>,
    lapse: Lapse,
    lease_before: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lapse {
    Possible,
    Announced,
}

#[derive(Debug)]
struct Watch {
    id: WatchId,
    kind: Kind,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OneShot { left_on_no_node: bool },
    Persistent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    Set,
    Over,
}

impl Laws {
    pub(crate) fn new() -> Self {
        Self {
            automaton: Automaton::Apart,
            unanswered: VecDeque::new(),
            watches: BTreeMap::new(),
            lapse: Lapse::Announced,
            lease_before: None,
        }
    }

    pub(crate) fn submitted(&mut self, tag: u32) {
        self.unanswered.push_back(tag);
    }

    pub(crate) fn watches(&mut self, tag: u32, id: WatchId, read: Watching<'_>) {
        let kind = Kind::OneShot { left_on_no_node: matches!(read, Watching::Exists(_)) };
        self.asked(tag, id, kind);
    }

    pub(crate) fn watches_persistently(&mut self, tag: u32, id: WatchId) {
        self.asked(tag, id, Kind::Persistent);
    }

    fn asked(&mut self, tag: u32, id: WatchId, kind: Kind) {
        self.submitted(tag);
        self.watches.insert(tag, Watch { id, kind, stage: Stage::Asked });
    }

    /// Takes out a watch: it is to report nothing any more.
    pub(crate) fn dropped(&mut self, nth: usize) -> Option<WatchId> {
        let count = self.watches.len().max(1);
        let watch = self.watches.values_mut().nth(nth % count)?;
        watch.stage = Stage::Over;
        Some(watch.id)
    }

    pub(crate) fn follow(&mut self, event: &Event<u32, u32>, server: &mut Server) {
        self.automaton.follow(event);
        match event {
            Event::Connected { read_only: true, timeout, .. } => {
                server.cut_off = true;
                server.granted_read_only(*timeout);
            }
            Event::Connected { timeout, read_only: false, .. } => {
                server.granted(*timeout);
                self.lapse = Lapse::Possible;
            }
            Event::LeaseLapsed => {
                assert_eq!(self.lapse, Lapse::Possible);
                self.lapse = Lapse::Announced;
            }
            Event::Completed { tag, outcome } => {
                assert_eq!(self.unanswered.pop_front(), Some(*tag), "once, and in order");
                self.answered(*tag, outcome.as_ref().err());
            }
            Event::Fired { watcher, .. } | Event::WatchLost { watcher } => {
                let watch = self.watches.get_mut(watcher).expect("asked for");
                assert_eq!(watch.stage, Stage::Set, "told once, and only while it is set");
                let fired = matches!(event, Event::Fired { .. });
                assert!(!(fired && watch.kind == Kind::Persistent));
                watch.stage = Stage::Over;
            }
            Event::Changed { watcher, .. } | Event::ChangesMissed { watcher } => {
                let watch = self.watches.get(watcher).expect("asked for");
                assert_eq!((watch.kind, watch.stage), (Kind::Persistent, Stage::Set));
            }
            Event::Disconnected { end: ConnectionEnd::Overdue(waited), .. } => {
                assert!(*waited >= LEAST_PATIENCE, "{waited:?}");
            }
            Event::RolledBack(rollback) => unreachable!("the server loses nothing: {rollback}"),
            Event::ConnectFailed { .. }
            | Event::Disconnected { .. }
            | Event::HeartbeatRefused { .. }
            | Event::Ended(_) => {}
        }
    }

    fn answered(&mut self, tag: u32, failure: Option<&Failure>) {
        let Some(watch) = self.watches.get_mut(&tag) else { return };
        let no_node = failure == Some(&Failure::Refused(ErrorCode::NO_NODE));
        let left = match watch.kind {
            Kind::Persistent | Kind::OneShot { left_on_no_node: true } => {
                failure.is_none() || no_node
            }
            Kind::OneShot { left_on_no_node: false } => failure.is_none(),
        };
        watch.stage = match watch.stage {
            Stage::Asked if left => Stage::Set,
            Stage::Asked | Stage::Set | Stage::Over => Stage::Over,
        };
    }

    /// Checks that the session announces a lapse before anything else.
    pub(crate) fn check_lapse(&self, now: Instant, events: &[Event<u32, u32>]) {
        if self.lease_before.is_some_and(|deadline| deadline <= now) && !events.is_empty() {
            assert_eq!(events.first(), Some(&Event::LeaseLapsed));
        }
    }

    pub(crate) fn note_lease(&mut self, deadline: Option<Instant>) {
        self.lease_before = deadline;
        if deadline.is_some() {
            self.lapse = Lapse::Possible;
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.automaton == Automaton::End
    }

    /// Checks that a session that is over has nothing left to tell.
    pub(crate) fn check_end(&self) {
        assert!(self.has_ended());
        assert!(self.unanswered.is_empty(), "{:?}", self.unanswered);
        let told = |watch: &Watch| watch.stage == Stage::Over;
        assert!(self.watches.values().all(told), "{:?}", self.watches);
    }
}
