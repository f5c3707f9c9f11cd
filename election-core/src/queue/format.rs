//! The names of a queue's items.

use core::fmt::{self, Write as _};

use heapless::String;

use crate::name::Sequence;

/// The beginning of the name of a claim, before the name of the item.
const CLAIMED: &str = "claimed-";

/// Room for the longest name: `entry-100-2147483646`.
pub(super) const ITEM: usize = 24;
/// Room for the longest name of a claim.
pub(super) const CLAIM: usize = ITEM + CLAIMED.len();

/// The format of the items' names: a label, the priority if there is one, and the server's number.
/// Other children of the queue's node are not items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueFormat {
    label: &'static str,
    /// Zero if the items have no priority.
    priority_digits: u8,
}

/// A priority is too great for the format of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("priority {priority}: {greatest} is the greatest of this queue")]
pub struct PriorityError {
    /// The priority.
    pub priority: u16,
    /// The greatest one.
    pub greatest: u16,
}

impl QueueFormat {
    /// `queue-<number>`, as in ZooKeeper's guide.
    pub const fn guide() -> Self {
        Self { label: "queue-", priority_digits: 0 }
    }

    /// `queue-YY-<number>`, as in ZooKeeper's guide: the priority has two digits.
    pub const fn guide_with_priority() -> Self {
        Self { label: "queue-", priority_digits: 2 }
    }

    /// `qn-<number>`, as in ZooKeeper's `DistributedQueue` and Curator's `SimpleDistributedQueue`.
    pub const fn distributed_queue() -> Self {
        Self { label: "qn-", priority_digits: 0 }
    }

    /// `entry-PPP-<number>`, as in kazoo's `Queue`: the priority has three digits.
    pub const fn kazoo() -> Self {
        Self { label: "entry-", priority_digits: 3 }
    }

    /// Returns whether the items have a priority.
    pub const fn has_priority(self) -> bool {
        self.priority_digits > 0
    }

    /// Returns whether an item can be claimed. It cannot beside kazoo's `Queue`, which takes any
    /// child for an item.
    pub(super) fn has_claims(self) -> bool {
        self != Self::kazoo()
    }

    /// Returns the greatest priority: that of the items that are taken last. Zero if there are no
    /// priorities.
    pub const fn greatest_priority(self) -> u16 {
        match self.priority_digits {
            0 => 0,
            2 => 99,
            _ => 999,
        }
    }

    /// Returns the beginning of an item's name, to which the server appends its number.
    ///
    /// # Errors
    ///
    /// The priority has too many digits.
    pub const fn prefix(self, priority: u16) -> Result<ItemPrefix, PriorityError> {
        let greatest = self.greatest_priority();
        if priority > greatest {
            return Err(PriorityError { priority, greatest });
        }
        Ok(ItemPrefix { format: self, priority })
    }

    /// Returns the item with this name; `None` if the child is not an item, or has a number that
    /// the server gives more than once: no client can distinguish such a znode from its successor, so no
    /// taker touches it.
    pub fn item(self, name: &str) -> Option<ItemName> {
        let rest = name.strip_prefix(self.label)?;
        let digits = usize::from(self.priority_digits);
        let (priority, number) = match digits {
            0 => (0, rest),
            digits => {
                let (priority, number) = rest.split_at_checked(digits)?;
                (decimal(priority)?, number.strip_prefix('-')?)
            }
        };
        let number = (number.len() == 10).then(|| Sequence::at_end_of(number)).flatten()?;
        Some(ItemName { format: self, key: Key { priority, number } })
    }

    /// Returns the item that the child with this name claims.
    pub fn claimed(self, name: &str) -> Option<ItemName> {
        self.item(name.strip_prefix(CLAIMED)?)
    }

    pub(super) const fn name_of(self, key: Key) -> ItemName {
        ItemName { format: self, key }
    }
}

fn decimal(digits: &str) -> Option<u16> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The beginning of an item's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ItemPrefix {
    format: QueueFormat,
    priority: u16,
}

