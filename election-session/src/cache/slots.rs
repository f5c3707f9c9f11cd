//! The known state of each znode.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use zk_jute::Zxid;
use zk_jute::records::Stat;

use super::batch::Batch;
use super::counts::CacheCounts;
use super::node::{CacheData, CachedNode};
use super::question::{CacheQuestion, CacheRead};
use super::reader::Readers;
use super::scope::CacheScope;
use super::slot::{After, Fresh, Names, ShownNode, Slot};
use crate::path::child_path;
use crate::set_up::TrackerWatches;

/// The znodes by path, and which of them have to be asked for.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    scope: CacheScope,
    data: CacheData,
    /// The root is always there.
    by_path: BTreeMap<Arc<str>, Slot>,
    reads_due: BTreeSet<Arc<str>>,
    lists_due: BTreeSet<Arc<str>>,
    /// How many are not clean.
    unclean: usize,
    counts: CacheCounts,
    /// The last transaction by which a child came or went, of which more events may be to come.
    last_change: Option<Zxid>,
}

impl Slots {
    pub(super) fn new(scope: CacheScope, data: CacheData) -> Self {
        let root: Arc<str> = Arc::from(scope.root());
        let mut slots = Self {
            scope,
            data,
            by_path: BTreeMap::new(),
            reads_due: BTreeSet::new(),
            lists_due: BTreeSet::new(),
            unclean: 0,
            counts: CacheCounts::default(),
            last_change: None,
        };
        slots.insert(root);
        slots
    }

    pub(super) const fn counts(&self) -> CacheCounts {
        self.counts
    }

    pub(super) const fn are_clean(&self) -> bool {
        self.unclean == 0
    }

    /// Changes a slot, and keeps what is counted and listed of it.
    fn change(&mut self, path: &str, change: impl FnOnce(&mut Slot)) {
        let Some((path, _)) = self.by_path.get_key_value(path) else {
            return;
        };
        let path = Arc::clone(path);
        let Some(slot) = self.by_path.get_mut(&path) else {
            return;
        };
        let (was_clean, was_due) = (slot.is_clean(), slot.is_due());
        change(slot);
        let (is_clean, is_due) = (slot.is_clean(), slot.is_due());
        self.unclean = self.unclean + usize::from(was_clean) - usize::from(is_clean);
        let reads = (&mut self.reads_due, was_due.0, is_due.0);
        let lists = (&mut self.lists_due, was_due.1, is_due.1);
        for (due, was_due, is_due) in [reads, lists] {
            match (was_due, is_due) {
                (false, true) => {
                    due.insert(Arc::clone(&path));
                }
                (true, false) => {
                    due.remove(&path);
                }
                _ => {}
            }
        }
    }

    /// Takes in a znode that is to be read for the first time.
    fn insert(&mut self, path: Arc<str>) {
        self.by_path.insert(Arc::clone(&path), Slot::UNREAD);
        self.unclean += 1;
        self.reads_due.insert(path);
    }

    fn remove(&mut self, path: &str) {
        if let Some(slot) = self.by_path.remove(path) {
            self.unclean -= usize::from(!slot.is_clean());
            self.reads_due.remove(path);
            self.lists_due.remove(path);
        }
    }

    fn show(&mut self, path: &Arc<str>, shown: ShownNode, readers: &mut Readers) {
        if let Some(slot) = self.by_path.get_mut(path)
            && !slot.shown.is_same(&shown)
        {
            let before = core::mem::replace(&mut slot.shown, shown);
            self.counts.count(before.node(), slot.shown.node());
            readers.note(path, &before.node().cloned());
        }
    }

    /// Returns the next list to ask for.
    pub(super) fn ask_list(&mut self, ticket: u64) -> Option<Arc<str>> {
        let path = Arc::clone(self.lists_due.first()?);
        self.change(&path, |slot| slot.names = Names::Asked(ticket));
        Some(path)
    }

    /// Returns the next reads to ask for: many in one request only of znodes that are known to be small.
    pub(super) fn ask_reads(&mut self, ticket: u64, mut batch: Batch) -> Option<CacheQuestion> {
        let mut paths: Vec<Arc<str>> = Vec::new();
        if batch.is_of_many() {
            for path in &self.reads_due {
                let length = self.node(path).map(|node| node.data_length);
                if !length.is_some_and(|length| batch.takes(path, length)) {
                    break;
                }
                paths.push(Arc::clone(path));
            }
        }
        let asked = Fresh::Asked { ticket, after: After::Nothing };
        if paths.is_empty() {
            let path = Arc::clone(self.reads_due.first()?);
            self.change(&path, |slot| slot.fresh = asked);
            return Some(CacheQuestion::Read(path));
        }
        for path in &paths {
            self.change(path, |slot| slot.fresh = asked);
        }
        Some(CacheQuestion::ReadMany(paths))
    }

