//! Watches: who waits for what, what the server holds, and setting it again after a reconnect.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::ErrorCode;
use zk_jute::records::AddWatchMode;

mod batch;
mod firing;
mod kind;

pub(crate) use batch::Batch;
pub(crate) use firing::Told;
pub(crate) use kind::{Held, Kind, WatchedBy};

/// Names a watch of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(u64);

/// How far a persistent watch sees (since ZooKeeper 3.6.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchMode {
    /// The znode and the list of its children.
    Persistent,
    /// The znode and everything below it: creations, deletions and data, but no lists of children.
    PersistentRecursive,
}

impl WatchMode {
    pub(crate) const fn wire(self) -> AddWatchMode {
        match self {
            Self::Persistent => AddWatchMode::PERSISTENT,
            Self::PersistentRecursive => AddWatchMode::PERSISTENT_RECURSIVE,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::Persistent => Kind::Persistent,
            Self::PersistentRecursive => Kind::Recursive,
        }
    }
}

/// Where the events of a one-shot watch come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The server is asked for a watch.
    Own,
    /// A persistent watch of this session on the same path sees all that the one-shot one would.
    /// Asking for it too would end the persistent one on servers before 3.9 (C-51, protocol
    /// section 7.3).
    Shared,
}

/// What the answer to the request for a watch makes of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered<W> {
    Noted,
    /// The read succeeded, but what was to stand for its watch does not.
    Lost(W),
}

/// All watches of a session.
///
/// The server keeps one watch for each path and kind and sends one notification; the fan-out to
/// several watchers happens here. A one-shot watch leaves this table when its event is delivered,
/// not when it is set again, so that no sequence of reconnects loses it. What the server still
/// holds at a path that nobody watches any more is taken down (C-47).
#[derive(Debug)]
pub(crate) struct Watches<W> {
    last_id: u64,
    by_id: BTreeMap<WatchId, Watch<W>>,
    by_path: BTreeMap<Arc<str>, AtPath>,
    /// Paths whose watches the server is to forget.
    unwanted: Vec<Arc<str>>,
    /// Where the last event stood for a change of a list of children as well: the server may
    /// report that change itself, as the next event.
    derived: Option<Arc<str>>,
}

#[derive(Debug)]
struct Watch<W> {
    path: Arc<str>,
    stage: Stage<W>,
}

#[derive(Debug)]
enum Stage<W> {
    Asked(W, WatchedBy, Source),
    /// Nobody wants it any more, but its request is on its way.
    Forgotten(WatchedBy, Source),
    Set(W, Kind),
    /// A persistent one whose connection was lost: it may have missed something.
    Interrupted(W, Kind),
}

#[derive(Debug, Default)]
struct AtPath {
    /// All watches on this path, those that are only asked for included.
    ids: Vec<WatchId>,
    held: Held,
}

impl<W> Stage<W> {
    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Set(_, kind) | Self::Interrupted(_, kind) => Some(*kind),
            Self::Asked(..) | Self::Forgotten(..) => None,
        }
    }

    fn asked_by(&self) -> Option<WatchedBy> {
        match self {
            Self::Asked(_, by, _) | Self::Forgotten(by, _) => Some(*by),
            Self::Set(..) | Self::Interrupted(..) => None,
        }
    }

    fn asked_of_server(&self) -> Option<WatchedBy> {
        match self {
            Self::Asked(_, by, Source::Own) | Self::Forgotten(by, Source::Own) => Some(*by),
            _ => None,
        }
    }

    /// What the server will hold for it that it may not hold yet.
    fn will_be_held(&self) -> Option<Held> {
        match self {
            Self::Interrupted(_, kind) => Some(kind.held()),
            _ => self.asked_of_server().and_then(|by| Some(by.held(by.leaves(ErrorCode::OK)?))),
        }
    }

    fn watcher(self) -> Option<W> {
        match self {
            Self::Asked(watcher, ..) | Self::Set(watcher, _) | Self::Interrupted(watcher, _) => {
                Some(watcher)
            }
            Self::Forgotten(..) => None,
        }
    }
}

