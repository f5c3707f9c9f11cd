//! The law of servers that are not ZooKeeper's: what is held there is valid for no longer than its client is connected,
//! and clients that ask for a lease hold nothing.

use std::collections::BTreeMap;

use election_tokio::{Client, ConnectionState, Token, Updates};

use super::grants::{Grant, Grants};
use super::{Book, Laws};
use crate::others::Promise;

/// The state of each process' client.
#[derive(Debug, Default)]
pub(super) struct Connections(BTreeMap<usize, Updates<ConnectionState>>);

impl Connections {
    fn lasts(&self, process: usize) -> bool {
        let state = self.0.get(&process).map(Updates::latest);
        matches!(state, Some(ConnectionState::Connected { .. }))
    }
}

impl Laws {
    /// Notes the client of a process that begins a life.
    pub(crate) fn is_connected_by(&self, process: usize, client: &Client) {
        self.book().connections.0.insert(process, client.connection_updates());
    }

    /// Whether no two are valid that exclude each other, so that tokens are given in their order, too.
    pub(crate) fn exclude_each_other(&self) -> bool {
        self.promise == Promise::Lease
    }

    /// Checks that what a process is given was promised.
    pub(super) fn is_given(&self, process: usize, token: Token) {
        if self.promise == Promise::Nothing {
            self.broken(format!("{process} is given {token} by servers that grant no lease"));
        }
    }

    /// Checks that nothing is valid by advice, at any moment, of a process that is not connected.
    pub(crate) fn nothing_is_valid_without_a_connection(&self) {
        if self.promise != Promise::Advice {
            return;
        }
        let mut book = self.book();
        let Book { connections, leaders, locks, operated, permits, slots, well, .. } = &mut *book;
        let valid = [
            processes(leaders),
            processes(&mut locks.holders),
            processes(&mut operated.leaders),
            processes(&mut permits.holders),
            processes(&mut slots.holders),
            processes(&mut well.leaders),
        ];
        let alone = valid.into_iter().flatten().find(|(process, _)| !connections.lasts(*process));
        if let Some((process, token)) = alone {
            book.broken(format!("{process} is not connected, and {token} is valid"));
        }
    }
}

/// Returns the processes of the grants that are valid, with their tokens.
fn processes<Of: Copy, G: Grant>(grants: &mut Grants<Of, G>) -> Vec<(usize, Token)> {
    grants.look().valid.into_iter().map(|(_, process, token)| (process, token)).collect()
}
