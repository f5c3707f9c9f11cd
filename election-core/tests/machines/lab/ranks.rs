//! Numbers of which only the order matters.

/// The numbers of one kind in a world. To be added, then sorted, then asked.
#[derive(Debug)]
pub(super) struct Ranks<T>(Vec<T>);

impl<T> Default for Ranks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> Ranks<T> {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn add(&mut self, number: T) {
        self.0.push(number);
    }

    pub(super) fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.dedup();
    }

    /// Returns how many lower ones there are.
    pub(super) fn of(&self, number: &T) -> usize {
        self.0.binary_search(number).expect("it was added")
    }
}
