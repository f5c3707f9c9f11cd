//! The laws of the simulation, held against the world step by step.

mod candidates;
mod conduct;
mod contract;
mod election_node;

use election_core::{NomineeId, Token};

pub(super) use self::candidates::Candidates;
pub(super) use self::conduct::Conduct;
pub(super) use self::contract::{Contract, Entry, ServerKind, WatchKind};
pub(super) use self::election_node::Change;
use super::election::Election;
use super::outcome::Law;

/// A law that a step broke, and how.
pub(super) type Broken = (Law, String);

/// A leader that would answer "yes" if it was asked at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Valid {
    pub(super) nominee: NomineeId,
    pub(super) token: Token,
}

/// The leaders of one election that were valid so far.
///
/// Validity begins only by something that a client takes in, and ends by that or by its clock. So
/// if two leaders are valid at any moment, they are so right after the step by which the later of
/// the two became valid, and looking after each step misses nothing.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    last: Option<Valid>,
    pub(super) elections: u64,
}

impl Leaders {
    /// Takes in who is valid right now.
    pub(super) fn check(&mut self, valid: impl Iterator<Item = Valid>) -> Result<(), Broken> {
        let mut only = None;
        for leader in valid {
            if let Some(other) = only.replace(leader) {
                return Err((Law::OneValidLeader, format!("{} and {}", show(other), show(leader))));
            }
        }
        let Some(leader) = only else {
            return Ok(());
        };
        match self.last {
            Some(last) if last == leader => {}
            Some(last) if leader.token <= last.token => {
                return Err((Law::TokensGrow, format!("{} after {}", show(leader), show(last))));
            }
            Some(_) | None => {
                self.last = Some(leader);
                self.elections += 1;
            }
        }
        Ok(())
    }
}

fn show(Valid { nominee, token }: Valid) -> String {
    format!("{} with token {token:?}", name(nominee))
}

/// Nominees are called after their client and how many it had before, and after the election if
/// that is not the first: the second of client 3 is `n3.2`, or `n3.2 of /election-2`.
pub(super) fn name(nominee: NomineeId) -> String {
    let [client, _, high, low, ..] = nominee.to_bytes();
    let number = u16::from_be_bytes([high, low]);
    let name = format!("n{}.{number}", u16::from(client) + 1);
    match election_of(nominee) {
        Election::FIRST => name,
        election => format!("{name} of {election}"),
    }
}

/// The election that the nominee stands in.
pub(super) fn election_of(nominee: NomineeId) -> Election {
    let [_, election, ..] = nominee.to_bytes();
    Election::nth(election, u8::MAX)
}

const FILLING: u8 = 0xee;

/// The id of the nominee, given that of one of its attempts: these differ in the last four bytes.
fn of_every_attempt(id: NomineeId) -> NomineeId {
    let mut bytes = id.to_bytes();
    bytes.iter_mut().skip(12).for_each(|byte| *byte = FILLING);
    NomineeId::from_bytes(bytes)
}

/// The id of the nominee that is called so.
pub(super) fn nominee_id(client: usize, number: u16, election: Election) -> NomineeId {
    let mut bytes = [FILLING; 16];
    let [high, low] = number.to_be_bytes();
    let client = u8::try_from(client).unwrap_or(u8::MAX);
    for (byte, value) in bytes.iter_mut().zip([client, election.number(), high, low]) {
        *byte = value;
    }
    NomineeId::from_bytes(bytes)
}
