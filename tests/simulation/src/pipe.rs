//! An ordered stream between two processes.

use std::collections::VecDeque;

use super::clock::Time;

/// The messages that were sent and have not arrived, each with the moment at which it could.
#[derive(Debug)]
pub(super) struct Pipe<T> {
    queue: VecDeque<(Time, T)>,
    last: Time,
    /// Whether a delivery is on the agenda. A pipe that is held back has none.
    pub(super) armed: bool,
}

impl<T> Pipe<T> {
    pub(super) const fn new() -> Self {
        Self { queue: VecDeque::new(), last: Time::ORIGIN, armed: false }
    }

    /// Sends an item; it overtakes none that was sent before.
    pub(super) fn push(&mut self, arrival: Time, item: T) {
        self.last = self.last.max(arrival);
        self.queue.push_back((self.last, item));
    }

    /// Takes the first item, if its moment has come.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<T> {
        self.due().filter(|due| *due <= now)?;
        self.queue.pop_front().map(|(_, item)| item)
    }

    /// Returns the time at which the first item can arrive.
    pub(super) fn due(&self) -> Option<Time> {
        self.queue.front().map(|(at, _)| *at)
    }

    pub(super) fn front(&self) -> Option<&T> {
        self.queue.front().map(|(_, item)| item)
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Takes out the first, whenever it would have arrived; the others are lost.
    pub(super) fn take_front(&mut self) -> Option<T> {
        let front = self.queue.pop_front();
        self.queue.clear();
        front.map(|(_, item)| item)
    }
}