impl<W: Clone> Watches<W> {
    pub(crate) const fn new() -> Self {
        Self {
            last_id: 0,
            by_id: BTreeMap::new(),
            by_path: BTreeMap::new(),
            unwanted: Vec::new(),
            derived: None,
        }
    }

    /// Notes a watch whose request is about to be sent, and tells where its events will come from.
    pub(crate) fn ask(&mut self, path: &str, watcher: W, by: WatchedBy) -> (WatchId, Source) {
        self.last_id += 1;
        let id = WatchId(self.last_id);
        let source = if self.expected(path).covers(by) { Source::Shared } else { Source::Own };
        let path = match self.by_path.get_key_value(path) {
            Some((shared, _)) => Arc::clone(shared),
            None => Arc::from(path),
        };
        self.by_path.entry(Arc::clone(&path)).or_default().ids.push(id);
        self.by_id.insert(id, Watch { path, stage: Stage::Asked(watcher, by, source) });
        (id, source)
    }

    /// The mode to ask the server for. One watch for each path is all that servers before 3.9 keep,
    /// and the last one counts: a recursive one is not to be replaced (C-51). What it does not see,
    /// that the list of children changed, follows from what it sees.
    pub(crate) fn wire_mode(&self, path: &str, mode: WatchMode) -> WatchMode {
        if self.expected(path).is_recursive() { WatchMode::PersistentRecursive } else { mode }
    }

    /// What the server holds at a path once it has answered, and, if there is no connection, the
    /// persistent watches are set again: that comes first on the next one.
    fn expected(&self, path: &str) -> Held {
        let Some(at) = self.by_path.get(path) else {
            return Held::NOTHING;
        };
        let stages = at.ids.iter().filter_map(|id| Some(&self.by_id.get(id)?.stage));
        stages.filter_map(Stage::will_be_held).fold(at.held, Held::with)
    }

    /// The request for the watch was answered.
    pub(crate) fn answer(&mut self, id: WatchId, reply: ErrorCode) -> Answered<W> {
        let Some(Watch { path, stage }) = self.by_id.get_mut(&id) else {
            return Answered::Noted;
        };
        let (Some(by), Some(at)) = (stage.asked_by(), self.by_path.get_mut(path)) else {
            return Answered::Noted;
        };
        let left = by.leaves(reply);
        if let (Some(kind), Some(by)) = (left, stage.asked_of_server()) {
            at.held = at.held.with(by.held(kind));
        }
        match (left, &*stage) {
            (Some(kind), Stage::Asked(watcher, _, source))
                if *source == Source::Own || at.held.covers(by) =>
            {
                *stage = Stage::Set(watcher.clone(), kind);
                Answered::Noted
            }
            (Some(_), _) => self.remove(id).map_or(Answered::Noted, Answered::Lost),
            (None, _) => {
                self.remove(id);
                Answered::Noted
            }
        }
    }

    /// The request for the watch will not be answered.
    pub(crate) fn unanswered(&mut self, id: WatchId) {
        self.remove(id);
    }

    /// Nobody wants to know any more.
    pub(crate) fn forget(&mut self, id: WatchId) {
        match self.by_id.get_mut(&id) {
            Some(Watch { stage, .. }) if stage.asked_by().is_some() => {
                if let Stage::Asked(_, by, source) = *stage {
                    *stage = Stage::Forgotten(by, source);
                }
            }
            Some(_) => {
                self.remove(id);
            }
            None => {}
        }
    }

    /// Nobody wants to know any more, and the znode is about to be deleted, which ends the watch on
    /// the server without a request.
    pub(crate) fn disregard(&mut self, id: WatchId) {
        self.forget(id);
        self.unwanted.clear();
    }

    /// Takes a watch out, and lets go of its path if it was the last one there.
    fn remove(&mut self, id: WatchId) -> Option<W> {
        let Watch { path, stage } = self.by_id.remove(&id)?;
        if let Some(at) = self.by_path.get_mut(&path) {
            at.ids.retain(|&other| other != id);
        }
        self.let_go(&path);
        stage.watcher()
    }

