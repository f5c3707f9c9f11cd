//! The guarantees to a caller as long as no byte is falsified: the session answers each request
//! once and in order; it loses no watch event, and reports none twice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use zk_embedded::{Database, Znode};
use zk_jute::records::EventType;
use zk_jute::{ErrorCode, Zxid};
use zk_session::{Completion, Event, Failure, WatchId, WatchMode, Watching};

/// The requests and the reports so far.
#[derive(Default)]
pub(crate) struct Laws {
    last_tag: u32,
    unanswered: VecDeque<u32>,
    watches: BTreeMap<u32, Watch>,
}

struct Watch {
    id: WatchId,
    path: String,
    stage: Stage,
}

enum Stage {
    Asked(Kind),
    /// A one-shot watch, with what its read has found.
    Waiting(Read, Found),
    Persistent(WatchMode, Told),
    Over,
}

#[derive(Clone, Copy)]
enum Kind {
    OneShot(Read),
    Persistent(WatchMode),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Exists,
    Data,
    Children,
}

enum Found {
    Missing,
    At(Zxid),
}

/// The reports of a persistent watch.
struct Told {
    /// Every change up to this one.
    up_to: Zxid,
    /// The last thing that happened to the znode itself, if it is known.
    last: Option<EventType>,
    changes: BTreeSet<(String, i32, Zxid)>,
}

impl Laws {
    pub(crate) fn next_tag(&mut self) -> u32 {
        self.last_tag += 1;
        self.last_tag
    }

    pub(crate) fn submitted(&mut self, tag: u32) {
        self.unanswered.push_back(tag);
    }

    pub(crate) fn watches(&mut self, tag: u32, id: WatchId, read: Watching<'_>) {
        let (read, path) = match read {
            Watching::Exists(path) => (Read::Exists, path),
            Watching::GetData(path) => (Read::Data, path),
            Watching::GetChildren(path) => (Read::Children, path),
        };
        self.asked(tag, id, path, Kind::OneShot(read));
    }

    pub(crate) fn watches_persistently(
        &mut self,
        tag: u32,
        id: WatchId,
        (path, mode): (&str, WatchMode),
    ) {
        self.asked(tag, id, path, Kind::Persistent(mode));
    }

    fn asked(&mut self, tag: u32, id: WatchId, path: &str, kind: Kind) {
        self.submitted(tag);
        self.watches.insert(tag, Watch { id, path: path.into(), stage: Stage::Asked(kind) });
    }

    /// Takes out a watch: it is to report nothing any more.
    pub(crate) fn forgotten(&mut self, nth: u8) -> Option<WatchId> {
        let nth = usize::from(nth) % self.watches.len().max(1);
        let watch = self.watches.values_mut().nth(nth)?;
        watch.stage = Stage::Over;
        Some(watch.id)
    }

    pub(crate) fn all_are_answered(&self) -> bool {
        self.unanswered.is_empty()
    }

    /// Checks an event, when the session has seen everything up to `seen`.
    pub(crate) fn follow(&mut self, event: &Event<u32, u32>, seen: Zxid) {
        match event {
            Event::Completed { tag, outcome } => {
                assert_eq!(self.unanswered.pop_front(), Some(*tag), "once, and in order");
                self.answered(*tag, outcome, seen);
            }
            Event::Fired { watcher, .. } => {
                let stage = self.replace(*watcher, Stage::Over);
                assert!(matches!(stage, Stage::Waiting(..)), "{event:?}: fires once");
            }
            Event::WatchLost { watcher } => {
                let stage = self.replace(*watcher, Stage::Over);
                assert!(matches!(stage, Stage::Waiting(..) | Stage::Persistent(..)), "{event:?}");
            }
            Event::Changed { watcher, path, kind, zxid } => {
                let (at, told) = self.persistent(*watcher, event);
                let is_news = told.changes.insert((path.to_string(), kind.get(), *zxid));
                assert!(is_news || *zxid < Zxid::ZERO, "{event:?} is told twice");
                told.up_to = told.up_to.max(*zxid);
                if at == &**path {
                    told.last = Some(*kind);
                }
            }
            Event::ChangesMissed { watcher } => {
                let (_, told) = self.persistent(*watcher, event);
                told.up_to = told.up_to.max(seen);
                told.last = None;
            }
            _ => {}
        }
    }

