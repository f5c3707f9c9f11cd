//! The laws that one host has to keep, whatever happens.

use std::collections::{BTreeMap, VecDeque};

use election_core::{Hold, Phase, Recipe as _, Token};
use election_session::{CallerWatch, Event, Grant, GrantChange, RecipeEnd, RecipeKey, Step};
use zk_jute::ErrorCode;
use zk_session::{Failure, Instant, SessionEnd, Watching};

use crate::recipe::{Any, Told};
use crate::{Clock, Host};

/// The requests and the reports so far.
pub(crate) struct Laws {
    automaton: Automaton,
    stage: Stage,
    /// In the order of submission, which is that of their completion.
    unanswered: VecDeque<u32>,
    /// Of this session.
    watches: BTreeMap<u32, Watch>,
    /// The watches that were asked for, of any session.
    asked: Vec<(u32, CallerWatch)>,
    /// The recipes that were not handed back, with the announcement of each.
    recipes: BTreeMap<RecipeKey, Option<Token>>,
    /// The end that recipes were told of.
    told_end: Option<SessionEnd>,
}

/// The state of the events on their automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Automaton {
    Apart,
    Together,
    /// By a server that is cut off.
    ReadOnly,
    /// That is over, and what was asked of it is answered.
    AfterReadOnly,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Closing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Asked(Kind),
    Set(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OneShot { left_on_no_node: bool },
    Persistent,
}

/// Whether events were taken out as soon as there were any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Fresh,
    Stale,
}