    /// Takes in the answer to a read. Returns whether it was awaited.
    pub(super) fn answered(
        &mut self,
        (ticket, path): (u64, &str),
        read: CacheRead,
        zxid: Option<Zxid>,
        (watching, readers): (TrackerWatches, &mut Readers),
    ) -> bool {
        let Some((path, slot)) = self.by_path.get_key_value(path) else {
            return false;
        };
        let Fresh::Asked { ticket: awaited, after } = slot.fresh else {
            return false;
        };
        if awaited != ticket {
            return false;
        }
        let path = Arc::clone(path);
        let fresh = if after.is_covered(zxid) { Fresh::Clean } else { Fresh::Due };
        match read {
            CacheRead::Found(data, stat) => {
                let kept = (self.data == CacheData::Kept).then_some(&*data);
                let node = Arc::new(CachedNode::new(&stat, kept));
                self.show(&path, ShownNode::Node(node), readers);
                self.found(&path, &stat, fresh, watching);
            }
            CacheRead::Gone => self.gone(&path, fresh, readers),
            CacheRead::Unreadable => self.cannot_be_read(&path, fresh, readers),
        }
        true
    }

    fn found(&mut self, path: &str, stat: &Stat, fresh: Fresh, watching: TrackerWatches) {
        let has_children = self.scope.holds_children_of(path);
        self.change(path, |slot| {
            slot.fresh = fresh;
            if fresh == Fresh::Clean {
                slot.names = slot.names.after_read(stat, watching, has_children);
            }
        });
    }

    fn gone(&mut self, path: &Arc<str>, fresh: Fresh, readers: &mut Readers) {
        self.show(path, ShownNode::Nothing, readers);
        if fresh == Fresh::Clean {
            for below in self.below(path) {
                self.due(&below, None);
            }
        }
        if fresh == Fresh::Clean && **path != *self.scope.root() {
            self.remove(path);
        } else {
            self.change(path, |slot| (slot.fresh, slot.names) = (fresh, Names::Unlisted));
        }
    }

    fn cannot_be_read(&mut self, path: &Arc<str>, fresh: Fresh, readers: &mut Readers) {
        self.show(path, ShownNode::Unreadable, readers);
        for below in self.below(path) {
            self.show(&below, ShownNode::Nothing, readers);
            self.remove(&below);
        }
        self.change(path, |slot| (slot.fresh, slot.names) = (fresh, Names::Unlisted));
    }

