//! The law of persistent watches: such a watch reports each change once, in order, and before its
//! client can read that change. After a gap it reports nothing that was read before the gap. It is lost
//! only with its session.
//!
//! Servers count the changes of a znode: `version` counts those of its data, `cversion` those of its
//! list of children. So the law knows how many changes are to be reported between two reads. A change
//! that is reported while a read is under way may be in its answer or behind it. So each read gives
//! bounds for the count at the first reported change, and all reads up to a gap have to agree.

mod before;
mod tale;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};

use election_tokio::{
    Stat,
    watch::{EventType, WatchMode},
};

pub use self::before::Before;
use self::tale::{Aspect, Tale};

/// A change that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The znode.
    pub path: String,
    /// The change to the znode.
    pub kind: EventType,
    /// The transaction, if the server told.
    pub zxid: Option<i64>,
}

/// A znode that is there, as a read shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Znode {
    /// The transaction that created it.
    pub czxid: i64,
    /// How often its data was written, and the last transaction that did.
    pub data: Count,
    /// How often a child came or went, and the last transaction in which one did.
    pub children: Count,
}

/// How often something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// How often.
    pub changes: i32,
    /// The last transaction.
    pub zxid: i64,
}

impl From<Stat> for Znode {
    fn from(stat: Stat) -> Self {
        Self {
            czxid: stat.czxid.get(),
            data: Count { changes: stat.version.get(), zxid: stat.mzxid.get() },
            children: Count { changes: stat.cversion.get(), zxid: stat.pzxid.get() },
        }
    }
}

/// A note of a client beside its watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A change was told.
    Changed(Change),
    /// It was told that changes may be missing.
    ChangesMissed,
    /// A read was answered.
    Read {
        /// Of which znode.
        path: String,
        /// The znode that the read showed; `None` if it does not exist.
        seen: Option<Znode>,
        /// How many of the notes before this one were made after it was asked for.
        meanwhile: usize,
    },
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was taken down, all being quiet.
    Kept,
    /// It was reported lost.
    Lost {
        /// The session in which the next one was set, if there was another one.
        next: Option<i64>,
    },
}

/// One watch that stays, and what was told and read while it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The znode that is watched.
    pub path: String,
    /// It alone, or all below it too.
    pub mode: WatchMode,
    /// In which session; `None` if it changed meanwhile.
    pub session: Option<i64>,
    /// The changes and the reads, in order.
    pub notes: Vec<Note>,
    /// How it ended.
    pub ending: Ending,
}

/// How a watch broke the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// A read shows something else than what was told before it.
    #[error("a change was read that had not been told")]
    Untold,
    /// More was told than happened, or what a read before the gap showed already.
    #[error("a change was told that was not, or not again")]
    Spurious,
    /// The server reported a later change earlier, or one change twice.
    #[error("changes were told in another order")]
    OutOfOrder,
    /// An event that is not its own.
    #[error("told of what is not watched")]
    NotWatched,
    /// It was lost although its session lives.
    #[error("lost in a session that lives")]
    Lost,
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{breach}: View of {about} by {mode:?} on {path} in session {session:x?}: {notes:?}; {before}"
)]
pub struct Violation {
    /// How.
    pub breach: Breach,
    /// Which znode it is about.
    pub about: String,
    /// The znode that is watched.
    pub path: String,
    /// It alone, or all below it too.
    pub mode: WatchMode,
    /// In which session.
    pub session: Option<i64>,
    /// The notes between two gaps, around the breach.
    pub notes: Vec<Note>,
    /// The last read of it before the gap.
    pub before: Box<Before>,
}

/// Holds what each watch told against the reads beside it.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check(views: &[View]) -> Result<(), Violation> {
    views.iter().try_for_each(View::check)
}

impl View {
    fn check(&self) -> Result<(), Violation> {
        let lives = self.session.is_some() && self.ending == Ending::Lost { next: self.session };
        if lives {
            return Err(self.violation(Breach::Lost, &self.path, &[], Before::NotRead));
        }
        let mut seen_before = BTreeMap::new();
        let mut last_read: BTreeMap<&str, Before> = BTreeMap::new();
        for span in self.notes.split(|note| *note == Note::ChangesMissed) {
            let foreign = changes(span).find(|change| !self.awaits(change));
            if let Some(change) = foreign {
                let before = last_read.get(change.path.as_str()).copied();
                let before = before.unwrap_or(Before::NotRead);
                return Err(self.violation(Breach::NotWatched, &change.path, span, before));
            }
            for path in span.iter().filter_map(Note::read_of).collect::<BTreeSet<_>>() {
                for aspect in Aspect::ALL {
                    let concerns = |change: &Change| self.concerns(change, aspect, path);
                    let tale = Tale::of(aspect, span, path, concerns);
                    let before = seen_before.entry((path, aspect)).or_insert(i32::MIN);
                    if let Some(breach) = tale.breach(before) {
                        let before = last_read.get(path).copied().unwrap_or(Before::NotRead);
                        return Err(self.violation(breach, path, span, before));
                    }
                }
            }
            for note in span {
                if let Note::Read { path, seen, .. } = note {
                    last_read.insert(path, Before::from(*seen));
                }
            }
        }
        Ok(())
    }

    fn violation(&self, breach: Breach, about: &str, span: &[Note], before: Before) -> Violation {
        let (path, mode, session) = (self.path.clone(), self.mode, self.session);
        let (about, notes, before) = (about.to_owned(), span.to_vec(), Box::new(before));
        Violation { breach, about, path, mode, session, notes, before }
    }

    fn awaits(&self, change: &Change) -> bool {
        let itself = change.path == self.path;
        match self.mode {
            WatchMode::Persistent => itself,
            WatchMode::PersistentRecursive => {
                let below = change.path.strip_prefix(&self.path);
                let within = itself || below.is_some_and(|below| below.starts_with('/'));
                within && change.kind != EventType::NODE_CHILDREN_CHANGED
            }
        }
    }

    /// Whether a change is one of this aspect of this znode.
    fn concerns(&self, change: &Change, aspect: Aspect, path: &str) -> bool {
        let came_or_went = matches!(change.kind, EventType::NODE_CREATED | EventType::NODE_DELETED);
        let itself = change.path == path;
        match (aspect, self.mode) {
            (Aspect::Data, _) => itself && change.kind == EventType::NODE_DATA_CHANGED,
            (Aspect::Existence, _) => itself && came_or_went,
            (Aspect::Children, WatchMode::Persistent) => {
                itself && change.kind == EventType::NODE_CHILDREN_CHANGED
            }
            (Aspect::Children, WatchMode::PersistentRecursive) => {
                let parent = change.path.rsplit_once('/').map(|(parent, _)| parent);
                came_or_went && parent == Some(path)
            }
        }
    }
}

impl Note {
    fn read_of(&self) -> Option<&str> {
        match self {
            Self::Read { path, .. } => Some(path),
            Self::Changed(_) | Self::ChangesMissed => None,
        }
    }
}

fn changes(span: &[Note]) -> impl Iterator<Item = &Change> {
    span.iter().filter_map(|note| match note {
        Note::Changed(change) => Some(change),
        Note::ChangesMissed | Note::Read { .. } => None,
    })
}
