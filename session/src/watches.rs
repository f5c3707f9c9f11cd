//! Watches of the callers and of the server, and setting them again after a reconnect
//! (docs/protocol.md#watches).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::ErrorCode;

mod batch;
mod firing;
mod kind;
mod mode;
mod table;

pub(crate) use batch::Batch;
pub(crate) use firing::Delivery;
pub(crate) use kind::WatchedBy;
use kind::{Kind, ServerWatches};
pub use mode::WatchMode;
pub use table::WatchId;
use table::{AtPath, Table, Watch};

/// The source of a one-shot watch's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The events come from a watch of its own on the server.
    Own,
    /// The events come from a persistent watch of this session on the same path, which sees all that
    /// the one-shot watch would. A request for both would end the persistent one on servers before 3.9
    /// (ZOOKEEPER-4466).
    Shared,
}

/// All watches of a session.
///
/// The server keeps one watch for each path and kind and sends one notification; this table passes
/// it to several watchers. A one-shot watch leaves the table when its event is delivered, not when
/// it is set again, so no sequence of reconnects loses it. The session removes the server's watches
/// on a path without a watcher (CURATOR-107).
#[derive(Debug)]
pub(crate) struct Watches<W> {
    table: Table<WatchState<W>>,
    by_path: BTreeMap<Arc<str>, AtPath>,
    /// Mostly there are none, and a session at rest is to be small.
    removals: Option<Box<Removals>>,
    /// The path of the last event, if the event stood for a change of the list of children as well.
    /// The server may report that change itself, as the next event.
    derived: Option<Arc<str>>,
}

/// Watches that the server holds, and the session does not want.
#[derive(Debug, Default)]
struct Removals {
    /// Paths with watches that the server has to remove.
    unwanted: Vec<Arc<str>>,
    /// Paths with watches that the server has refused to remove, because it had too much to do.
    refused: Vec<Arc<str>>,
}

#[derive(Debug)]
enum WatchState<W> {
    Asked(W, WatchedBy, Source),
    /// The watch was dropped while its request is on its way.
    Forgotten(WatchedBy, Source, Leftover),
    Set(W, Kind),
    /// A persistent watch that lost its connection, and may have missed something.
    Interrupted(W, Kind),
}

/// The end of a server's watch that the session has dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// A request of the session's.
    Removed,
    /// The deletion of the znode.
    GoesWithZnode,
}

