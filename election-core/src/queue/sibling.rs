//! Queues of other formats and libraries. Their items do not mix with those of a taker.

use thiserror::Error;

use super::format::QueueFormat;
use crate::name::Sequence;

/// A queue of another format or library. A taker would wait beside its items, or take data in
/// another form than they were put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum SiblingQueue {
    /// Items of [`QueueFormat::guide`].
    #[error("items `queue-<number>`, those of a queue")]
    Guide,
    /// Items of [`QueueFormat::guide_with_priority`].
    #[error("items `queue-YY-<number>`, those of a priority queue")]
    GuideWithPriority,
    /// Items of [`QueueFormat::distributed_queue`].
    #[error(
        "items `qn-<number>`, those of ZooKeeper's DistributedQueue or of Curator's \
         SimpleDistributedQueue"
    )]
    DistributedQueue,
    /// Items of [`QueueFormat::kazoo`].
    #[error("items `entry-PPP-<number>`, those of kazoo's Queue")]
    Kazoo,
    /// `entries` and `taken`. Its consumers claim an item beside it, which does not stop other
    /// takers.
    #[error("kazoo's LockingQueue: take from it by kazoo alone")]
    KazooLocking,
    /// `queue-<number>`, with a frame around the data. Its consumers delete an item without one.
    #[error(
        "framed items, those of Curator's DistributedQueue: take and put them by Curator alone"
    )]
    CuratorDistributed,
    /// `queue-0XXXXXXXX<number>` or `queue-1XXXXXXXX<number>`, with a frame around the data.
    #[error("items of Curator's DistributedPriorityQueue: take and put them by Curator alone")]
    CuratorPriority,
    /// `queue-|<text>|<number>`, with a frame around the data.
    #[error(
        "items of Curator's DistributedDelayQueue or DistributedIdQueue: take and put them by \
         Curator alone"
    )]
    CuratorDelayOrId,
}

