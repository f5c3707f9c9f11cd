//! The bound on lists in flight. Replies to heartbeats come behind theirs.

/// The most bytes of lists on their way, with lengths guessed from the last list.
const BYTES: usize = 1024 * 1024;
/// The most lists in flight before any length is known.
const FIRST: usize = 8;
/// The most lists in flight, however short they are: the next ones may be longer.
const MOST: usize = 64;

/// A bound on lists in flight that adapts to their lengths.
#[derive(Debug)]
pub(crate) struct Window {
    size: usize,
    in_flight: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { size: FIRST, in_flight: 0 }
    }
}

impl Window {
    pub(crate) const fn has_room(&self) -> bool {
        self.in_flight < self.size
    }

    pub(crate) const fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// Notes that a list is not in flight any more, for whatever reason.
    pub(crate) const fn over(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Adapts the bound: the next lists are likely to be as long. It always admits one list, and a
    /// further one with each that is short.
    pub(crate) fn answered(&mut self, bytes: usize) {
        self.over();
        let fit = (BYTES / bytes.max(1)).clamp(1, MOST);
        self.size = fit.min(self.size + 1);
    }

    /// Forgets the lists in flight with the connection.
    pub(crate) const fn clear(&mut self) {
        self.in_flight = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(window: &mut Window) -> usize {
        let mut sent = 0;
        while window.has_room() {
            window.sent();
            sent += 1;
        }
        sent
    }

    #[test]
    fn long_lists_are_asked_for_one_by_one_and_short_ones_in_crowds() {
        let mut window = Window::default();
        assert_eq!(room(&mut window), FIRST);
        window.answered(10 * BYTES);
        assert_eq!(room(&mut window), 0, "seven are in flight");
        (1..FIRST).for_each(|_| window.answered(BYTES));
        assert_eq!(room(&mut window), 1, "one there may always be");
        window.answered(0);
        let mut in_flight = room(&mut window);
        assert_eq!(in_flight, 2);
        for _ in 0..1000 {
            window.answered(100);
            in_flight += room(&mut window);
            in_flight -= 1;
        }
        assert_eq!(in_flight, MOST);
        window.clear();
        assert_eq!(room(&mut window), MOST);
    }
}
