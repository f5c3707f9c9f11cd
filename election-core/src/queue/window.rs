//! The lowest items of a list. Takers take them one after another without another list.

use heapless::Vec;

use super::format::{Key, QueueFormat};
use crate::event::Arrivals;
use crate::id::Token;

/// How often a taker that came too late doubles the number of items that it skips.
const MOST_MISSES: u32 = 6;
/// It skips fewer items than this, doubled so often.
const LEAST_SKIP: u32 = 4;

/// The lowest items of a list, at most `N`, for one taker after another.
///
/// A taker begins with the lowest. If it comes too late for that one, it skips a few items that
/// other takers may be about to take, up to twice as many each time, at random by a number of its
/// own. So takers with the same list do not go for the same items all the way. Skipped items are in
/// the next list, if no taker has taken them by then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemWindow<const N: usize> {
    /// The lowest is the last.
    keys: Vec<Key, N, u16>,
    random: u32,
    misses: u32,
    /// The extent of the window: all items of the list, or those that fitted.
    extent: Extent,
    /// The state of the node when it was listed, or before. While no item has come since, the
    /// lowest item here is the lowest of all. `None` if the state is not known, or an item was
    /// passed over that may exist.
    origin: Option<Origin>,
}

/// Distinguishes states of a queue's node between which an item may have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    /// The node's token: the node may have been created anew.
    pub(super) token: Token,
    pub(super) arrivals: Arrivals,
}

/// The items of a long list that a taker goes for while others compete: with `doublings`, one of
/// two, of four, and so on, by a number of its own. So its memory lasts for more takes. Otherwise
/// all takers list each time that all of them together have used up the lowest items, and a list of
/// many names costs more than the takes.
#[derive(Clone, Copy, Debug)]
struct Share {
    doublings: u32,
    random: u32,
}

/// How much of a list a window has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    All,
    Part,
}

impl Share {
    /// Returns `None` if there was no competition, or the lowest priority has to be taken first.
    fn among<const N: usize>(window: &mut ItemWindow<N>, format: QueueFormat) -> Option<Self> {
        let doublings = window.misses;
        (doublings > 0 && !format.has_priority())
            .then(|| Self { doublings, random: window.next_random() })
    }

    const fn has(self, key: Key) -> bool {
        // Mixed, for neighbours are to be in the shares of different takers.
        let mixed = (key.number().get() ^ self.random).wrapping_mul(0x9e37_79b9);
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca6b);
        (mixed ^ (mixed >> 13)).trailing_zeros() >= self.doublings
    }
}

impl<const N: usize> ItemWindow<N> {
    /// Makes an empty window: its first taker lists. Give takers that compete different numbers.
    pub const fn new(random: u32) -> Self {
        // A generator that is at zero stays there.
        let random = if random == 0 { 1 } else { random };
        Self { keys: Vec::new(), random, misses: 0, extent: Extent::Part, origin: None }
    }

