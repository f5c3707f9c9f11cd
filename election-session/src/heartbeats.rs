//! Which znode heartbeats check.

use alloc::string::String;
use alloc::vec::Vec;

use zk_session::Instant;

use crate::key::RecipeKey;

/// What heartbeats check, and which of it was refused.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    pub(crate) checked: Option<Checked>,
    /// Those that were refused since the lease was prolonged last: each is tried once before any is
    /// tried again, or two that are refused would take turns without end.
    pub(crate) refused: Vec<Checked>,
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
        self.refused.clear();
    }

    /// Takes in that the heartbeat was refused which checks this one.
    pub(crate) fn refuse(&mut self, checked: Checked, lease: Option<Instant>) {
        if lease > self.lease {
            self.refused.clear();
        }
        self.lease = lease;
        if !self.refused.contains(&checked) {
            self.refused.push(checked);
        }
    }
}