    fn let_go(&mut self, path: &str) {
        if self.by_path.get(path).is_some_and(|at| at.ids.is_empty())
            && let Some((path, at)) = self.by_path.remove_entry(path)
            && at.held != Held::NOTHING
        {
            self.unwanted.push(path);
        }
    }

    /// A path that the server is to forget all watches on: nobody here has one there.
    pub(crate) fn take_unwanted(&mut self) -> Option<Arc<str>> {
        self.unwanted.pop()
    }

    /// The connection is gone, and with it what the server held.
    pub(crate) fn disconnected(&mut self) {
        self.unwanted.clear();
        self.derived = None;
        self.by_path.retain(|_, at| {
            at.held = Held::NOTHING;
            !at.ids.is_empty()
        });
        for Watch { stage, .. } in self.by_id.values_mut() {
            if let Stage::Set(watcher, kind @ (Kind::Persistent | Kind::Recursive)) = stage {
                *stage = Stage::Interrupted(watcher.clone(), *kind);
            }
        }
    }

    /// All watches are set again: hands out the persistent ones that may have missed something.
    pub(crate) fn resume(&mut self) -> impl Iterator<Item = W> {
        self.by_id.values_mut().filter_map(|watch| match &watch.stage {
            Stage::Interrupted(watcher, kind) => {
                let watcher = watcher.clone();
                watch.stage = Stage::Set(watcher.clone(), *kind);
                Some(watcher)
            }
            Stage::Asked(..) | Stage::Forgotten(..) | Stage::Set(..) => None,
        })
    }

    /// Takes out the persistent watches: the server does not know of any.
    pub(crate) fn drain_persistent(&mut self) -> Vec<W> {
        let persistent = self.by_id.iter().filter(|(_, watch)| {
            matches!(watch.stage.kind(), Some(Kind::Persistent | Kind::Recursive))
        });
        let ids: Vec<WatchId> = persistent.map(|(&id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Takes out everything: the session is over.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = W> + use<W> {
        self.by_path.clear();
        self.unwanted.clear();
        let by_id = core::mem::take(&mut self.by_id);
        by_id.into_values().filter_map(|watch| watch.stage.watcher())
    }

    /// The paths to set again, each once per kind, in batches whose frames have at most
    /// `max_frame` bytes. From here on the server counts as holding them.
    pub(crate) fn batches(&mut self, max_frame: usize) -> Vec<Batch> {
        let mut batches: Vec<Batch> = Vec::new();
        for kind in Kind::ALL {
            for (path, at) in &mut self.by_path {
                let kinds = at.ids.iter().filter_map(|id| self.by_id.get(id)?.stage.kind());
                if kinds.into_iter().all(|other| other != kind) {
                    continue;
                }
                at.held = at.held.with(kind.held());
                let fits = |batch: &&mut Batch| batch.has_room_for(path, max_frame);
                match batches.last_mut().filter(fits) {
                    Some(batch) => batch.push(kind, path),
                    None => batches.push(Batch::of(kind, path)),
                }
            }
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use zk_jute::records::EventType;

    use super::*;

    /// C-47: nothing is left of a watch once it fired, failed, or was forgotten.
    #[test]
    fn what_is_over_takes_no_memory() {
        let mut watches = Watches::new();
        for i in 0..1000 {
            let path = format!("/{}", i % 10);
            let by = if i % 3 == 0 {
                WatchedBy::AddWatch {
                    mode: WatchMode::PersistentRecursive,
                    wire: WatchMode::PersistentRecursive,
                }
            } else {
                WatchedBy::GetData
            };
            let (id, _) = watches.ask(&path, i, by);
            match i % 4 {
                0 => assert_eq!(watches.answer(id, ErrorCode::NO_AUTH), Answered::Noted),
                1 => {
                    watches.forget(id);
                    watches.answer(id, ErrorCode::OK);
                }
                2 => {
                    watches.answer(id, ErrorCode::OK);
                    watches.forget(id);
                }
                _ => {
                    watches.answer(id, ErrorCode::OK);
                    watches.fire(&path, EventType::NODE_DELETED);
                    watches.forget(id);
                }
            }
        }
        assert!(watches.by_id.is_empty() && watches.by_path.is_empty());
    }
}