    /// Counts the items.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether the next taker lists.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Makes the next taker list.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.origin = None;
    }

    pub(super) const fn origin(&self) -> Option<Origin> {
        self.origin
    }

    /// Notes that an item was passed over that may exist: the window does not have all items.
    pub(super) const fn pass_over(&mut self) {
        self.origin = None;
    }

    pub(super) const fn extent(&self) -> Extent {
        self.extent
    }

    /// Takes in the names of a list, in one pass. It leaves out claimed items. The origin is the
    /// state of the node before the list.
    pub(super) fn fill<'n>(
        &mut self,
        format: QueueFormat,
        names: impl IntoIterator<Item = &'n str>,
        origin: Option<Origin>,
    ) {
        let (mut claimed, mut share) = (Self::new(1), Self::new(1));
        let share_of = Share::among(self, format);
        (self.extent, self.misses) = (Extent::All, 0);
        self.keys.clear();
        for name in names {
            if let Some(item) = format.item(name) {
                self.insert(item.key());
                if share_of.is_some_and(|of| of.has(item.key())) {
                    share.insert(item.key());
                }
            } else if let Some(item) = format.claimed(name) {
                claimed.insert(item.key());
            }
        }
        if self.extent == Extent::Part && !share.is_empty() {
            self.keys = share.keys;
        }
        self.keys.retain(|key| claimed.position(*key).is_err());
        // One that is given back is the lowest again, and nothing tells of it.
        self.origin = origin.filter(|_| claimed.is_empty());
    }

    fn position(&self, key: Key) -> Result<usize, usize> {
        self.keys.binary_search_by(|other| key.cmp(other))
    }

    /// Keeps the lowest.
    fn insert(&mut self, key: Key) {
        let Err(mut position) = self.position(key) else {
            return;
        };
        if self.keys.is_full() {
            self.extent = Extent::Part;
            if position == 0 {
                return;
            }
            self.keys.remove(0);
            position -= 1;
        }
        // The list has room now.
        let _ = self.keys.insert(position, key);
    }

    /// Takes out the lowest item.
    pub(super) fn pop(&mut self) -> Option<Key> {
        self.keys.pop()
    }

    /// Puts the lowest back.
    pub(super) fn push(&mut self, key: Key) {
        // The list has room where the key was popped from; else the next list shows it.
        let _ = self.keys.push(key);
    }

    /// Notes that an item was taken: there is less competition than there seemed to be.
    pub(super) const fn hit(&mut self) {
        self.misses = self.misses.saturating_sub(1);
    }

    /// Notes that another taker was faster.
    pub(super) fn miss(&mut self) {
        self.misses = (self.misses + 1).min(MOST_MISSES);
        let skipped = self.next_random() % (LEAST_SKIP << self.misses);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        self.keys.truncate(self.keys.len().saturating_sub(skipped));
        if skipped > 0 {
            self.pass_over();
        }
    }

    /// Returns the next random number, by Marsaglia's generator with 32 bits.
    const fn next_random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::collections::BTreeMap;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec as List;

    use proptest::prelude::*;

    use super::*;
    use crate::children::Children;

    fn numbers<const N: usize>(window: &mut ItemWindow<N>) -> List<u32> {
        core::iter::from_fn(|| window.pop())
            .map(|key| QueueFormat::guide().name_of(key).number().get())
            .collect()
    }

    fn filled<const N: usize>(names: &[&str]) -> ItemWindow<N> {
        let mut window = ItemWindow::new(0);
        let names = &mut names.iter().copied();
        window.fill(QueueFormat::guide(), Children::listed(names), None);
        window
    }

    const NAMES: [&str; 7] = [
        "queue-0000000005",
        "claimed-queue-0000000002",
        "queue-0000000001",
        "other",
        "queue-0000000002",
        "queue-0000000009",
        "queue-0000000003",
    ];

    #[test]
    fn the_lowest_are_kept_and_what_is_claimed_is_not() {
        let mut window = filled::<9>(&NAMES);
        assert_eq!((window.len(), window.extent()), (4, Extent::All));
        assert_eq!(numbers(&mut window), [1, 3, 5, 9]);
        let mut window = filled::<2>(&NAMES);
        assert_eq!(window.extent(), Extent::Part);
        assert_eq!(numbers(&mut window), [1], "2 is claimed");
        assert!(window.is_empty());
    }

    /// With each miss the window skips twice as many items, so that one that is out of date is used
    /// up soon.
    #[test]
    fn an_outdated_window_is_used_up_in_a_few_misses() {
        let names: List<String> = (0..1024).map(|n| format!("queue-{n:010}")).collect();
        let names: List<&str> = names.iter().map(String::as_str).collect();
        for random in 0..100 {
            let mut window = ItemWindow::<1024>::new(random);
            let listed = &mut names.iter().copied();
            window.fill(QueueFormat::guide(), Children::listed(listed), None);
            let mut misses = 0;
            while window.pop().is_some() {
                window.miss();
                misses += 1;
            }
            assert!(misses < 80, "{misses}");
        }
    }

    /// Several that begin with one list.
    #[test]
    fn takers_with_one_list_part_ways() {
        let names: List<String> = (0..512).map(|n| format!("queue-{n:010}")).collect();
        let names: List<&str> = names.iter().map(String::as_str).collect();
        let mut takers: List<_> = (1..=8)
            .map(|taker: u32| {
                let mut window = ItemWindow::<512>::new(taker.wrapping_mul(0x9e37_79b9));
                let listed = &mut names.iter().copied();
                window.fill(QueueFormat::guide(), Children::listed(listed), None);
                window
            })
            .collect();
        let (mut taken, mut misses) = (List::new(), 0);
        // Each in turn, as if all requests took the same time.
        while takers.iter().any(|window| !window.is_empty()) {
            for window in &mut takers {
                match window.pop() {
                    Some(key) if taken.contains(&key) => {
                        window.miss();
                        misses += 1;
                    }
                    Some(key) => {
                        window.hit();
                        taken.push(key);
                    }
                    None => {}
                }
            }
        }
        assert!(misses * 2 < taken.len(), "{misses} misses for {} items", taken.len());
    }

    /// The next taker lists, because an item that is not in the window any more may stand.
    #[test]
    fn a_window_that_an_item_is_missing_from_has_no_origin() {
        let origin = Some(Origin { token: Token::new(1), arrivals: Arrivals::of(3, 3) });
        let filled = |names: &[&str], random| {
            let mut window = ItemWindow::<9>::new(random);
            let names = &mut names.iter().copied();
            window.fill(QueueFormat::guide(), Children::listed(names), origin);
            window
        };
        let claimed = filled(&NAMES, 1);
        assert_eq!(claimed.origin(), None, "one that is claimed may be given back");
        let names = ["queue-0000000001", "queue-0000000002", "queue-0000000003"];
        for random in 1..20 {
            let mut window = filled(&names, random);
            assert_eq!(window.origin(), origin);
            window.pop();
            assert_eq!(window.origin(), origin, "it is taken");
            let before = window.len();
            window.miss();
            let is_whole = window.len() == before;
            assert_eq!(window.origin().is_some(), is_whole, "{before} {}", window.len());
        }
    }

    /// Else each taker lists whenever all together have taken as much as one remembers.
    #[test]
    fn takers_of_a_long_queue_share_it_and_list_seldom() {
        const TAKERS: u32 = 16;
        const ITEMS: u32 = 2_000;
        let mut items: BTreeMap<u32, String> =
            (0..ITEMS).map(|number| (number, format!("queue-{number:010}"))).collect();
        let mut takers: List<_> = (1..=TAKERS)
            .map(|taker| ItemWindow::<32>::new(taker.wrapping_mul(0x9e37_79b9)))
            .collect();
        let (mut lists, mut misses) = (0, 0);
        while !items.is_empty() {
            for window in &mut takers {
                match window.pop() {
                    None => {
                        let names = items.values().map(String::as_str);
                        window.fill(QueueFormat::guide(), names, None);
                        lists += 1;
                    }
                    Some(key) if items.remove(&key.number().get()).is_some() => window.hit(),
                    Some(_) => {
                        window.miss();
                        misses += 1;
                    }
                }
            }
        }
        let all_that_each_remembers = TAKERS * ITEMS / 32;
        assert!(lists < all_that_each_remembers / 2, "{lists} lists, {misses} misses");
        assert!(misses < ITEMS, "{misses} misses");
    }

    proptest! {
        #[test]
        fn a_pass_keeps_the_lowest(listed in proptest::collection::vec(0_u32..200, 0..100)) {
            let names: List<String> = listed.iter().map(|n| format!("queue-{n:010}")).collect();
            let names: List<&str> = names.iter().map(String::as_str).collect();
            let mut window = filled::<16>(&names);
            let mut expected = listed;
            expected.sort_unstable();
            expected.dedup();
            let is_all = expected.len() <= 16;
            expected.truncate(16);
            prop_assert_eq!(window.extent() == Extent::All, is_all);
            prop_assert_eq!(numbers(&mut window), expected);
        }
    }
}
