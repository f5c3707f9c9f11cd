//! The order in which servers are tried.

use alloc::vec::Vec;
use core::num::{NonZeroU32, NonZeroUsize};

/// A server, by its place in the driver's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerIndex(pub usize);

/// All servers in a shuffled order, walked round and round.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    order: Vec<usize>,
    next: usize,
}

impl Servers {
    pub(crate) fn new(count: NonZeroUsize, rng: &mut fastrand::Rng) -> Self {
        let mut order: Vec<usize> = (0..count.get()).collect();
        rng.shuffle(&mut order);
        Self { order, next: 0 }
    }

    pub(crate) fn count(&self) -> NonZeroU32 {
        let count = u32::try_from(self.order.len()).unwrap_or(u32::MAX);
        NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
    }

    pub(crate) fn next(&mut self) -> ServerIndex {
        let index = self.order.get(self.next).copied().unwrap_or_default();
        self.next = (self.next + 1) % self.order.len().max(1);
        ServerIndex(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_tried_once_a_round_in_an_order_of_the_seed() {
        let count = NonZeroUsize::new(5).unwrap();
        let mut orders = alloc::collections::BTreeSet::new();
        for seed in 0..50 {
            let mut servers = Servers::new(count, &mut fastrand::Rng::with_seed(seed));
            let first: Vec<_> = (0..5).map(|_| servers.next()).collect();
            let second: Vec<_> = (0..5).map(|_| servers.next()).collect();
            assert_eq!(first, second);
            let mut sorted = first.clone();
            sorted.sort();
            assert_eq!(sorted, (0..5).map(ServerIndex).collect::<Vec<_>>());
            orders.insert(first);
        }
        assert!(orders.len() > 10);
    }
}
