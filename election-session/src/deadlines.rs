//! When recipes are told that their time has passed.

use alloc::collections::BTreeSet;

use zk_session::Instant;

use crate::key::RecipeKey;

/// The times that callers gave their recipes.
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

    /// Replaces the time that a recipe was given.
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