impl Laws {
    pub(crate) const fn new() -> Self {
        Self {
            automaton: Automaton::Apart,
            stage: Stage::Open,
            unanswered: VecDeque::new(),
            watches: BTreeMap::new(),
            asked: Vec::new(),
            recipes: BTreeMap::new(),
            told_end: None,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.unanswered.len()
    }

    pub(crate) fn submitted(&mut self, tag: u32) {
        assert_eq!(self.stage, Stage::Open);
        self.unanswered.push_back(tag);
    }

    pub(crate) fn watches(&mut self, tag: u32, watch: CallerWatch, read: Watching<'_>) {
        let kind = Kind::OneShot { left_on_no_node: matches!(read, Watching::Exists(_)) };
        self.asked(tag, watch, kind);
    }

    pub(crate) fn watches_persistently(&mut self, tag: u32, watch: CallerWatch) {
        self.asked(tag, watch, Kind::Persistent);
    }

    fn asked(&mut self, tag: u32, watch: CallerWatch, kind: Kind) {
        self.submitted(tag);
        self.watches.insert(tag, Watch::Asked(kind));
        self.asked.push((tag, watch));
    }

    /// Takes out a watch of any session: it is to report nothing any more.
    pub(crate) fn forgotten(&mut self, nth: u8) -> Option<CallerWatch> {
        let nth = usize::from(nth) % self.asked.len().max(1);
        let (tag, watch) = *self.asked.get(nth)?;
        self.watches.remove(&tag);
        Some(watch)
    }

    pub(crate) fn stood(&mut self, key: RecipeKey) {
        assert_eq!(self.recipes.insert(key, None), None, "keys are given once");
    }

    pub(crate) fn key(&self, nth: u8) -> Option<RecipeKey> {
        let nth = usize::from(nth) % self.recipes.len().max(1);
        self.recipes.keys().nth(nth).copied()
    }

    pub(crate) fn closing(&mut self) {
        self.stage = Stage::Closing;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.automaton == Automaton::End
    }

    pub(crate) fn follow(&mut self, event: &Event<Any, u32, u32>, host: &Host, now: Now) {
        self.automaton = self.after(event);
        match event {
            Event::Completed { tag, outcome } => {
                assert_eq!(self.unanswered.pop_front(), Some(*tag), "once, and in order");
                self.answered(*tag, outcome.as_ref().err());
            }
            Event::Fired { watcher, .. } => {
                let watch = self.watches.remove(watcher);
                assert!(matches!(watch, Some(Watch::Set(Kind::OneShot { .. }))), "{watch:?}");
            }
            Event::WatchLost { watcher } => {
                let watch = self.watches.remove(watcher);
                assert!(matches!(watch, Some(Watch::Set(_))), "{watch:?}");
            }
            Event::Changed { watcher, .. } | Event::ChangesMissed { watcher } => {
                let watch = self.watches.get(watcher);
                assert_eq!(watch, Some(&Watch::Set(Kind::Persistent)));
            }
            Event::Stepped(step) => self.stepped(*step, host, now),
            Event::Over { key, recipe, end, .. } => {
                assert_eq!(self.recipes.remove(key), Some(None), "once, and its grant before");
                assert!(host.recipe(*key).is_none() && host.view(*key).is_none());
                match end {
                    RecipeEnd::Finished => assert_eq!(recipe.phase(), Phase::Over),
                    RecipeEnd::HostEnded(end) => {
                        let told = *self.told_end.get_or_insert(*end);
                        assert_eq!(told, *end);
                        assert_eq!(host.ended(), Some(*end));
                    }
                }
            }
            Event::HeartbeatRefused { key, .. } => {
                assert!(now.freshness == Freshness::Stale || self.recipes.contains_key(key));
            }
            Event::Renewed { .. } => {
                assert_eq!(self.stage, Stage::Open, "none follows that is closed");
                self.session_over();
            }
            Event::Ended { end, .. } => {
                self.session_over();
                assert!(self.recipes.is_empty(), "{:?}", self.recipes);
                assert_eq!(self.told_end.unwrap_or(*end), *end);
                self.told_end = Some(*end);
                self.stage = Stage::Closing;
            }
            Event::Requested { .. }
            | Event::RolledBack(_)
            | Event::Connected { .. }
            | Event::ConnectFailed { .. }
            | Event::Disconnected { .. }
            | Event::LeaseLapsed => {}
        }
    }

    fn after(&self, event: &Event<Any, u32, u32>) -> Automaton {
        use Automaton::{AfterReadOnly, Apart, End, ReadOnly, Together};
        match (self.automaton, event) {
            // The host hands a recipe back that stands after the end.
            (End, Event::Over { .. }) => End,
            (End, event) => panic!("{event:?} after the end"),
            (_, Event::Ended { .. }) => End,
            (_, Event::Renewed { .. }) => Apart,
            (Apart | AfterReadOnly, Event::Connected { read_only: true, .. }) => ReadOnly,
            (Apart | AfterReadOnly, Event::Connected { read_only: false, .. }) => Together,
            (either @ (Apart | AfterReadOnly), Event::ConnectFailed { .. }) => either,
            (Together, Event::Disconnected { .. }) => Apart,
            (ReadOnly, Event::Disconnected { .. }) => AfterReadOnly,
            (
                either @ (Together | ReadOnly),
                Event::Fired { .. }
                | Event::Changed { .. }
                | Event::ChangesMissed { .. }
                | Event::RolledBack(_),
            ) => either,
            (Together, Event::HeartbeatRefused { .. }) => Together,
            (ReadOnly | AfterReadOnly, Event::Requested { .. }) => {
                panic!("a recipe stands by a server that is cut off")
            }
            (
                any,
                Event::Completed { .. }
                | Event::WatchLost { .. }
                | Event::LeaseLapsed
                | Event::Stepped(_)
                | Event::Over { .. }
                | Event::Requested { .. },
            ) => any,
            (state, event) => panic!("{event:?} in {state:?}"),
        }
    }

    fn answered(&mut self, tag: u32, failure: Option<&Failure>) {
        let Some(watch) = self.watches.get_mut(&tag) else { return };
        let (Watch::Asked(kind) | Watch::Set(kind)) = *watch;
        let no_node = failure == Some(&Failure::Refused(ErrorCode::NO_NODE));
        let left = match kind {
            Kind::Persistent | Kind::OneShot { left_on_no_node: true } => {
                failure.is_none() || no_node
            }
            Kind::OneShot { left_on_no_node: false } => failure.is_none(),
        };
        if left {
            *watch = Watch::Set(kind);
        } else {
            self.watches.remove(&tag);
        }
    }

    fn stepped(&mut self, step: Step<Told>, host: &Host, now: Now) {
        let announced = self.recipes.get_mut(&step.key).expect("it was not handed back");
        assert!(host.recipe(step.key).is_some() && host.view(step.key).is_some());
        match step.grant {
            Some(GrantChange::Announced { token, until }) => {
                assert_eq!(announced.replace(token), None);
                if now.freshness == Freshness::Fresh {
                    assert_eq!(self.stage, Stage::Open);
                    assert_eq!(self.automaton, Automaton::Together);
                    assert_eq!(host.lease_deadline(), Some(until));
                    assert!(until > now.now || now.clock == Clock::Wild);
                }
            }
            Some(GrantChange::Ended { token, .. }) => assert_eq!(announced.take(), Some(token)),
            Some(GrantChange::AwaitsLease(_)) => assert_eq!(*announced, None),
            None => {}
        }
    }

    fn session_over(&mut self) {
        assert!(self.unanswered.is_empty(), "{:?}", self.unanswered);
        assert!(self.watches.is_empty(), "{:?}", self.watches);
    }

    /// Checks that the host shows what it has told, once everything was taken out.
    pub(crate) fn check_view(&self, host: &Host) {
        for (key, announced) in &self.recipes {
            let (recipe, view) = (host.recipe(*key).expect("here"), host.view(*key).expect("here"));
            let shown = match view.grant {
                Grant::Announced { token } => Some(*token),
                _ => None,
            };
            assert_eq!(shown, *announced);
            if shown.is_some() {
                assert_eq!(self.stage, Stage::Open, "nothing is held by a host that closes");
                assert!(host.lease_deadline().is_some(), "nothing is held without a lease");
                assert_eq!(recipe.hold().token(), shown);
            }
            if let Grant::AwaitsLease { token, .. } = view.grant {
                assert_ne!(recipe.hold(), Hold::None);
                assert_eq!(recipe.hold().token(), Some(*token));
            }
            assert_eq!(view.end, None, "it was told");
        }
        let standing = host.recipes().filter(|(key, _)| !self.recipes.contains_key(key));
        assert_eq!(standing.count(), 0);
        let is_to_refuse = self.in_flight() >= crate::script::MOST_CALLS && !self.has_ended();
        assert_eq!(host.has_room(), !is_to_refuse);
    }

    /// Checks that a host that is over has nothing left to tell.
    pub(crate) fn check_end(&self) {
        assert!(self.has_ended());
        assert!(self.unanswered.is_empty() && self.watches.is_empty() && self.recipes.is_empty());
    }
}

/// The moment at which events are taken out.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    pub(crate) now: Instant,
    pub(crate) clock: Clock,
    pub(crate) freshness: Freshness,
}
