//! A watch that stays tells each change of what it watches once, in order, and before its client can
//! read that change; after a gap, nothing that was read before it. It is lost with its session only.
//!
//! Servers count the changes of a znode: `version` those of its data, `cversion` those of its list
//! of children. So it is known how many changes are to be told between two reads. A change that is
//! told while a read is under way may be in its answer or behind it: each read leaves bounds for what
//! the count was when the first change was told, and all reads up to a gap have to agree.

mod before;
mod tale;

use alloc::collections::{BTreeMap, BTreeSet};

use election_tokio::{EventType, Stat, WatchMode};

pub use self::before::Before;
use self::tale::{Aspect, Tale};

/// A change that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The znode.
    pub path: String,
    /// What happened to it.
    pub kind: EventType,
    /// The transaction, if the server told.
    pub zxid: Option<i64>,
}

/// What a read shows of a znode that is there.
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

/// What a client noted down beside its watch.
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
        /// What it showed; `None` if there is none.
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
    /// What was told and read, in order.
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
    /// What was told later happened earlier, or one change was told twice.
    #[error("changes were told in another order")]
    OutOfOrder,
    /// An event that is not its own.
    #[error("told of what is not watched")]
    NotWatched,
    /// It was lost although its session lives.
    #[error("lost in a session that lives")]
    Lost,
}

