//! The order of contenders: which of them have their turn, and behind which the others wait.

use election_tokio::SessionId;
use election_tokio::election::Sequence;
use election_tokio::lock::Access;

/// A contender, as its name and its owner describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contender {
    pub(super) access: Access,
    pub(super) sequence: Sequence,
    pub(super) session: SessionId,
}

/// The contenders that were added so far, in their order, and which of them have their turn.
#[derive(Debug, Default)]
pub(super) struct Queue {
    count: usize,
    last: Option<Placed>,
    /// The last two that keep later ones from sharing.
    writers: [Option<Placed>; 2],
}

/// A contender and its place, counted from 1.
#[derive(Clone, Copy, Debug)]
struct Placed {
    place: usize,
    contender: Contender,
}

impl Queue {
    /// Adds the next contender, and returns the place of the nearest earlier one in its way.
    pub(super) fn add(&mut self, contender: Contender) -> Option<usize> {
        self.count += 1;
        let placed = Placed { place: self.count, contender };
        let [nearest, farther] = self.writers;
        let in_the_way = match contender.access {
            Access::Exclusive => self.last,
            // A writer of Curator's that is about to become a reader has two znodes with one
            // number.
            Access::Shared
                if nearest.is_some_and(|writer| is_same(writer.contender, contender)) =>
            {
                farther
            }
            Access::Shared => nearest,
        };
        if contender.access == Access::Exclusive {
            self.writers = [Some(placed), nearest];
        }
        self.last = Some(placed);
        in_the_way.map(|earlier| earlier.place)
    }
}

fn is_same(writer: Contender, reader: Contender) -> bool {
    writer.sequence == reader.sequence && writer.session == reader.session
}

#[cfg(test)]
mod tests {
    use Access::{Exclusive, Shared};

    use super::*;

    fn behind(contenders: &[(Access, u32, i64)]) -> Vec<Option<usize>> {
        let mut queue = Queue::default();
        let add = |&(access, number, session): &(Access, u32, i64)| {
            let sequence = Sequence::new(number).expect("a number");
            queue.add(Contender { access, sequence, session: SessionId::new(session) })
        };
        contenders.iter().map(add).collect()
    }

    #[test]
    fn a_writer_waits_for_the_next_earlier_one_and_a_reader_for_a_writer() {
        let queue = [
            (Shared, 0, 1),
            (Shared, 1, 2),
            (Exclusive, 2, 3),
            (Shared, 3, 4),
            (Exclusive, 4, 5),
            (Shared, 5, 6),
        ];
        assert_eq!(behind(&queue), [None, None, Some(2), Some(3), Some(4), Some(5)]);
    }

    #[test]
    fn a_reader_does_not_wait_for_the_writer_that_it_was() {
        let queue = [(Exclusive, 0, 1), (Shared, 0, 1), (Shared, 1, 2), (Exclusive, 2, 3)];
        assert_eq!(behind(&queue), [None, None, Some(1), Some(3)]);
        let others = [(Exclusive, 0, 1), (Exclusive, 1, 2), (Shared, 1, 2)];
        assert_eq!(behind(&others), [None, Some(1), Some(1)]);
        let forged = [(Exclusive, 0, 1), (Shared, 0, 2)];
        assert_eq!(behind(&forged), [None, Some(1)]);
    }
}
