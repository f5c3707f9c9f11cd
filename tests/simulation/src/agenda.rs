//! The agenda: future events, in order.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::clock::Time;

/// Entries for the same moment come out in the order in which they went in.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    entries: BinaryHeap<Reverse<Entry<E>>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(super) const fn new() -> Self {
        Self { entries: BinaryHeap::new(), added: 0 }
    }

    pub(super) fn add(&mut self, at: Time, event: E) {
        self.added += 1;
        self.entries.push(Reverse(Entry { at, number: self.added, event }));
    }

    pub(super) fn pop(&mut self) -> Option<(Time, E)> {
        self.entries.pop().map(|Reverse(Entry { at, event, .. })| (at, event))
    }
}

impl<E> Entry<E> {
    const fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
