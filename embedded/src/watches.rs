//! Watches, in two tables as ZooKeeper's servers keep them. `getData` and `exists` fill the first,
//! listing children the second. Persistent watches are in both, recursive ones in the first.

mod table;

use alloc::vec::Vec;

use zk_jute::records::{EventType, WatcherType};

use self::table::{Table, WatchMode};
use crate::access::AccessList;
use crate::path;
use crate::transport::ConnectionId;
use crate::txn::TreeChange;

/// The watches of all connections of one replica.
#[derive(Debug)]
pub(crate) struct Watches {
    data: Table,
    child: Table,
    max_bytes: usize,
}

/// The memory for watches is full.
#[derive(Debug)]
pub(crate) struct WatchesFull;

/// An event for a connection. It is sent if the connection may read the znode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Notification<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) kind: EventType,
    pub(crate) path: &'a str,
    /// The access list that decides whether the connection may hear of it.
    pub(crate) access: &'a AccessList,
}

/// The protocol has no such kind of watch.
#[derive(Debug)]
pub(crate) struct UnknownWatcherType;

impl Watches {
    /// Creates the tables, empty, with room for this many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { data: Table::default(), child: Table::default(), max_bytes }
    }

    /// Adds a one-shot watch on a znode's data and existence.
    pub(crate) fn watch_data(
        &mut self,
        connection: ConnectionId,
        path: &str,
    ) -> Result<(), WatchesFull> {
        self.ask_for_room(path)?;
        self.data.add(connection, path, WatchMode::Standard);
        Ok(())
    }

    /// Adds a one-shot watch on a znode's list of children.
    pub(crate) fn watch_children(
        &mut self,
        connection: ConnectionId,
        path: &str,
    ) -> Result<(), WatchesFull> {
        self.ask_for_room(path)?;
        self.child.add(connection, path, WatchMode::Standard);
        Ok(())
    }

    pub(crate) fn watch_persistently(
        &mut self,
        connection: ConnectionId,
        path: &str,
    ) -> Result<(), WatchesFull> {
        self.ask_for_room(path)?;
        self.data.add(connection, path, WatchMode::Persistent);
        self.child.add(connection, path, WatchMode::Persistent);
        Ok(())
    }

    pub(crate) fn watch_recursively(
        &mut self,
        connection: ConnectionId,
        path: &str,
    ) -> Result<(), WatchesFull> {
        self.ask_for_room(path)?;
        self.data.add(connection, path, WatchMode::Recursive);
        Ok(())
    }

    /// Checks the room for a watch. A watch in both tables needs room for one only: the bound is on
    /// memory, and not exact to the byte.
    fn ask_for_room(&self, path: &str) -> Result<(), WatchesFull> {
        let taken = self.data.bytes() + self.child.bytes();
        if taken + table::weight(path) <= self.max_bytes { Ok(()) } else { Err(WatchesFull) }
    }

    /// Returns whether the connection has such a watch.
    pub(crate) fn contains(
        &self,
        connection: ConnectionId,
        path: &str,
        kind: WatcherType,
    ) -> Result<bool, UnknownWatcherType> {
        let (in_data, in_child) = meant_by(kind)?;
        Ok(self.data.contains(connection, path, in_data)
            || self.child.contains(connection, path, in_child))
    }

    /// Removes such watches, and returns whether there were any.
    pub(crate) fn remove(
        &mut self,
        connection: ConnectionId,
        path: &str,
        kind: WatcherType,
    ) -> Result<bool, UnknownWatcherType> {
        let (in_data, in_child) = meant_by(kind)?;
        let from_data = self.data.remove(connection, path, in_data);
        let from_child = self.child.remove(connection, path, in_child);
        Ok(from_data || from_child)
    }

    /// Removes the watches of a connection that ends.
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.data.forget(connection);
        self.child.forget(connection);
    }

    /// Returns the notifications of a change, in order, and removes the one-shot watches that it
    /// fired.
    pub(crate) fn fire<'a>(&mut self, change: &'a TreeChange) -> Vec<Notification<'a>> {
        let mut notifications = Vec::new();
        let mut tell = |connections: Vec<ConnectionId>, kind, path, access| {
            notifications.extend(connections.into_iter().map(|connection| Notification {
                connection,
                kind,
                path,
                access,
            }));
        };
        match change {
            TreeChange::Created { path, access, parent_access } => {
                let created = self.data.fire_with_ancestors(path);
                tell(created, EventType::NODE_CREATED, path, access);
                let parent = parent_of(path);
                let listing = self.child.fire(parent);
                tell(listing, EventType::NODE_CHILDREN_CHANGED, parent, parent_access);
            }
            TreeChange::Deleted { path, access, parent_access } => {
                let told = self.data.fire_with_ancestors(path);
                let mut listing = self.child.fire(path);
                listing.retain(|connection| !told.contains(connection));
                tell(told, EventType::NODE_DELETED, path, access);
                tell(listing, EventType::NODE_DELETED, path, access);
                let parent = parent_of(path);
                let listing = self.child.fire(parent);
                tell(listing, EventType::NODE_CHILDREN_CHANGED, parent, parent_access);
            }
            TreeChange::DataSet { path, access } => {
                let changed = self.data.fire_with_ancestors(path);
                tell(changed, EventType::NODE_DATA_CHANGED, path, access);
            }
        }
        notifications
    }

    pub(crate) fn counts(&self) -> WatchCounts {
        WatchCounts {
            connections: self
                .data
                .connections()
                .chain(self.child.connections())
                .collect::<alloc::collections::BTreeSet<_>>()
                .len(),
            paths: self
                .data
                .paths()
                .chain(self.child.paths())
                .collect::<alloc::collections::BTreeSet<_>>()
                .len(),
            watches: self.data.len() + self.child.len(),
        }
    }
}

/// The numbers that `wchs` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchCounts {
    pub(crate) connections: usize,
    pub(crate) paths: usize,
    pub(crate) watches: usize,
}

/// Returns the modes in the data table and in the child table.
fn meant_by(
    kind: WatcherType,
) -> Result<(&'static [WatchMode], &'static [WatchMode]), UnknownWatcherType> {
    Ok(match kind {
        WatcherType::CHILDREN => (&[], &[WatchMode::Standard]),
        WatcherType::DATA => (&[WatchMode::Standard], &[]),
        WatcherType::ANY => (&WatchMode::ALL, &WatchMode::ALL),
        WatcherType::PERSISTENT => (&[WatchMode::Persistent], &[WatchMode::Persistent]),
        WatcherType::PERSISTENT_RECURSIVE => (&[WatchMode::Recursive], &[]),
        _ => return Err(UnknownWatcherType),
    })
}

fn parent_of(path: &str) -> &str {
    path::split(path).map_or(path::ROOT, |(parent, _)| parent)
}