/// What must never be seen.
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
    /// What was noted between two gaps, around the breach.
    pub notes: Vec<Note>,
    /// What was read of it last before the gap.
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

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: EventType = EventType::NODE_CREATED;
    const DELETED: EventType = EventType::NODE_DELETED;
    const WRITTEN: EventType = EventType::NODE_DATA_CHANGED;

    fn told(path: &str, kind: EventType, zxid: impl Into<Option<i64>>) -> Note {
        Note::Changed(Change { path: path.to_owned(), kind, zxid: zxid.into() })
    }

    const NOTHING: Option<Znode> = None;

    fn read(seen: impl Into<Option<Znode>>, meanwhile: usize) -> Note {
        Note::Read { path: "/a".to_owned(), seen: seen.into(), meanwhile }
    }

    /// Written that often, the last time by that transaction.
    fn written(changes: i32, zxid: i64) -> Znode {
        let children = Count { changes: 0, zxid: 1 };
        Znode { czxid: 1, data: Count { changes, zxid }, children }
    }

    fn came(czxid: i64) -> Znode {
        let count = Count { changes: 0, zxid: czxid };
        Znode { czxid, data: count, children: count }
    }

    /// A znode that had that many children come and go.
    fn parent(changes: i32, zxid: i64) -> Znode {
        let data = Count { changes: 0, zxid: 1 };
        Znode { czxid: 1, data, children: Count { changes, zxid } }
    }

    fn view(mode: WatchMode, notes: &[Note]) -> View {
        let (path, notes) = ("/a".to_owned(), notes.to_vec());
        View { path, mode, session: Some(1), notes, ending: Ending::Kept }
    }

    fn breach_by(mode: WatchMode, notes: &[Note]) -> Option<Breach> {
        check(&[view(mode, notes)]).err().map(|violation| violation.breach)
    }

    fn breach(notes: &[Note]) -> Option<Breach> {
        breach_by(WatchMode::Persistent, notes)
    }

    #[test]
    fn changes_that_are_told_once_are_fine() {
        let notes = [
            read(written(3, 30), 0),
            told("/a", WRITTEN, 40),
            read(written(4, 40), 0),
            // One before the read was answered and not yet in it, one behind the answer.
            told("/a", WRITTEN, 50),
            told("/a", WRITTEN, None),
            read(written(5, 50), 2),
            read(written(6, 60), 0),
            Note::ChangesMissed,
            told("/a", WRITTEN, 90),
            read(written(9, 90), 1),
        ];
        assert_eq!(breach(&notes), None);
    }

    #[test]
    fn a_change_that_is_not_told_is_found() {
        let notes = [read(written(3, 30), 0), read(written(4, 40), 0)];
        assert_eq!(breach(&notes), Some(Breach::Untold));
        let notes = [read(written(3, 30), 0), told("/a", WRITTEN, None), read(written(5, 50), 0)];
        assert_eq!(breach(&notes), Some(Breach::Untold));
    }

    #[test]
    fn a_change_that_is_read_before_it_is_told_is_found() {
        let notes = [read(written(3, 30), 0), read(written(4, 40), 0), told("/a", WRITTEN, 40)];
        assert_eq!(breach(&notes), Some(Breach::Untold));
        // The first read after the watch was set, too, where transactions are told.
        let notes = [read(written(3, 30), 0), told("/a", WRITTEN, 30)];
        assert_eq!(breach(&notes), Some(Breach::Untold));
    }

    #[test]
    fn a_change_that_is_told_twice_is_found() {
        let once = told("/a", WRITTEN, None);
        let notes = [read(written(3, 30), 0), once.clone(), once, read(written(4, 40), 0)];
        assert_eq!(breach(&notes), Some(Breach::Spurious));
        let again = told("/a", WRITTEN, 40);
        assert_eq!(breach(&[again.clone(), again, read(NOTHING, 0)]), Some(Breach::OutOfOrder));
    }

    #[test]
    fn a_change_that_is_not_there_to_be_read_is_found() {
        let notes = [told("/a", WRITTEN, 40), read(written(3, 30), 0)];
        assert_eq!(breach(&notes), Some(Breach::Spurious));
    }

    #[test]
    fn what_was_read_before_a_gap_and_is_told_after_it_is_found() {
        let notes = [
            read(written(3, 30), 0),
            Note::ChangesMissed,
            told("/a", WRITTEN, None),
            read(written(3, 30), 0),
        ];
        assert_eq!(breach(&notes), Some(Breach::Spurious));
    }

    #[test]
    fn what_was_read_before_the_gap_is_shown_with_its_epoch() {
        let notes = [
            read(written(9, 0x3_0000_0005), 0),
            Note::ChangesMissed,
            read(written(7, 0x2_0000_0004), 0),
        ];
        let violation =
            check(&[view(WatchMode::Persistent, &notes)]).expect_err("the count went back");
        assert_eq!(violation.breach, Breach::Spurious);
        let text = violation.to_string();
        assert!(text.contains("before the gap"), "{text}");
        assert!(text.contains("data 9 by 0x300000005 (epoch 3)"), "{text}");
        let notes = [read(written(9, 5), 0), read(written(7, 4), 0)];
        let violation =
            check(&[view(WatchMode::Persistent, &notes)]).expect_err("the count went back");
        assert!(violation.to_string().ends_with("not read before a gap"), "{violation}");
    }

    #[test]
    fn a_gap_that_is_not_reported_is_found_and_one_that_is_is_none() {
        let before = [told("/a", WRITTEN, 30), read(written(3, 30), 0)];
        let after = [told("/a", WRITTEN, 60), read(written(6, 60), 0)];
        assert_eq!(breach(&[&before[..], &after[..]].concat()), Some(Breach::Untold));
        let gap = [Note::ChangesMissed];
        assert_eq!(breach(&[&before[..], &gap[..], &after[..]].concat()), None);
        // A read that was asked for before the gap tells nothing about what is behind it.
        let late = [read(written(5, 50), 1)];
        assert_eq!(breach(&[&before[..], &gap[..], &late[..], &after[..]].concat()), None);
    }

    #[test]
    fn the_children_of_a_tree_are_counted() {
        let tree = WatchMode::PersistentRecursive;
        let mut notes = vec![
            read(parent(0, 1), 0),
            told("/a/b", CREATED, 10),
            told("/a/b", DELETED, 20),
            told("/a/c/d", CREATED, 25),
            read(parent(2, 20), 0),
        ];
        assert_eq!(breach_by(tree, &notes), None);
        notes.remove(2);
        assert_eq!(breach_by(tree, &notes), Some(Breach::Untold));
        let notes = [
            read(parent(0, 1), 0),
            told("/a", EventType::NODE_CHILDREN_CHANGED, 10),
            read(parent(1, 10), 0),
        ];
        assert_eq!(breach(&notes), None);
    }

    #[test]
    fn what_comes_and_goes_does_so_in_turn() {
        let (created, deleted) = (told("/a", CREATED, None), told("/a", DELETED, None));
        let fine =
            [read(NOTHING, 0), created.clone(), read(came(10), 0), deleted, read(NOTHING, 0)];
        assert_eq!(breach(&fine), None);
        assert_eq!(breach(&[read(NOTHING, 0), read(came(10), 0)]), Some(Breach::Untold));
        assert_eq!(breach(&[created.clone(), read(NOTHING, 0)]), Some(Breach::Untold));
        let twice = [created.clone(), created, read(came(10), 0)];
        assert_eq!(breach(&twice), Some(Breach::OutOfOrder));
        // Another one of that name.
        assert_eq!(breach(&[read(came(10), 0), read(came(30), 0)]), Some(Breach::Untold));
    }

    #[test]
    fn an_event_of_another_watch_is_found() {
        let notes = [told("/ab", WRITTEN, 10)];
        assert_eq!(breach(&notes), Some(Breach::NotWatched));
        assert_eq!(breach_by(WatchMode::PersistentRecursive, &notes), Some(Breach::NotWatched));
    }

    #[test]
    fn a_watch_is_lost_with_its_session_only() {
        let mut lost = view(WatchMode::Persistent, &[]);
        lost.ending = Ending::Lost { next: Some(1) };
        assert_eq!(check(&[lost.clone()]).map_err(|lost| lost.breach), Err(Breach::Lost));
        for next in [Some(2), None] {
            lost.ending = Ending::Lost { next };
            assert_eq!(check(&[lost.clone()]), Ok(()));
        }
    }
}
