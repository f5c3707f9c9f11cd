//! The laws of the simulation; they are checked against the world after every step.

mod candidates;
mod conduct;
mod contract;
mod election_node;
mod holders;
mod operating;

use election_core::NomineeId;
use election_core::format::Access;

pub(super) use self::candidates::Candidates;
pub(super) use self::conduct::Conduct;
pub(super) use self::contract::{Contract, Entry, ServerKind, WatchKind};
pub(super) use self::election_node::Change;
pub(super) use self::holders::{Holders, Valid};
pub(super) use self::operating::{Asked, Operated, Word, epoch_of, mark_of};
use super::outcome::Law;
use super::queue::{Kind, Queue};

/// A law that a step broke, and how.
pub(super) type Broken = (Law, String);

/// Returns the name of a nominee: its client and how many it had before, and its queue if that is not the first
/// election.
pub(super) fn name(nominee: NomineeId) -> String {
    let [client, _, high, low, ..] = nominee.to_bytes();
    let number = u16::from_be_bytes([high, low]);
    let queue = queue_of(nominee);
    let letter = match (queue.kind(), access_of(nominee)) {
        (Kind::Election, _) => 'n',
        (_, Access::Exclusive) => 'c',
        (_, Access::Shared) => 'r',
    };
    let name = format!("{letter}{}.{number}", u16::from(client) + 1);
    match queue {
        Queue::FIRST => name,
        queue => format!("{name} of {queue}"),
    }
}

/// Returns the queue of the nominee, or of the contender.
pub(super) fn queue_of(nominee: NomineeId) -> Queue {
    let [_, queue, ..] = nominee.to_bytes();
    Queue::numbered(queue)
}

/// Returns the access that it wants.
pub(super) fn access_of(nominee: NomineeId) -> Access {
    let [_, _, _, _, access, ..] = nominee.to_bytes();
    if access == SHARED { Access::Shared } else { Access::Exclusive }
}

/// Whether the one keeps the other from holding: said here once more, for the crates may be wrong.
pub(super) fn excludes(one: NomineeId, other: NomineeId) -> bool {
    ![one, other].iter().all(|contender| access_of(*contender) == Access::Shared)
}

const FILLING: u8 = 0xee;

/// The byte in a reader's id that replaces some filling.
const SHARED: u8 = 0x5a;

/// Returns the id of the nominee, given that of one of its attempts: these differ in the last four
/// bytes.
fn of_every_attempt(id: NomineeId) -> NomineeId {
    let mut bytes = id.to_bytes();
    bytes.iter_mut().skip(12).for_each(|byte| *byte = FILLING);
    NomineeId::from_bytes(bytes)
}

/// Returns the id of the nominee that is called so.
pub(super) fn nominee_id(client: usize, number: u16, queue: Queue, access: Access) -> NomineeId {
    let mut bytes = [FILLING; 16];
    let [high, low] = number.to_be_bytes();
    let client = u8::try_from(client).unwrap_or(u8::MAX);
    let access = if access == Access::Shared { SHARED } else { FILLING };
    for (byte, value) in bytes.iter_mut().zip([client, queue.number(), high, low, access]) {
        *byte = value;
    }
    NomineeId::from_bytes(bytes)
}