impl<W> WatchState<W> {
    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Set(_, kind) | Self::Interrupted(_, kind) => Some(*kind),
            Self::Asked(..) | Self::Forgotten(..) => None,
        }
    }

    fn asked_by(&self) -> Option<WatchedBy> {
        match self {
            Self::Asked(_, by, _) | Self::Forgotten(by, ..) => Some(*by),
            Self::Set(..) | Self::Interrupted(..) => None,
        }
    }

    fn asked_of_server(&self) -> Option<WatchedBy> {
        match self {
            Self::Asked(_, by, Source::Own) | Self::Forgotten(by, Source::Own, _) => Some(*by),
            _ => None,
        }
    }

    /// Returns the watches that the server will hold for this one, and may not hold yet.
    fn will_be_held(&self) -> Option<ServerWatches> {
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
        Self { table: Table::new(), by_path: BTreeMap::new(), removals: None, derived: None }
    }

    /// Notes a watch before its request is sent, and returns where its events will come from.
    pub(crate) fn ask(&mut self, path: &str, watcher: W, by: WatchedBy) -> (WatchId, Source) {
        let source = if self.expected(path).covers(by) { Source::Shared } else { Source::Own };
        let path = match self.by_path.get_key_value(path) {
            Some((shared, _)) => Arc::clone(shared),
            None => Arc::from(path),
        };
        let at = self.by_path.entry(Arc::clone(&path)).or_default();
        let id = self.table.add(at, path, WatchState::Asked(watcher, by, source));
        (id, source)
    }

    /// Returns the mode to ask the server for. Servers before 3.9 keep one watch for each path, and
    /// the last one counts, so a recursive one must not be replaced. It sees no change of the list
    /// of children, but that follows from what it sees.
    pub(crate) fn wire_mode(&self, path: &str, mode: WatchMode) -> WatchMode {
        if self.expected(path).is_recursive() { WatchMode::PersistentRecursive } else { mode }
    }

    /// Returns the watches that the server holds at a path once it has answered. Without a
    /// connection, persistent watches count, because they are set again first on the next one.
    fn expected(&self, path: &str) -> ServerWatches {
        let Some(at) = self.by_path.get(path) else {
            return ServerWatches::NOTHING;
        };
        let states = self.table.row(at).map(|(_, watch)| &watch.state);
        states.filter_map(WatchState::will_be_held).fold(at.held, ServerWatches::with)
    }

    /// Handles the answer to the request for a watch. If the request succeeded, but the persistent
    /// watch that this one relies on is gone, it returns the watcher.
    pub(crate) fn answer(&mut self, id: WatchId, reply: ErrorCode) -> Option<W> {
        let Watch { path, state, .. } = self.table.get_mut(id)?;
        let by = state.asked_by()?;
        let at = self.by_path.get_mut(path)?;
        let left = by.leaves(reply);
        if let (Some(kind), Some(by)) = (left, state.asked_of_server()) {
            at.held = at.held.with(by.held(kind));
        }
        match (left, &*state) {
            (Some(kind), WatchState::Asked(watcher, _, source))
                if *source == Source::Own || at.held.covers(by) =>
            {
                *state = WatchState::Set(watcher.clone(), kind);
                None
            }
            (Some(_), WatchState::Forgotten(.., Leftover::GoesWithZnode)) => {
                self.remove_locally(id);
                None
            }
            (Some(_), _) => self.remove(id),
            (None, _) => {
                self.remove(id);
                None
            }
        }
    }

    /// Notes that the request for the watch will not be answered.
    pub(crate) fn unanswered(&mut self, id: WatchId) {
        self.remove(id);
    }

    /// Drops a watch. If the server still holds one on its path, [`Watches::take_unwanted`] returns
    /// the path.
    pub(crate) fn forget(&mut self, id: WatchId) {
        if self.is_settled(id, Leftover::Removed) {
            self.remove(id);
        }
    }

    /// Drops a watch on a znode that is about to be deleted. The deletion ends the watch on the
    /// server without a request.
    pub(crate) fn forget_locally(&mut self, id: WatchId) {
        if self.is_settled(id, Leftover::GoesWithZnode) {
            self.remove_locally(id);
        }
    }

    /// Returns whether the request for a watch is answered. If not, the watch is dropped with its answer,
    /// and leaves this behind.
    fn is_settled(&mut self, id: WatchId, leftover: Leftover) -> bool {
        let Some(Watch { state, .. }) = self.table.get_mut(id) else {
            return false;
        };
        if let WatchState::Asked(_, by, source) = *state {
            *state = WatchState::Forgotten(by, source, leftover);
        }
        state.asked_by().is_none()
    }

    /// Takes a watch out, and asks for no removal on its path.
    fn remove_locally(&mut self, id: WatchId) {
        let before = self.removals.as_ref().map_or(0, |removals| removals.unwanted.len());
        self.remove(id);
        if let Some(removals) = &mut self.removals {
            removals.unwanted.truncate(before);
        }
    }

    /// Takes a watch out, and forgets its path if it was the last one there.
    fn remove(&mut self, id: WatchId) -> Option<W> {
        let path = &self.table.get(id)?.path;
        let at = self.by_path.get_mut(path)?;
        let Watch { path, state, .. } = self.table.remove(at, id)?;
        self.let_go(&path);
        state.watcher()
    }

    fn let_go(&mut self, path: &str) {
        if self.by_path.get(path).is_some_and(AtPath::is_unwatched)
            && let Some((path, at)) = self.by_path.remove_entry(path)
            && at.held != ServerWatches::NOTHING
        {
            self.removals.get_or_insert_default().unwanted.push(path);
        }
    }

    /// Returns a path on which the server has to remove all watches, because the session has none
    /// there.
    pub(crate) fn take_unwanted(&mut self) -> Option<Arc<str>> {
        self.removals.as_mut()?.unwanted.pop()
    }

    /// Notes that the server has not removed the watches at this path.
    pub(crate) fn removal_refused(&mut self, path: Arc<str>) {
        self.removals.get_or_insert_default().refused.push(path);
    }

    /// Makes [`Watches::take_unwanted`] return the paths once more whose watches the server has refused to
    /// remove. A path that is watched anew waits until it is not.
    pub(crate) fn remove_again(&mut self) {
        if let Some(removals) = &mut self.removals {
            let Removals { unwanted, refused } = &mut **removals;
            let is_unwatched = |path: &mut Arc<str>| !self.by_path.contains_key(path);
            unwanted.extend(refused.extract_if(.., is_unwatched));
        }
    }

    /// Notes that the connection is lost, and the server's watches with it.
    pub(crate) fn disconnected(&mut self) {
        self.removals = None;
        self.derived = None;
        self.by_path.retain(|_, at| {
            at.held = ServerWatches::NOTHING;
            !at.is_unwatched()
        });
        for Watch { state, .. } in self.table.iter_mut() {
            if let WatchState::Set(watcher, kind @ (Kind::Persistent | Kind::Recursive)) = state {
                *state = WatchState::Interrupted(watcher.clone(), *kind);
            }
        }
    }

    /// Returns the persistent watches that may have missed something, once all watches are set
    /// again.
    pub(crate) fn resume(&mut self) -> impl Iterator<Item = W> {
        self.table.ids().into_iter().filter_map(|id| {
            let Watch { state, .. } = self.table.get_mut(id)?;
            match state {
                WatchState::Interrupted(watcher, kind) => {
                    let watcher = watcher.clone();
                    *state = WatchState::Set(watcher.clone(), *kind);
                    Some(watcher)
                }
                WatchState::Asked(..) | WatchState::Forgotten(..) | WatchState::Set(..) => None,
            }
        })
    }

    /// Takes out the persistent watches, because the server knows none.
    pub(crate) fn drain_persistent(&mut self) -> Vec<W> {
        let mut ids = self.table.ids();
        ids.retain(|id| {
            let kind = self.table.get(*id).and_then(|watch| watch.state.kind());
            matches!(kind, Some(Kind::Persistent | Kind::Recursive))
        });
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Takes out all watches, because the session has ended.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = W> + use<W> {
        self.by_path.clear();
        self.removals = None;
        self.table.drain().into_iter().filter_map(|watch| watch.state.watcher())
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.table.shrink_to_fit();
    }

    /// Returns the paths to set again, each once per kind, in batches with frames of at most
    /// `max_frame` bytes. From here on the server counts as holding them.
    pub(crate) fn batches(&mut self, max_frame: usize) -> Vec<Batch> {
        let mut batches: Vec<Batch> = Vec::new();
        for kind in Kind::ALL {
            for (path, at) in &mut self.by_path {
                if self.table.row(at).all(|(_, watch)| watch.state.kind() != Some(kind)) {
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

    /// A watch that fired, failed or was forgotten leaves nothing behind.
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
                0 => assert_eq!(watches.answer(id, ErrorCode::NO_AUTH), None),
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
        assert!(watches.table.ids().is_empty() && watches.by_path.is_empty());
    }
}
