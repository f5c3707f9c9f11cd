//! The table of watches: by id, and by path, oldest first.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use slab::Slab;

use super::kind::ServerWatches;

/// Names a watch of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId {
    /// Distinguishes the watch from those that had its place before.
    serial: u32,
    place: u32,
}

/// The end of a row.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Watch<S> {
    pub(super) path: Arc<str>,
    pub(super) state: S,
    serial: u32,
    /// The place of the next watch at its path.
    next: u32,
}

/// The watches at a path.
#[derive(Debug)]
pub(super) struct AtPath {
    /// The places of the oldest and the youngest watch, including watches that were only asked for.
    first: u32,
    last: u32,
    pub(super) held: ServerWatches,
}

impl Default for AtPath {
    fn default() -> Self {
        Self { first: NONE, last: NONE, held: ServerWatches::NOTHING }
    }
}

impl AtPath {
    pub(super) const fn is_unwatched(&self) -> bool {
        self.first == NONE
    }
}

#[derive(Debug)]
pub(super) struct Table<S> {
    watches: Slab<Watch<S>>,
    last_serial: u32,
}

impl<S> Table<S> {
    pub(super) const fn new() -> Self {
        Self { watches: Slab::new(), last_serial: 0 }
    }

    pub(super) fn get(&self, id: WatchId) -> Option<&Watch<S>> {
        self.at(id.place).filter(|watch| watch.serial == id.serial)
    }

    pub(super) fn get_mut(&mut self, id: WatchId) -> Option<&mut Watch<S>> {
        self.at_mut(id.place).filter(|watch| watch.serial == id.serial)
    }

    /// Adds a watch to those at its path.
    pub(super) fn add(&mut self, at: &mut AtPath, path: Arc<str>, state: S) -> WatchId {
        self.last_serial = self.last_serial.wrapping_add(1);
        let serial = self.last_serial;
        let place = self.watches.insert(Watch { path, state, serial, next: NONE });
        let place = u32::try_from(place).unwrap_or(NONE);
        match self.at_mut(at.last) {
            Some(last) => last.next = place,
            None => at.first = place,
        }
        at.last = place;
        WatchId { serial, place }
    }

    /// Takes a watch out of those at its path.
    pub(super) fn remove(&mut self, at: &mut AtPath, id: WatchId) -> Option<Watch<S>> {
        self.get(id)?;
        let watch = self.watches.try_remove(usize::try_from(id.place).ok()?)?;
        if at.first == id.place {
            at.first = watch.next;
        }
        let before = self.row(at).find(|(_, before)| before.next == id.place);
        let before = before.map(|(before, _)| before.place);
        if let Some(before) = before.and_then(|place| self.at_mut(place)) {
            before.next = watch.next;
        }
        if at.last == id.place {
            at.last = before.unwrap_or(NONE);
        }
        Some(watch)
    }

    /// Returns the watches at a path, oldest first.
    pub(super) fn row(&self, at: &AtPath) -> impl Iterator<Item = (WatchId, &Watch<S>)> {
        let first = Some(at.first);
        let places = core::iter::successors(first, |place| Some(self.at(*place)?.next));
        places.map_while(|place| {
            let watch = self.at(place)?;
            Some((WatchId { serial: watch.serial, place }, watch))
        })
    }

    /// Returns the ids of all watches, oldest first.
    pub(super) fn ids(&self) -> Vec<WatchId> {
        let place = |place| u32::try_from(place).unwrap_or(NONE);
        let all = self.watches.iter();
        let mut ids: Vec<_> =
            all.map(|(at, watch)| WatchId { serial: watch.serial, place: place(at) }).collect();
        ids.sort_unstable_by_key(|id| Reverse(self.last_serial.wrapping_sub(id.serial)));
        ids
    }

    /// Returns all watches, in any order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Watch<S>> {
        self.watches.iter_mut().map(|(_, watch)| watch)
    }

    /// Takes all watches out, oldest first.
    pub(super) fn drain(&mut self) -> Vec<Watch<S>> {
        let ids = self.ids();
        let places = ids.into_iter().filter_map(|id| usize::try_from(id.place).ok());
        let drained = places.filter_map(|place| self.watches.try_remove(place)).collect();
        self.watches = Slab::new();
        drained
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.watches.shrink_to_fit();
    }

    fn at(&self, place: u32) -> Option<&Watch<S>> {
        self.watches.get(usize::try_from(place).ok()?)
    }

    fn at_mut(&mut self, place: u32) -> Option<&mut Watch<S>> {
        self.watches.get_mut(usize::try_from(place).ok()?)
    }
}
