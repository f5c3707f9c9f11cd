//! Memberships of groups.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use election_core::election::Departure;
use election_core::group::{Member, MemberOptions};
use election_session::Site;
use zk_jute::Escaped;
use zk_session::SessionEnd;

use super::error::MembershipError;
use super::face::{Data, Machine, MemberFace, MembershipState, ShownMembership};
use crate::client::Client;
use crate::error::Place;
use crate::path::child_path;
use crate::standing::{RecipeHandle, StandingRecipe};
use crate::updates::Updates;

/// The step of joining, which errors name.
pub(super) const JOIN: &str = "join";

/// A member of a group. When its session has expired, it joins again in a new one.
///
/// Dropping it leaves in the background.
#[must_use = "a membership that is dropped leaves"]
pub struct Membership {
    recipe: StandingRecipe,
    /// The path of the group.
    group: Box<str>,
    znode: String,
    shown: Updates<ShownMembership>,
    generation: AtomicU64,
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Membership")
            .field("znode", &format_args!("{}", Escaped(&child_path(&self.group, &self.znode))))
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Membership {
    pub(super) fn begin(
        client: &Client,
        site: Arc<Site>,
        znode: String,
        (data, options): (Bytes, MemberOptions),
    ) -> Self {
        let group: Box<str> = site.path().into();
        let (face, shown) = MemberFace::new(place(&group, &znode, JOIN));
        let machine: Machine =
            Member::new(znode.clone(), Data { bytes: data, generation: 0 }, options);
        let recipe = RecipeHandle::stand(client, site, machine, face).into();
        Self { recipe, group, znode, shown: Updates::new(shown), generation: AtomicU64::new(0) }
    }

    /// Waits until it has joined for the first time. Cancel safe.
    pub(super) async fn joined(&self) -> Result<(), MembershipError> {
        let mut shown = self.shown.clone();
        let is_settled = |shown: &ShownMembership| {
            !matches!(
                shown.state,
                MembershipState::Joining { .. }
                    | MembershipState::HeldBack
                    | MembershipState::Waiting { .. }
            )
        };
        match shown.wait_for(is_settled).await.map(|shown| shown.state) {
            Ok(MembershipState::Ended(error)) => Err(error),
            Ok(MembershipState::Left) => Err(MembershipError::Left { at: self.place(JOIN) }),
            Ok(_) => Ok(()),
            Err(_) => Err(self.abandoned(JOIN)),
        }
    }

    /// Returns the name of the member's znode.
    pub fn znode(&self) -> &str {
        &self.znode
    }

    /// Returns the present state.
    pub fn state(&self) -> MembershipState {
        self.shown.latest().state
    }

    /// Waits until the state differs from `state`, and returns it.
    ///
    /// Cancel safe: it changes nothing.
    pub async fn changed_from(&self, state: &MembershipState) -> MembershipState {
        let mut shown = self.shown.clone();
        match shown.wait_for(|shown| shown.state != *state).await {
            Ok(shown) => shown.state,
            Err(_) => self.state(),
        }
    }

    /// Replaces the data, and waits until the znode has it. A znode in a later session has it, too.
    ///
    /// Cancel safe: the data is replaced with the first poll, and written in the background.
    ///
    /// # Errors
    ///
    /// [`MembershipError::Failed`] if the server refuses it: the znode keeps its data. Otherwise
    /// the membership is over.
    pub async fn set_data(&self, data: impl Into<Bytes>) -> Result<(), MembershipError> {
        let bytes = data.into();
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let replaced = self.recipe.with(|hub, now, key| {
            let machine = hub.recipe_mut::<Machine>(key)?;
            let is_newer = machine.data().generation < generation;
            let replaced = is_newer.then(|| machine.set_data(Data { bytes, generation }));
            // The machine then looks for data to write.
            hub.host.set_deadline(key, Some(now));
            replaced
        });
        drop(replaced);
        let mut shown = self.shown.clone();
        let is_decided = |shown: &ShownMembership| {
            shown.written >= Some(generation)
                || shown.refused.is_some_and(|(refused, _)| refused >= generation)
                || matches!(shown.state, MembershipState::Left | MembershipState::Ended(_))
        };
        let Ok(shown) = shown.wait_for(is_decided).await else {
            return Err(self.abandoned("set_data"));
        };
        match (shown.refused, shown.state) {
            _ if shown.written >= Some(generation) => Ok(()),
            (Some((_, failure)), _) => {
                Err(MembershipError::Failed { at: self.place("set_data"), failure })
            }
            (None, MembershipState::Ended(error)) => Err(error),
            (None, _) => Err(MembershipError::Left { at: self.place("set_data") }),
        }
    }

    /// Leaves, and waits until the znode is gone.
    ///
    /// Cancel safe: it leaves with the first poll.
    ///
    /// # Errors
    ///
    /// [`MembershipError`]: it was not a member any more, or the client ended before the server
    /// confirmed that the znode is gone.
    pub async fn leave(self) -> Result<Departure, MembershipError> {
        self.recipe.withdraw();
        let mut shown = self.shown.clone();
        let is_over = |shown: &ShownMembership| {
            matches!(shown.state, MembershipState::Left | MembershipState::Ended(_))
        };
        match shown.wait_for(is_over).await {
            Ok(ShownMembership { state: MembershipState::Ended(error), .. }) => Err(error),
            Ok(ShownMembership { departure: Some(departure), .. }) => Ok(departure),
            Ok(_) | Err(_) => Err(self.abandoned("leave")),
        }
    }

    fn place(&self, step: &'static str) -> Place {
        place(&self.group, &self.znode, step)
    }

    fn abandoned(&self, step: &'static str) -> MembershipError {
        MembershipError::ClientClosed { at: self.place(step), end: SessionEnd::Abandoned }
    }
}

fn place(group: &str, znode: &str, step: &'static str) -> Place {
    Place::new("group", &child_path(group, znode), step)
}
