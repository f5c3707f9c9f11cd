//! The znode that heartbeats check.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use zk_session::Instant;

use crate::key::RecipeKey;

/// The znode that heartbeats check, and the znodes that they could check.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    pub(crate) checked: Option<Checked>,
    /// Recipes that need the lease. Some may be over by now.
    untried: BTreeSet<RecipeKey>,
    /// Recipes with a znode, by its path on the server, that was refused since the lease was last
    /// prolonged. Each is tried once before any is tried again; otherwise two refused ones would
    /// take turns without end.
    refused: BTreeMap<RecipeKey, String>,
    /// The lease deadline at the last refusal.
    lease: Option<Instant>,
}

/// A znode that a heartbeat checks, by its path on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) key: RecipeKey,
    pub(crate) path: String,
}

impl Heartbeats {
    /// Stops: no recipe needs the lease any more.
    pub(crate) fn stop(&mut self) {
        self.checked = None;
    }

    /// Forgets the refusals, because another server may answer otherwise.
    pub(crate) fn connected(&mut self) {
        self.try_all_again();
    }

    /// Notes that the recipe needs the lease. `is_path` recognises the path of its znode.
    pub(crate) fn needed_by(&mut self, key: RecipeKey, is_path: impl FnOnce(&str) -> bool) {
        if !self.refused.get(&key).is_some_and(|path| is_path(path)) {
            self.refused.remove(&key);
            self.untried.insert(key);
        }
    }

    /// Notes that the recipe does not need the lease.
    pub(crate) fn not_needed_by(&mut self, key: RecipeKey) {
        self.untried.remove(&key);
        self.refused.remove(&key);
    }

    /// Returns a recipe with a znode that was not refused.
    pub(crate) fn untried(&self) -> Option<RecipeKey> {
        self.untried.first().copied()
    }

    /// Returns a recipe with a znode that was refused.
    pub(crate) fn refused(&self) -> Option<RecipeKey> {
        self.refused.first_key_value().map(|(key, _)| *key)
    }

    /// Takes in a refused heartbeat, which checked this znode.
    pub(crate) fn refuse(&mut self, checked: Checked, lease: Option<Instant>) {
        if lease > self.lease {
            self.try_all_again();
        }
        self.lease = lease;
        self.untried.remove(&checked.key);
        self.refused.insert(checked.key, checked.path);
    }

    fn try_all_again(&mut self) {
        let refused = core::mem::take(&mut self.refused);
        self.untried.extend(refused.into_keys());
    }
}
