//! Compares the behaviour of a host of recipes with its duties to its caller.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use election_session::{RecipeEnd, RecipeKey};
use zk_jute::ErrorCode;
use zk_session::{Failure, SessionEnd};

use super::Broken;
use crate::client::CallId;
use crate::outcome::Law;

/// An entry of the exchange between a host and its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A call was submitted, to leave this watch, if any; the watch is called as the call is.
    Submitted(CallId, Option<WatchKind>),
    /// A call was refused for want of room.
    NoRoom,
    Completed(CallId, Result<(), Failure>),
    /// A one-shot watch has fired.
    Fired(CallId),
    /// A persistent watch has told of a change, or of a gap.
    Told(CallId),
    Lost(CallId),
    /// The caller forgets a watch, perhaps of an earlier session.
    Forgotten(CallId),
    Stood(RecipeKey),
    Stepped(RecipeKey),
    /// A recipe took a step and cannot be looked at.
    Hidden(RecipeKey),
    /// A grant was announced.
    Announced(RecipeKey),
    Over(RecipeKey, RecipeEnd),
    /// A request of a recipe has its outcome.
    Requested,
    Connected(ServerKind),
    Disconnected,
    /// The caller closes, abandons or hands over the session.
    Closing,
    /// Another session begins.
    Renewed,
    Ended(SessionEnd),
}

/// The watch that a call leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchKind {
    /// Once; an `exists` leaves it where there is no znode, too.
    Exists,
    /// Once.
    Read,
    Persistent,
}

/// The server of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    TakesWrites,
    ReadOnly,
}

