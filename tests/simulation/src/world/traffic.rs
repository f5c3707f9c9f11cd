//! The traffic while nothing happens, and the watches that remain.

use zk_jute::{Decode, OpCode, ReplyHeader, RequestHeader, Xid};

use super::{Process, World};
use crate::checker::{Broken, Contract};
use crate::client::Client;
use crate::network::{ConnKey, PipeId};
use crate::outcome::Law;
use crate::queue::Queue;

impl World<'_> {
    /// Counts the whole frames that a client hands over.
    pub(super) fn count_sent(&mut self, client: usize, bytes: &[u8]) {
        let is_silent = self.is_silent();
        let Some(process) = self.processes.get_mut(client) else {
            return;
        };
        process.heartbeats.take_in_sent(self.now, frames(bytes));
        if process.promoted.is_empty() {
            process.heartbeats.forget();
        }
        if !is_silent {
            return;
        }
        for frame in frames(bytes) {
            let count = match RequestHeader::decode_prefix(frame).map(|header| header.opcode) {
                Ok(OpCode::PING) => &mut process.traffic.pings,
                Ok(OpCode::SYNC) => &mut process.traffic.syncs,
                Ok(OpCode::MULTI) => &mut process.traffic.checks,
                _ => &mut process.traffic.others,
            };
            *count += 1;
        }
    }

    /// Counts those that a server hands over.
    pub(super) fn count_received(&mut self, key: ConnKey, bytes: &[u8]) {
        if !self.is_silent() {
            return;
        }
        let client = self.network.way(PipeId::Down(key)).and_then(|way| self.client_of(way.to));
        let Some(process) = client.and_then(|client| self.processes.get_mut(client)) else {
            return;
        };
        for frame in frames(bytes) {
            let xid = ReplyHeader::decode_prefix(frame).map(|header| header.xid);
            process.traffic.notifications += u32::from(xid == Ok(Xid::NOTIFICATION));
        }
    }

    /// Asks each server how many watches it keeps.
    pub(super) fn check_watches(&mut self) -> Result<(), Broken> {
        // A znode that a contender has watched is gone where no contender is left.
        let are_left = Queue::LOCKS.into_iter().any(|queue| self.candidates.count(queue) > 0);
        let contenders = |process: &Process| if are_left { process.contenders_gone } else { 0 };
        let count = |process: &Process| {
            let parts = |client: &Client| client.parts() + client.parts_of_share();
            let nominees = process.client.as_ref().map_or(0, parts);
            (nominees, process.candidates_gone + contenders(process))
        };
        let (nominees, gone) = self
            .processes
            .iter()
            .map(count)
            .fold((0, 0), |(nominees, gone), (more, left)| (nominees + more, gone + left));
        // A path that a user watches in one way may be kept in another that was forgotten.
        let clients = (0..self.processes.len()).filter_map(|client| self.conduct.contract(client));
        let of_users = clients.map(Contract::watches).sum::<usize>() * 3;
        let now = self.now;
        let watches: usize = self.hosts.iter_mut().map(|host| host.watches(now)).sum();
        if watches > 2 * nominees + gone + of_users {
            let detail = format!(
                "{watches} watches of {nominees} nominees, {gone} before them, {of_users} of users"
            );
            return Err((Law::TwoWatches, detail));
        }
        Ok(())
    }
}

/// A request of a client that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// To create or delete a znode.
    Znodes,
    /// To write to one, and transactions, too.
    Anything,
}

/// Whether a client asks for such a change.
pub(super) fn changes_something(changes: Changes, bytes: &[u8]) -> bool {
    frames(bytes).any(|frame| {
        let header = RequestHeader::decode_prefix(frame);
        header.is_ok_and(|header| match header.opcode {
            OpCode::CREATE | OpCode::CREATE2 | OpCode::DELETE => true,
            OpCode::MULTI | OpCode::SET_DATA => changes == Changes::Anything,
            _ => false,
        })
    })
}

pub(super) fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*head)).ok()?;
        let (frame, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(frame)
    })
}
