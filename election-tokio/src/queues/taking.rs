//! A take: a machine from its first request to its end.

use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use election_core::NomineeId;
use election_core::queue::{Taker, TakerOptions};
use election_session::Site;

use super::face::{Claimant, TakerFace, Verdict};
use super::kept::Kept;
use super::slot::{Said, Slot};
use crate::client::Client;
use crate::error::Place;
use crate::standing::{RecipeHandle, StandingRecipe};

/// A machine that takes. Dropping it makes it give up, in the background.
#[derive(Debug)]
pub(super) struct Taking {
    recipe: StandingRecipe,
    site: Arc<Site>,
    number: u64,
    slot: Arc<Slot>,
    kept: Arc<Kept>,
    verdict: Arc<Verdict>,
}

impl Taking {
    pub(super) fn begin(
        client: &Client,
        site: Arc<Site>,
        (id, options): (NomineeId, TakerOptions),
        kept: &Arc<Kept>,
    ) -> Self {
        let (number, window) = kept.begin(&client.shared().ids);
        let taker = Taker::new(id, options, *window);
        let (slot, verdict) = (Arc::<Slot>::default(), Arc::<Verdict>::default());
        let face = TakerFace { slot: Arc::clone(&slot), kept: Arc::clone(kept) };
        let claimant = Claimant { taker, verdict: Arc::clone(&verdict) };
        let recipe = RecipeHandle::stand(client, Arc::clone(&site), claimant, face).into();
        Self { recipe, site, number, slot, kept: Arc::clone(kept), verdict }
    }

    /// Returns the place of an error.
    pub(super) fn place(&self, step: &'static str) -> Place {
        Place::new("queue", self.site.path(), step)
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns its next outcome.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<Said> {
        self.slot.poll(cx)
    }

    /// Notes that the claim that it holds is done.
    pub(super) fn finish(&self) {
        self.verdict.finish();
        self.withdraw();
    }

    pub(super) fn withdraw(&self) {
        self.recipe.withdraw();
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.kept.end(self.number);
        let mut wakers = Vec::new();
        for left in self.slot.leave().into_iter().filter_map(Said::left_over) {
            self.kept.keep(left, &mut wakers);
        }
        self.withdraw();
        wakers.into_iter().for_each(Waker::wake);
    }
}
