//! One table of watches.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::path;
use crate::transport::ConnectionId;

/// How long a watch stays, and how deep it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WatchMode {
    /// One event.
    Standard,
    /// All events.
    Persistent,
    /// All events, also those of all descendants.
    Recursive,
}

impl WatchMode {
    pub(super) const ALL: [Self; 3] = [Self::Standard, Self::Persistent, Self::Recursive];
}

/// The modes in which a connection watches a path. Since 3.9.0 they do not replace one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Modes(u8);

impl Modes {
    fn add(&mut self, mode: WatchMode) {
        self.0 |= 1 << (mode as u8);
    }

    fn remove(&mut self, mode: WatchMode) {
        self.0 &= !(1 << (mode as u8));
    }

    fn contains(self, mode: WatchMode) -> bool {
        self.0 & (1 << (mode as u8)) != 0
    }
}

/// Connections and the paths that they watch, with a look-up from both sides.
#[derive(Debug, Default)]
pub(super) struct Table {
    by_path: BTreeMap<String, BTreeMap<ConnectionId, Modes>>,
    by_connection: BTreeMap<ConnectionId, BTreeSet<String>>,
    /// The number of recursive watches. If it is 0, no ancestor needs a look-up.
    recursive: usize,
    /// The weight of all watches.
    bytes: usize,
}

/// Estimates how many bytes a connection's watch takes: the path is stored twice.
pub(super) const fn weight(path: &str) -> usize {
    128 + 2 * path.len()
}

impl Table {
    pub(super) fn add(&mut self, connection: ConnectionId, path: &str, mode: WatchMode) {
        let watchers = self.by_path.entry(path.to_string()).or_default();
        let modes = watchers.entry(connection).or_default();
        if mode == WatchMode::Recursive && !modes.contains(mode) {
            self.recursive += 1;
        }
        if *modes == Modes::default() {
            self.bytes += weight(path);
        }
        modes.add(mode);
        let paths = self.by_connection.entry(connection).or_default();
        paths.insert(path.to_string());
    }

    pub(super) fn contains(
        &self,
        connection: ConnectionId,
        path: &str,
        any_of: &[WatchMode],
    ) -> bool {
        let modes = self.by_path.get(path).and_then(|all| all.get(&connection));
        modes.is_some_and(|modes| any_of.iter().any(|mode| modes.contains(*mode)))
    }

    /// Removes these modes, and returns whether there were any.
    pub(super) fn remove(
        &mut self,
        connection: ConnectionId,
        path: &str,
        modes: &[WatchMode],
    ) -> bool {
        let found = self.contains(connection, path, modes);
        for mode in modes {
            self.remove_mode(connection, path, *mode);
        }
        found
    }

    pub(super) fn forget(&mut self, connection: ConnectionId) {
        for path in self.by_connection.remove(&connection).unwrap_or_default() {
            for mode in WatchMode::ALL {
                self.remove_mode(connection, &path, mode);
            }
        }
    }

    /// Returns the connections that watch exactly this path, and removes their one-shot watches.
    pub(super) fn fire(&mut self, path: &str) -> Vec<ConnectionId> {
        let Some(watchers) = self.by_path.get(path) else {
            return Vec::new();
        };
        let fired: Vec<ConnectionId> = watchers.keys().copied().collect();
        for connection in &fired {
            self.remove_mode(*connection, path, WatchMode::Standard);
        }
        fired
    }

    /// Returns the connections that watch this path, or one above it recursively; each once.
    pub(super) fn fire_with_ancestors(&mut self, path: &str) -> Vec<ConnectionId> {
        let mut fired = self.fire(path);
        if self.recursive == 0 {
            return fired;
        }
        let mut below = path;
        while let Some((parent, name)) = path::split(below)
            && !name.is_empty()
        {
            let watchers = self.by_path.get(parent).into_iter().flatten();
            let recursive = watchers.filter(|(_, modes)| modes.contains(WatchMode::Recursive));
            fired.extend(recursive.map(|(connection, _)| *connection));
            below = parent;
        }
        fired.sort_unstable();
        fired.dedup();
        fired
    }

    /// Estimates how many bytes all watches take.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of watches: one for each connection and path.
    pub(super) fn len(&self) -> usize {
        self.by_path.values().map(BTreeMap::len).sum()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.by_path.keys()
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = &ConnectionId> {
        self.by_connection.keys()
    }

    fn remove_mode(&mut self, connection: ConnectionId, path: &str, mode: WatchMode) {
        let Some(watchers) = self.by_path.get_mut(path) else {
            return;
        };
        let Some(modes) = watchers.get_mut(&connection) else {
            return;
        };
        if mode == WatchMode::Recursive && modes.contains(mode) {
            self.recursive -= 1;
        }
        modes.remove(mode);
        if *modes != Modes::default() {
            return;
        }
        self.bytes -= weight(path);
        watchers.remove(&connection);
        if watchers.is_empty() {
            self.by_path.remove(path);
        }
        if let Some(paths) = self.by_connection.get_mut(&connection) {
            paths.remove(path);
            if paths.is_empty() {
                self.by_connection.remove(&connection);
            }
        }
    }
}
