//! Names for the formats of a queue's items.

use core::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use election_tokio::queue::QueueFormat;

/// The format of a queue's items. A taker sees only items of its own format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueueFormatName {
    /// `queue-<number>`, as in ZooKeeper's guide.
    Guide,
    /// `queue-YY-<number>`, as in ZooKeeper's guide, with a priority from 0 to 99.
    GuidePriority,
    /// `qn-<number>`, as in ZooKeeper's `DistributedQueue` and Curator's `SimpleDistributedQueue`.
    DistributedQueue,
    /// `entry-PPP-<number>`, as in kazoo's `Queue`, with a priority from 0 to 999.
    Kazoo,
}

impl QueueFormatName {
    pub(crate) const fn format(self) -> QueueFormat {
        match self {
            Self::Guide => QueueFormat::guide(),
            Self::GuidePriority => QueueFormat::guide_with_priority(),
            Self::DistributedQueue => QueueFormat::distributed_queue(),
            Self::Kazoo => QueueFormat::kazoo(),
        }
    }

    /// Returns the format of most of these names.
    pub(crate) fn recognised(names: &[impl AsRef<str>]) -> Option<Self> {
        let count = |format: Self| {
            let format = format.format();
            names.iter().filter(|name| format.item(name.as_ref()).is_some()).count()
        };
        let counted = Self::value_variants().iter().map(|format| (count(*format), *format));
        // Of several with the same count, the first.
        let (most, format) = counted.rev().max_by_key(|(count, _)| *count)?;
        (most > 0).then_some(format)
    }
}

impl fmt::Display for QueueFormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_recognised_by_its_items() {
        for (names, expected) in [
            (&["queue-0000000001", "claimed-queue-0000000001"][..], Some(QueueFormatName::Guide)),
            (&["queue-07-0000000001"], Some(QueueFormatName::GuidePriority)),
            (&["qn-0000000001"], Some(QueueFormatName::DistributedQueue)),
            (&["entry-100-0000000001"], Some(QueueFormatName::Kazoo)),
            (
                &["qn-0000000001", "queue-0000000001", "qn-0000000002"],
                Some(QueueFormatName::DistributedQueue),
            ),
            (&["a", "queue-1"], None),
            (&[], None),
        ] {
            assert_eq!(QueueFormatName::recognised(names), expected, "{names:?}");
        }
    }
}
