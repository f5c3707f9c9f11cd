//! One-shot watches: who waits for what, and setting them again after a reconnect.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::ErrorCode;
use zk_jute::records::EventType;

/// Names a watch of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(u64);

/// Which request asks for the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchedBy {
    Exists,
    GetData,
    GetChildren,
}

/// In which of its tables the server keeps the watch (protocol sections 7.2 and 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Exist,
    Child,
}

impl Kind {
    /// The order in which `setWatches` lists them.
    pub(crate) const ALL: [Self; 3] = [Self::Data, Self::Exist, Self::Child];

    /// The watch that a reply leaves behind, if it leaves one.
    fn left_by(by: WatchedBy, reply: ErrorCode) -> Option<Self> {
        match (by, reply) {
            (WatchedBy::Exists | WatchedBy::GetData, ErrorCode::OK) => Some(Self::Data),
            (WatchedBy::Exists, ErrorCode::NO_NODE) => Some(Self::Exist),
            (WatchedBy::GetChildren, ErrorCode::OK) => Some(Self::Child),
            _ => None,
        }
    }

    fn is_fired_by(self, event: EventType) -> bool {
        match event {
            EventType::NODE_CREATED | EventType::NODE_DATA_CHANGED => self != Self::Child,
            EventType::NODE_CHILDREN_CHANGED => self == Self::Child,
            EventType::NODE_DELETED => true,
            _ => false,
        }
    }
}

/// All watches of a session.
///
/// The server keeps one watch for each path and kind and sends one notification; the fan-out to
/// several watchers happens here. A watch leaves this table when its event is delivered, not when
/// it is set again, so that no sequence of reconnects loses it.
#[derive(Debug)]
pub(crate) struct Watches<W> {
    last_id: u64,
    by_id: BTreeMap<WatchId, Watch<W>>,
    by_path: BTreeMap<Arc<str>, Vec<WatchId>>,
}

#[derive(Debug)]
struct Watch<W> {
    watcher: W,
    path: Arc<str>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    Set(Kind),
}

impl<W> Watches<W> {
    pub(crate) const fn new() -> Self {
        Self { last_id: 0, by_id: BTreeMap::new(), by_path: BTreeMap::new() }
    }

    /// Notes a watch whose request is on its way.
    pub(crate) fn ask(&mut self, path: &str, watcher: W) -> WatchId {
        self.last_id += 1;
        let id = WatchId(self.last_id);
        let path = match self.by_path.get_key_value(path) {
            Some((shared, _)) => Arc::clone(shared),
            None => Arc::from(path),
        };
        self.by_id.insert(id, Watch { watcher, path, stage: Stage::Asked });
        id
    }

    /// The request for the watch was answered.
    pub(crate) fn answer(&mut self, id: WatchId, by: WatchedBy, reply: ErrorCode) {
        match (Kind::left_by(by, reply), self.by_id.get_mut(&id)) {
            (Some(kind), Some(watch)) => {
                watch.stage = Stage::Set(kind);
                self.by_path.entry(Arc::clone(&watch.path)).or_default().push(id);
            }
            (None, Some(_)) => {
                self.by_id.remove(&id);
            }
            (_, None) => {}
        }
    }

    /// The request for the watch will not be answered, or nobody wants to know any more.
    pub(crate) fn forget(&mut self, id: WatchId) {
        let Some(watch) = self.by_id.remove(&id) else {
            return;
        };
        if let Some(ids) = self.by_path.get_mut(&watch.path) {
            ids.retain(|&other| other != id);
            if ids.is_empty() {
                self.by_path.remove(&watch.path);
            }
        }
    }

    /// Takes out the watchers that an event concerns, oldest first.
    pub(crate) fn fire(&mut self, path: &str, event: EventType) -> Vec<W> {
        let Some(ids) = self.by_path.get_mut(path) else {
            return Vec::new();
        };
        let by_id = &self.by_id;
        let concerned = |id: &WatchId| match by_id.get(id).map(|watch| watch.stage) {
            Some(Stage::Set(kind)) => kind.is_fired_by(event),
            Some(Stage::Asked) | None => false,
        };
        let fired: Vec<WatchId> = ids.extract_if(.., |id| concerned(id)).collect();
        if ids.is_empty() {
            self.by_path.remove(path);
        }
        fired.iter().filter_map(|id| self.by_id.remove(id)).map(|watch| watch.watcher).collect()
    }

    /// Takes out everything: the session is over.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = W> + use<W> {
        self.by_path.clear();
        core::mem::take(&mut self.by_id).into_values().map(|watch| watch.watcher)
    }

    /// The paths to set again, each once per kind, in batches whose frames have at most
    /// `max_frame` bytes.
    pub(crate) fn batches(&self, max_frame: usize) -> Vec<Batch<'_>> {
        let mut batches: Vec<Batch<'_>> = Vec::new();
        for kind in Kind::ALL {
            let paths = self.by_path.iter();
            for (path, _) in paths.filter(|(_, ids)| self.are_any_set(ids, kind)) {
                match batches.last_mut() {
                    Some(batch) if batch.frame_len + path_len(path) <= max_frame => {
                        batch.push(kind, path);
                    }
                    _ => batches.push(Batch::of(kind, path)),
                }
            }
        }
        batches
    }

    fn are_any_set(&self, ids: &[WatchId], kind: Kind) -> bool {
        ids.iter().any(|id| {
            let watch = self.by_id.get(id);
            watch.is_some_and(|watch| watch.stage == Stage::Set(kind))
        })
    }
}

/// Paths for one `setWatches`.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) data: Vec<&'a str>,
    pub(crate) exist: Vec<&'a str>,
    pub(crate) child: Vec<&'a str>,
    frame_len: usize,
}

impl<'a> Batch<'a> {
    /// A request header, a zxid, and three counts.
    const EMPTY_FRAME_LEN: usize = 8 + 8 + 3 * 4;

    /// The payload of a frame that sets a watch on this path alone.
    pub(crate) const fn least_frame_len(path: &str) -> usize {
        Self::EMPTY_FRAME_LEN + path_len(path)
    }

    fn of(kind: Kind, path: &'a str) -> Self {
        let mut batch = Self {
            data: Vec::new(),
            exist: Vec::new(),
            child: Vec::new(),
            frame_len: Self::EMPTY_FRAME_LEN,
        };
        batch.push(kind, path);
        batch
    }

    fn push(&mut self, kind: Kind, path: &'a str) {
        self.frame_len += path_len(path);
        match kind {
            Kind::Data => self.data.push(path),
            Kind::Exist => self.exist.push(path),
            Kind::Child => self.child.push(path),
        }
    }
}

/// With its length before it.
const fn path_len(path: &str) -> usize {
    4 + path.len()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// C-47: nothing is left of a watch once it fired, failed, or was forgotten.
    #[test]
    fn what_is_over_takes_no_memory() {
        let mut watches = Watches::new();
        for i in 0..1000 {
            let path = format!("/{}", i % 10);
            let id = watches.ask(&path, i);
            match i % 4 {
                0 => watches.answer(id, WatchedBy::GetData, ErrorCode::NO_NODE),
                1 => watches.forget(id),
                2 => {
                    watches.answer(id, WatchedBy::GetData, ErrorCode::OK);
                    watches.forget(id);
                }
                _ => {
                    watches.answer(id, WatchedBy::GetData, ErrorCode::OK);
                    assert_eq!(watches.fire(&path, EventType::NODE_DELETED), [i]);
                }
            }
        }
        assert!(watches.by_id.is_empty() && watches.by_path.is_empty());
    }
}