/// Other queues that a list shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Siblings {
    items_of: Option<SiblingQueue>,
    locking: [Presence; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Presence {
    #[default]
    No,
    Yes,
}

impl Siblings {
    pub(super) fn take_in(&mut self, own: QueueFormat, name: &str) {
        match name {
            "entries" => self.locking[0] = Presence::Yes,
            "taken" => self.locking[1] = Presence::Yes,
            name if own.item(name).is_none() => {
                self.items_of = self.items_of.or_else(|| SiblingQueue::of_item(name));
            }
            _ => {}
        }
    }

    pub(super) fn found(self) -> Option<SiblingQueue> {
        match self.locking {
            [Presence::Yes, Presence::Yes] => Some(SiblingQueue::KazooLocking),
            _ => self.items_of,
        }
    }
}

impl SiblingQueue {
    fn of_item(name: &str) -> Option<Self> {
        let formats = [
            (QueueFormat::guide(), Self::Guide),
            (QueueFormat::guide_with_priority(), Self::GuideWithPriority),
            (QueueFormat::distributed_queue(), Self::DistributedQueue),
            (QueueFormat::kazoo(), Self::Kazoo),
        ];
        let own = formats.iter().find(|(format, _)| format.item(name).is_some());
        own.map(|(_, sibling)| *sibling).or_else(|| Self::of_curators_item(name))
    }

    fn of_curators_item(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("queue-")?;
        let (start, number) = rest.split_at_checked(rest.len().checked_sub(10)?)?;
        Sequence::at_end_of(number)?;
        match start.as_bytes() {
            [b'0' | b'1', pattern @ ..] if pattern.len() == 8 => {
                pattern.iter().all(u8::is_ascii_hexdigit).then_some(Self::CuratorPriority)
            }
            [b'|', .., b'|'] => Some(Self::CuratorDelayOrId),
            _ => None,
        }
    }

    /// Recognises the queue by the data of an item, if its name does not show it.
    pub(super) fn of_data(own: QueueFormat, data: &[u8]) -> Option<Self> {
        (own == QueueFormat::guide() && is_framed(data)).then_some(Self::CuratorDistributed)
    }
}

/// Returns whether the data have Curator's frame: a version, parts with their lengths, and the end.
fn is_framed(data: &[u8]) -> bool {
    let Some(mut rest) = data.strip_prefix(&[0, 1, 0, 1]) else {
        return false;
    };
    loop {
        match rest {
            [1, a, b, c, d, parts @ ..] => {
                let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d]));
                match length.ok().and_then(|length| parts.get(length..)) {
                    Some(behind) => rest = behind,
                    None => return false,
                }
            }
            end => return end == [2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: QueueFormat, names: &[&str]) -> Option<SiblingQueue> {
        let mut siblings = Siblings::default();
        for name in names {
            siblings.take_in(own, name);
        }
        siblings.found()
    }

    #[test]
    fn items_of_other_queues_are_told_by_their_names() {
        let own = QueueFormat::guide();
        for (name, sibling) in [
            ("queue-05-0000000001", SiblingQueue::GuideWithPriority),
            ("qn-0000000001", SiblingQueue::DistributedQueue),
            ("entry-100-0000000001", SiblingQueue::Kazoo),
            ("queue-1000000050000000001", SiblingQueue::CuratorPriority),
            ("queue-0FFFFFFFF0000000001", SiblingQueue::CuratorPriority),
            ("queue-|000001926A5B3C4D|0000000001", SiblingQueue::CuratorDelayOrId),
            ("queue-|job|0000000001", SiblingQueue::CuratorDelayOrId),
        ] {
            assert_eq!(found(own, &["queue-0000000007", name]), Some(sibling), "{name}");
        }
        let priority = QueueFormat::guide_with_priority();
        assert_eq!(found(priority, &["queue-0000000001"]), Some(SiblingQueue::Guide));
        let locking = ["entries", "taken"];
        assert_eq!(found(QueueFormat::kazoo(), &locking), Some(SiblingQueue::KazooLocking));
    }

    #[test]
    fn own_items_claims_and_strangers_are_no_siblings() {
        for (own, item) in [
            (QueueFormat::guide(), "queue-0000000001"),
            (QueueFormat::guide_with_priority(), "queue-05-0000000001"),
            (QueueFormat::distributed_queue(), "qn-0000000001"),
            (QueueFormat::kazoo(), "entry-100-0000000001"),
        ] {
            let names = [item, "claimed-queue-0000000001", "other", "entries", "queue-", "ä"];
            assert_eq!(found(own, &names), None);
        }
        for name in ["queue-|0000000001", "queue-2000000050000000001", "queue-10000000G0000000001"]
        {
            assert_eq!(found(QueueFormat::guide(), &[name]), None, "{name}");
        }
    }

    #[test]
    fn a_frame_is_told_from_other_data() {
        let guide = QueueFormat::guide();
        let framed: &[&[u8]] = &[
            b"\0\x01\0\x01\x01\0\0\0\x03abc\x02",
            b"\0\x01\0\x01\x01\0\0\0\0\x01\0\0\0\x01a\x02",
            b"\0\x01\0\x01\x02",
        ];
        for data in framed {
            let sibling = Some(SiblingQueue::CuratorDistributed);
            assert_eq!(SiblingQueue::of_data(guide, data), sibling, "{data:?}");
            assert_eq!(SiblingQueue::of_data(QueueFormat::distributed_queue(), data), None);
            for end in 0..data.len() {
                assert_eq!(SiblingQueue::of_data(guide, &data[..end]), None, "{end} of {data:?}");
            }
        }
        let too_long = b"\0\x01\0\x01\x01\xff\xff\xff\xffabc\x02";
        for data in [&b"abc"[..], b"\0\x01\0\x01\x02\x02", too_long] {
            assert_eq!(SiblingQueue::of_data(guide, data), None, "{data:?}");
        }
    }
}