/// The duties of one host, from its first session to its end.
#[derive(Debug)]
pub(crate) struct Contract {
    stage: Stage,
    /// The server of the last connection, also once that is lost: what was asked of it is answered
    /// behind the loss.
    server: ServerKind,
    /// How many calls may be in flight.
    most: usize,
    /// In the order of submission.
    unanswered: VecDeque<CallId>,
    /// The watches of this session that are not over.
    watches: BTreeMap<CallId, Watch>,
    recipes: BTreeSet<RecipeKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Closing,
    Ended(SessionEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Asked(WatchKind),
    Set(WatchKind),
}

impl Contract {
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            stage: Stage::Open,
            server: ServerKind::TakesWrites,
            most,
            unanswered: VecDeque::new(),
            watches: BTreeMap::new(),
            recipes: BTreeSet::new(),
        }
    }

    /// Watches that a server may keep.
    pub(crate) fn watches(&self) -> usize {
        self.watches.len()
    }

    /// Checks a host to which nothing is on its way any more.
    pub(crate) fn check_at_rest(&self) -> Result<(), Broken> {
        match self.unanswered.front() {
            Some(call) => Err((Law::CallsComplete, format!("{call:?} has no end"))),
            None => Ok(()),
        }
    }

    /// Checks that the host is over.
    pub(crate) fn check_over(&self) -> Result<(), Broken> {
        match self.stage {
            Stage::Ended(_) => Ok(()),
            stage => Err((Law::EndedLast, format!("no end, but {stage:?}"))),
        }
    }

    pub(crate) fn take_in(&mut self, entry: Entry) -> Result<(), Broken> {
        self.check_stage(entry)?;
        match entry {
            Entry::Submitted(call, watch) => self.submitted(call, watch),
            Entry::NoRoom if self.unanswered.len() < self.most.max(1) => {
                let detail = format!("refused behind {} of {}", self.unanswered.len(), self.most);
                Err((Law::CallsBounded, detail))
            }
            Entry::Completed(call, outcome) => self.completed(call, outcome),
            Entry::Fired(_) | Entry::Told(_) | Entry::Lost(_) => self.told(entry),
            Entry::Forgotten(watch) => {
                self.watches.remove(&watch);
                Ok(())
            }
            Entry::Stood(key) => {
                self.recipes.insert(key);
                Ok(())
            }
            Entry::Stepped(_) | Entry::Hidden(_) | Entry::Announced(_) | Entry::Over(..) => {
                self.recipe(entry)
            }
            Entry::Requested if self.server == ServerKind::ReadOnly => {
                Err((Law::NothingByReadOnly, "it has asked".to_owned()))
            }
            Entry::Connected(server) => {
                self.server = server;
                Ok(())
            }
            Entry::Closing => {
                if self.stage == Stage::Open {
                    self.stage = Stage::Closing;
                }
                Ok(())
            }
            Entry::Renewed => self.session_over(),
            Entry::Ended(end) => self.ended(end),
            Entry::NoRoom | Entry::Requested | Entry::Disconnected => Ok(()),
        }
    }

    /// Checks that the entry may come at this stage.
    fn check_stage(&self, entry: Entry) -> Result<(), Broken> {
        let may_happen = match (self.stage, entry) {
            // Sessions that expire are followed by others.
            (Stage::Open, entry) => !matches!(entry, Entry::Ended(_)),
            (Stage::Closing, entry) => {
                !matches!(entry, Entry::Announced(_) | Entry::Renewed | Entry::Submitted(..))
            }
            // Closing what is over changes nothing.
            (Stage::Ended(_), entry) => matches!(entry, Entry::Closing | Entry::Forgotten(_)),
        };
        if may_happen {
            return Ok(());
        }
        Err((Law::EndedLast, format!("{entry:?} at the stage {:?}", self.stage)))
    }

    fn submitted(&mut self, call: CallId, watch: Option<WatchKind>) -> Result<(), Broken> {
        if self.unanswered.len() >= self.most.max(1) {
            let detail = format!("taken behind {} of {}", self.unanswered.len(), self.most);
            return Err((Law::CallsBounded, detail));
        }
        self.unanswered.push_back(call);
        self.watches.extend(watch.map(|kind| (call, Watch::Asked(kind))));
        Ok(())
    }

    fn completed(&mut self, call: CallId, outcome: Result<(), Failure>) -> Result<(), Broken> {
        let due = self.unanswered.pop_front();
        if due != Some(call) {
            return Err((Law::CallsComplete, format!("{call:?} where {due:?} was due")));
        }
        if let Some(watch) = self.watches.get_mut(&call) {
            let (Watch::Asked(kind) | Watch::Set(kind)) = *watch;
            match (outcome, kind) {
                (Ok(()), _)
                | (
                    Err(Failure::Refused(ErrorCode::NO_NODE)),
                    WatchKind::Exists | WatchKind::Persistent,
                ) => *watch = Watch::Set(kind),
                (Err(_), _) => drop(self.watches.remove(&call)),
            }
        }
        Ok(())
    }

    fn told(&mut self, entry: Entry) -> Result<(), Broken> {
        let (Entry::Fired(watch) | Entry::Told(watch) | Entry::Lost(watch)) = entry else {
            return Ok(());
        };
        match (entry, self.watches.get(&watch)) {
            (Entry::Told(_), Some(Watch::Set(WatchKind::Persistent))) => Ok(()),
            (Entry::Fired(_), Some(Watch::Set(WatchKind::Exists | WatchKind::Read)))
            | (Entry::Lost(_), Some(Watch::Set(_))) => {
                self.watches.remove(&watch);
                Ok(())
            }
            (_, known) => Err((Law::WatchesTold, format!("{entry:?} of {known:?}"))),
        }
    }

    fn recipe(&mut self, entry: Entry) -> Result<(), Broken> {
        let broken = |law| Err((law, format!("{entry:?}")));
        match entry {
            Entry::Announced(_) if self.server == ServerKind::ReadOnly => {
                broken(Law::NothingByReadOnly)
            }
            Entry::Stepped(key) | Entry::Announced(key) if self.recipes.contains(&key) => Ok(()),
            // The end of the host comes behind those of its recipes, and is asked for.
            Entry::Over(key, end) if end == RecipeEnd::Finished || self.stage == Stage::Closing => {
                if self.recipes.remove(&key) {
                    Ok(())
                } else {
                    broken(Law::RecipesReturned)
                }
            }
            _ => broken(Law::RecipesReturned),
        }
    }

    /// Checks, when the session is over, that the host has reported the end of everything that
    /// rested on it.
    fn session_over(&self) -> Result<(), Broken> {
        if let Some((watch, state)) = self.watches.first_key_value() {
            return Err((Law::WatchesTold, format!("{watch:?}, {state:?}, has no end")));
        }
        self.check_at_rest()
    }

    fn ended(&mut self, end: SessionEnd) -> Result<(), Broken> {
        self.session_over()?;
        if let Some(key) = self.recipes.first() {
            return Err((Law::RecipesReturned, format!("{key:?} has no end, but {end}")));
        }
        self.stage = Stage::Ended(end);
        Ok(())
    }
}
