//! Recipes that stand for a handle of the user's.

use core::fmt;
use core::ops::Deref;
use std::sync::Arc;

use election_session::{RecipeKey, Site};
use zk_session::Instant;

use crate::client::Client;
use crate::hub::{Face, Hub, Seat};

/// Names a recipe of a client. A clone names the same recipe.
#[derive(Clone)]
pub(crate) struct RecipeHandle {
    client: Client,
    key: RecipeKey,
}

/// A recipe that stands as long as its user has this. Dropping it withdraws the recipe, which then goes on until
/// nothing of it is left.
#[derive(Debug)]
pub(crate) struct StandingRecipe(RecipeHandle);

impl RecipeHandle {
    /// Lets a recipe stand at a site, until it is withdrawn or over; its user sees it by the face.
    pub(crate) fn stand<F: Face + 'static>(
        client: &Client,
        site: Arc<Site>,
        recipe: F::Recipe,
        face: F,
    ) -> Self {
        let seat = <dyn Seat>::new(recipe, face);
        let key = client.shared().with(|hub, now| hub.stand(now, seat, site));
        Self { client: client.clone(), key }
    }

    /// Lets a recipe stand of which a session can have only one at a node, because the names of its znodes do not
    /// tell them apart. Returns `None` while there is another one.
    pub(crate) fn stand_alone<F: Face + 'static>(
        client: &Client,
        site: Arc<Site>,
        recipe: F::Recipe,
        face: F,
    ) -> Option<Self> {
        let seat = <dyn Seat>::new(recipe, face);
        let key = client.shared().with(|hub, now| hub.stand_alone(now, seat, site))?;
        Some(Self { client: client.clone(), key })
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Makes the recipe give up, whatever it is doing. It does nothing once the recipe is over.
    pub(crate) fn withdraw(&self) {
        self.with(|hub, now, key| hub.host.withdraw(now, key));
    }

    /// Works on the hub that has the recipe under this key, if it is not over.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Hub, Instant, RecipeKey) -> T) -> T {
        self.client.shared().with(|hub, now| act(hub, now, self.key))
    }
}

impl fmt::Debug for RecipeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecipeHandle").field(&self.key).finish()
    }
}

impl StandingRecipe {
    /// Returns a handle that does not withdraw the recipe when it is dropped.
    pub(crate) fn handle(&self) -> RecipeHandle {
        self.0.clone()
    }
}

impl From<RecipeHandle> for StandingRecipe {
    fn from(handle: RecipeHandle) -> Self {
        Self(handle)
    }
}

impl Deref for StandingRecipe {
    type Target = RecipeHandle;

    fn deref(&self) -> &RecipeHandle {
        &self.0
    }
}

impl Drop for StandingRecipe {
    fn drop(&mut self) {
        self.withdraw();
    }
}
