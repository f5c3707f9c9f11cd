//! Recipes of which a session can have only one at a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use election_session::RecipeKey;

use super::Host;

/// The recipe at each node, by the node's path on the server. A recipe may be over.
#[derive(Debug, Default)]
pub(super) struct SoleRecipes(BTreeMap<Arc<str>, RecipeKey>);

impl SoleRecipes {
    /// Returns true if no recipe stands at the node. Forgets recipes that are over.
    pub(super) fn is_free(&mut self, host: &Host, path: &str) -> bool {
        self.0.retain(|_, key| host.view(*key).is_some_and(|view| view.end.is_none()));
        !self.0.contains_key(path)
    }

    pub(super) fn insert(&mut self, path: Arc<str>, key: RecipeKey) {
        self.0.insert(path, key);
    }
}