    fn replace(&mut self, watcher: u32, stage: Stage) -> Stage {
        let watch = self.watches.get_mut(&watcher).expect("asked for");
        core::mem::replace(&mut watch.stage, stage)
    }

    fn persistent(&mut self, watcher: u32, event: &Event<u32, u32>) -> (&str, &mut Told) {
        match self.watches.get_mut(&watcher) {
            Some(Watch { path, stage: Stage::Persistent(_, told), .. }) => (path, told),
            _ => panic!("{event:?}: only while it is set"),
        }
    }

    fn answered(&mut self, tag: u32, outcome: &Result<Completion, Failure>, seen: Zxid) {
        let Some(watch) = self.watches.get_mut(&tag) else { return };
        let Stage::Asked(kind) = watch.stage else { return };
        let no_node = Err(Failure::Refused(ErrorCode::NO_NODE));
        watch.stage = match (kind, outcome) {
            (Kind::OneShot(read), Ok(read_at)) => Stage::Waiting(read, Found::At(read_at.zxid)),
            (Kind::OneShot(Read::Exists), failure) if *failure == no_node => {
                Stage::Waiting(Read::Exists, Found::Missing)
            }
            (Kind::Persistent(mode), outcome) if outcome.is_ok() || *outcome == no_node => {
                let up_to = outcome.as_ref().map_or(seen, |completion| completion.zxid);
                Stage::Persistent(mode, Told { up_to, last: None, changes: BTreeSet::new() })
            }
            _ => Stage::Over,
        };
    }

    /// Checks, once nothing is on its way any more, that no watch waits for a change that has
    /// happened.
    pub(crate) fn check_at_rest(&self, database: &Database) {
        for (watcher, Watch { path, stage, .. }) in &self.watches {
            match stage {
                Stage::Waiting(read, found) => {
                    let lost = has_changed(*read, found, database.znode(path));
                    assert!(!lost, "watch {watcher} on {path} has missed a change");
                }
                Stage::Persistent(mode, told) => {
                    let up_to = told.up_to;
                    let changed = last_change(database, path, *mode);
                    assert!(changed <= up_to, "watch {watcher} on {path} misses {changed:?}");
                    let gone = database.znode(path).is_none();
                    let knows = matches!(told.last, None | Some(EventType::NODE_DELETED));
                    assert!(knows || !gone, "watch {watcher} on {path} misses its deletion");
                }
                Stage::Asked(_) | Stage::Over => {}
            }
        }
    }
}

fn has_changed(read: Read, found: &Found, znode: Option<&Znode>) -> bool {
    match (found, znode.map(Znode::stat)) {
        (Found::Missing, stat) => stat.is_some(),
        (Found::At(_), None) => true,
        (Found::At(at), Some(stat)) if read == Read::Children => stat.czxid.max(stat.pzxid) > *at,
        (Found::At(at), Some(stat)) => stat.czxid.max(stat.mzxid) > *at,
    }
}

/// Returns the last transaction that a persistent watch sees in the present state.
fn last_change(database: &Database, path: &str, mode: WatchMode) -> Zxid {
    let prefix = if path == "/" { "/".into() } else { format!("{path}/") };
    let is_seen = |other: &str| match mode {
        WatchMode::Persistent => other == path,
        WatchMode::PersistentRecursive => other == path || other.starts_with(&prefix),
    };
    let seen = database.znodes().filter(|(path, _)| is_seen(path));
    let changes = seen.map(|(_, znode)| {
        let stat = znode.stat();
        stat.czxid.max(stat.mzxid).max(stat.pzxid)
    });
    changes.max().unwrap_or(Zxid::ZERO)
}
