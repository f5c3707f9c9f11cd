//! Which znode heartbeats check.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use zk_session::Instant;

use crate::key::RecipeKey;

/// What heartbeats check, and what they could check.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    pub(crate) checked: Option<Checked>,
    /// Recipes that need the lease. Some may be over meanwhile.
    untried: BTreeSet<RecipeKey>,
    /// Those whose znode, with this path on the server, was refused since the lease was prolonged last:
    /// each is tried once before any is tried again, or two that are refused would take turns without
    /// end.
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
    /// The lease is not needed any more.
    pub(crate) fn stop(&mut self) {
        self.checked = None;
    }

    /// Another server may see things otherwise.
    pub(crate) fn connected(&mut self) {
        self.try_all_again();
    }

    /// The recipe needs the lease, and this tells the path of its znode.
    pub(crate) fn needed_by(&mut self, key: RecipeKey, is_path: impl FnOnce(&str) -> bool) {
        if !self.refused.get(&key).is_some_and(|path| is_path(path)) {
            self.refused.remove(&key);
            self.untried.insert(key);
        }
    }

    /// The recipe does not need the lease, or no longer.
    pub(crate) fn not_needed_by(&mut self, key: RecipeKey) {
        self.untried.remove(&key);
        self.refused.remove(&key);
    }

    /// A recipe whose znode was not refused.
    pub(crate) fn untried(&self) -> Option<RecipeKey> {
        self.untried.first().copied()
    }

    /// A recipe whose znode was refused.
    pub(crate) fn refused(&self) -> Option<RecipeKey> {
        self.refused.first_key_value().map(|(key, _)| *key)
    }

    /// Takes in that the heartbeat was refused which checks this one.
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