    /// Takes in the names of children. Returns whether they were awaited. Those that are not in the tree are read;
    /// and those that are in the tree and not on the list.
    pub(super) fn listed<'a>(
        &mut self,
        ticket: u64,
        path: &str,
        names: impl Iterator<Item = &'a str>,
        pzxid: Zxid,
    ) -> bool {
        let names_were = self.by_path.get(path).map(|slot| slot.names);
        let names_are = match names_were {
            Some(Names::Asked(awaited)) if awaited == ticket => Names::Known { pzxid },
            Some(Names::Outdated(awaited)) if awaited == ticket => Names::Due,
            _ => return false,
        };
        let listed: BTreeSet<Arc<str>> =
            names.map(|name| Arc::from(child_path(path, name))).collect();
        let missing = self.children(path).filter(|(_, child)| !listed.contains(*child));
        let missing: Vec<_> = missing.map(|(_, child)| Arc::clone(child)).collect();
        for child in missing {
            self.due(&child, None);
        }
        for child in listed {
            if !self.by_path.contains_key(&child) && self.scope.holds(&child) {
                self.insert(child);
            }
        }
        self.change(path, |slot| slot.names = names_are);
        true
    }

    /// Notes that a znode could not be listed. Returns whether that was awaited.
    pub(super) fn unlisted(&mut self, ticket: u64, path: &str) -> bool {
        let is_awaited = self.by_path.get(path).is_some_and(|slot| slot.names.awaits(ticket));
        if is_awaited {
            self.change(path, |slot| slot.names = Names::Unlisted);
            self.due(path, None);
        }
        is_awaited
    }

    pub(super) fn read_failed(&mut self, ticket: u64, path: &str) {
        self.change(path, |slot| {
            if matches!(slot.fresh, Fresh::Asked { ticket: awaited, .. } if awaited == ticket) {
                slot.fresh = Fresh::Due;
            }
        });
    }

    pub(super) fn list_failed(&mut self, ticket: u64, path: &str) {
        self.change(path, |slot| {
            if slot.names.awaits(ticket) {
                slot.names = Names::Due;
            }
        });
    }

    /// Notes that a znode was created.
    pub(super) fn appeared(&mut self, path: &str, zxid: Option<Zxid>) {
        self.child_changed(path, zxid);
        if self.by_path.contains_key(path) {
            return self.due(path, zxid);
        }
        let parent = self.by_path.get(parent_of(path));
        if parent.is_some_and(|parent| !parent.shown.is_unreadable()) && self.scope.holds(path) {
            self.insert(Arc::from(path));
        }
    }

    /// Notes that a child came or went, so that the list of its parent is not read again for that after a gap; unless the
    /// gap is the next thing: the transaction may have had more children, of which no event came.
    pub(super) fn child_changed(&mut self, path: &str, zxid: Option<Zxid>) {
        self.last_change = zxid.max(self.last_change);
        if let (Some(zxid), Some(parent)) = (zxid, self.by_path.get_mut(parent_of(path)))
            && let Names::Known { pzxid } = &mut parent.names
        {
            *pzxid = zxid.max(*pzxid);
        }
    }

    /// Notes that a znode has changed.
    pub(super) fn due(&mut self, path: &str, zxid: Option<Zxid>) {
        self.change(path, |slot| slot.fresh = slot.fresh.after(After::event(zxid)));
    }

    /// Notes that the list of a znode's children has changed.
    pub(super) fn relist(&mut self, path: &str) {
        self.change(path, |slot| slot.names = slot.names.outdated());
    }

    pub(super) fn forget_names(&mut self, path: &str) {
        self.change(path, |slot| slot.names = Names::Unlisted);
    }

    /// Notes that anything may have changed.
    pub(super) fn all_due(&mut self) {
        let last_change = self.last_change;
        self.change_all(|slot| {
            slot.fresh = slot.fresh.after(After::Unknown);
            slot.names = slot.names.doubted(last_change);
        });
    }

    /// Notes that anything may have changed, and that no request in flight counts, nor any zxid: the ensemble may have
    /// been restored from a copy, and have given it to another transaction.
    pub(super) fn all_void(&mut self) {
        self.last_change = None;
        self.change_all(|slot| (slot.fresh, slot.names) = (Fresh::Due, Names::Unlisted));
    }

    /// Marks the znodes that may not be read, and so cause no events, to be read again.
    pub(super) fn unreadable_due(&mut self) {
        self.change_all(|slot| {
            if slot.shown.is_unreadable() {
                slot.fresh = slot.fresh.after(After::Unknown);
            }
        });
    }

    fn change_all(&mut self, change: impl Fn(&mut Slot)) {
        self.unclean = 0;
        self.reads_due.clear();
        self.lists_due.clear();
        for (path, slot) in &mut self.by_path {
            change(slot);
            self.unclean += usize::from(!slot.is_clean());
            if slot.fresh == Fresh::Due {
                self.reads_due.insert(Arc::clone(path));
            }
            if slot.names == Names::Due {
                self.lists_due.insert(Arc::clone(path));
            }
        }
    }

    pub(super) fn node(&self, path: &str) -> Option<&Arc<CachedNode>> {
        self.look(path).node()
    }

    /// Returns what is shown at a path.
    pub(super) fn look(&self, path: &str) -> &ShownNode {
        self.by_path.get(path).map_or(&ShownNode::Nothing, |slot| &slot.shown)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<CachedNode>)> {
        self.by_path.iter().filter_map(|(path, slot)| Some((path, slot.shown.node()?)))
    }

    pub(super) fn unreadable(&self) -> impl Iterator<Item = &Arc<str>> {
        let all = self.by_path.iter().filter(|(_, slot)| slot.shown.is_unreadable());
        all.map(|(path, _)| path)
    }

    /// Returns the paths of all that is shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Arc<str>> {
        let all = self.by_path.iter().filter(|(_, slot)| !slot.shown.is_same(&ShownNode::Nothing));
        all.map(|(path, _)| path)
    }

    fn below(&self, path: &str) -> Vec<Arc<str>> {
        let prefix = child_path(path, "");
        let all = self.by_path.range::<str, _>((Bound::Excluded(&*prefix), Bound::Unbounded));
        let below = all.take_while(|(below, _)| below.starts_with(&prefix));
        below.map(|(below, _)| Arc::clone(below)).collect()
    }

    /// Returns the children of a znode, by name and path. It steps over what stands below them.
    pub(super) fn children(&self, path: &str) -> impl Iterator<Item = (&str, &Arc<str>)> {
        let prefix = child_path(path, "");
        let mut from = Bound::Excluded(prefix.clone());
        core::iter::from_fn(move || {
            loop {
                let rest = (from.as_ref().map(String::as_str), Bound::Unbounded);
                let (found, _) = self.by_path.range::<str, _>(rest).next()?;
                let name = found.strip_prefix(&*prefix)?;
                let Some((child, _)) = name.split_once('/') else {
                    from = Bound::Excluded(found.as_ref().to_owned());
                    return Some((name, found));
                };
                // No path is between the last one below the child and this one: `0` follows `/`.
                from = Bound::Included(format!("{prefix}{child}0"));
            }
        })
    }
}

fn parent_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}
