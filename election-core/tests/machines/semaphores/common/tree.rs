//! The state that the ensemble has committed, and the part that a server that lags has applied.

/// The children of the semaphore's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Home {
    Locks,
    Leases,
}

impl Home {
    pub const ALL: [Self; 2] = [Self::Locks, Self::Leases];

    pub fn called(name: &str) -> Self {
        match name {
            "locks" => Self::Locks,
            "leases" => Self::Leases,
            _ => panic!("{name} is no child of a semaphore's node"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Znode {
    pub home: Home,
    pub name: String,
    /// The session that it goes with.
    pub owner: Option<i64>,
    pub czxid: i64,
}

/// The semaphore's node and what is below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    pub has_node: bool,
    /// The number that comes next below each home that there is.
    pub next: [Option<u32>; 2],
    pub znodes: Vec<Znode>,
}

impl Tree {
    pub const EMPTY: Self = Self { has_node: false, next: [None; 2], znodes: Vec::new() };
    pub const PREPARED: Self = Self { has_node: true, next: [Some(0); 2], znodes: Vec::new() };

    pub fn find(&self, home: Home, name: &str) -> Option<&Znode> {
        self.znodes.iter().find(|znode| znode.home == home && znode.name == name)
    }

    pub fn has(&self, home: Home) -> bool {
        self.next[home as usize].is_some()
    }

    /// Returns the names, the last one first: no order is promised.
    pub fn names(&self, home: Home) -> Vec<String> {
        let below = self.znodes.iter().rev().filter(|znode| znode.home == home);
        below.map(|znode| znode.name.clone()).collect()
    }

    pub fn is_empty(&self, home: Home) -> bool {
        self.znodes.iter().all(|znode| znode.home != home)
    }

    pub fn owned_by(&self, session: i64) -> impl Iterator<Item = &Znode> {
        self.znodes.iter().filter(move |znode| znode.owner == Some(session))
    }

    pub fn count(&self, home: Home, session: i64) -> usize {
        self.owned_by(session).filter(|znode| znode.home == home).count()
    }
}