impl fmt::Display for ItemPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.format.label)?;
        match usize::from(self.format.priority_digits) {
            0 => Ok(()),
            digits => write!(f, "{:0digits$}-", self.priority),
        }
    }
}

/// The priority and the number, which distinguish the items of a queue, and order them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    priority: u16,
    number: Sequence,
}

impl Key {
    pub(super) const fn number(self) -> Sequence {
        self.number
    }
}

/// The name of an item. The order of names is that in which items are taken: the lowest priority
/// first, then the lowest number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemName {
    format: QueueFormat,
    key: Key,
}

impl ItemName {
    /// Returns its priority; zero if items have none.
    pub const fn priority(self) -> u16 {
        self.key.priority
    }

    /// Returns the server's number.
    pub const fn number(self) -> Sequence {
        self.key.number
    }

    pub(super) const fn key(self) -> Key {
        self.key
    }

    /// Returns the name of the item, and that of its claim.
    pub(super) fn texts(self) -> (String<ITEM, u8>, String<CLAIM, u8>) {
        let (mut item, mut claim) = (String::new(), String::new());
        // The name has room: the longest label and priority were counted.
        let _ = write!(item, "{self}");
        let _ = write!(claim, "{CLAIMED}{self}");
        (item, claim)
    }
}

impl fmt::Display for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, key: Key { priority, number } } = *self;
        write!(f, "{}{number}", ItemPrefix { format, priority })
    }
}

impl fmt::Debug for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ItemName({self})")
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn items_are_called_as_elsewhere() {
        for (format, priority, prefix, name) in [
            (QueueFormat::guide(), 0, "queue-", "queue-0000000007"),
            (QueueFormat::guide_with_priority(), 5, "queue-05-", "queue-05-0000000007"),
            (QueueFormat::distributed_queue(), 0, "qn-", "qn-0000000007"),
            (QueueFormat::kazoo(), 100, "entry-100-", "entry-100-0000000007"),
        ] {
            assert_eq!(format.prefix(priority).map(|prefix| prefix.to_string()), Ok(prefix.into()));
            let item = format.item(name).expect("an item");
            assert_eq!((item.to_string().as_str(), item.priority()), (name, priority));
            assert_eq!(item.number().get(), 7);
            let (text, claim) = item.texts();
            assert_eq!((text.as_str(), format.claimed(&claim)), (name, Some(item)));
            assert_eq!(format.item(&claim), None, "a claim is no item");
            let greatest = format.greatest_priority();
            let error = format.prefix(greatest + 1).unwrap_err();
            assert_eq!(error, PriorityError { priority: greatest + 1, greatest });
        }
        let longest = QueueFormat::kazoo().item("entry-999-2147483646").unwrap();
        assert_eq!(longest.texts().1.as_str(), "claimed-entry-999-2147483646");
    }

    /// The items of Curator's priority queue, numbers that recur, and what is no item at all.
    #[test]
    fn other_children_are_no_items() {
        for name in [
            "",
            "queue-",
            "queue-7",
            "queue-00000000007",
            "queue-2147483647",
            "queue--2147483648",
            "queue--000000001",
            "queue-05-0000000007",
            "queue-1000000050000000007",
            "qn-0000000007",
            "claimed-queue-0000000007",
            "_c_queue-0000000007",
        ] {
            assert_eq!(QueueFormat::guide().item(name), None, "{name}");
        }
        for name in [
            "queue-0000000007",
            "queue-5-0000000007",
            "queue-005-0000000007",
            "queue-+5-0000000007",
            "queue-05-2147483647",
            "queue-é-0000000007",
            "queue-1000000050000000007",
        ] {
            assert_eq!(QueueFormat::guide_with_priority().item(name), None, "{name}");
        }
    }

    #[test]
    fn the_lowest_priority_is_first_then_the_lowest_number() {
        let item = |name| QueueFormat::guide_with_priority().item(name).unwrap();
        assert!(item("queue-04-0000000009") < item("queue-05-0000000001"));
        assert!(item("queue-05-0000000001") < item("queue-05-0000000002"));
    }
}
