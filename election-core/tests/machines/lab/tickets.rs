//! Tickets as numbers, in the order in which they were given.

use core::hash::{Hash as _, Hasher};

use election_core::Ticket;

/// Returns the incarnation and the step of a ticket, in the order in which they were given: twice the step, and one
/// more if it is of a recipe's second machine. A cleanup has none.
///
/// The fields are private, and the text is slow: this is asked for each ticket of each world. So it takes what the
/// ticket's hash is made of; `tickets_are_read_as_they_are_written` holds it to the text.
pub(super) fn parts(ticket: Ticket) -> Option<(u64, u64)> {
    let mut fields = Fields::default();
    ticket.hash(&mut fields);
    match fields {
        Fields { count: 4, of: [_, part, incarnation, step] } => {
            Some((incarnation, 2 * step + part))
        }
        _ => None,
    }
}

/// Keeps the numbers that are hashed.
#[derive(Default)]
struct Fields {
    count: usize,
    of: [u64; 4],
}

impl Hasher for Fields {
    fn write(&mut self, _: &[u8]) {
        panic!("a ticket is made of numbers");
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(u64::try_from(number).expect("a variant"));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.of[self.count] = number;
        self.count += 1;
    }

    fn finish(&self) -> u64 {
        unreachable!("it is no hash")
    }
}

/// Where the incarnation begins in the number of a ticket.
pub(super) const INCARNATION: u32 = 41;

/// Returns a ticket as one number, in the order in which they were given; a cleanup is the last.
pub(super) fn whole(ticket: Ticket) -> u64 {
    match parts(ticket) {
        Some((incarnation, step)) => (incarnation << INCARNATION) | step,
        None => u64::MAX,
    }
}

#[test]
fn tickets_are_read_as_they_are_written() {
    let first = Ticket::request(election_core::Incarnation::FIRST.next(), 7);
    assert_eq!((first.to_string().as_str(), parts(first)), ("1.7", Some((1, 14))));
    assert_eq!(parts(Ticket::CLEANUP), None);
}
