//! The times at which recipes are fed a deadline.

use alloc::collections::BTreeSet;

use zk_session::Instant;

use crate::key::RecipeKey;

/// The deadlines that callers set for their recipes.
#[derive(Debug, Default)]
pub(crate) struct Deadlines(BTreeSet<(Instant, RecipeKey)>);

impl Deadlines {
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    pub(crate) fn take_due(&mut self, now: Instant) -> Option<RecipeKey> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, key)| key)
    }

    /// Replaces the deadline of a recipe.
    pub(crate) fn replace(
        &mut self,
        key: RecipeKey,
        former: Option<Instant>,
        deadline: Option<Instant>,
    ) {
        if let Some(former) = former {
            self.0.remove(&(former, key));
        }
        self.0.extend(deadline.map(|at| (at, key)));
    }
}
