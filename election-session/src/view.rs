//! A host's knowledge of a recipe.

use alloc::sync::Arc;

use zk_jute::SessionId;
use zk_session::Instant;

use crate::event::RecipeEnd;
use crate::grant::Grant;
use crate::site::Site;

/// A recipe, as the host knows it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct View<'h> {
    /// The host's announcement to its user that it holds what it stands for, or none yet.
    pub grant: &'h Grant,
    /// The session that it stands in, or stood in last.
    pub session: Option<SessionId>,
    /// The lease deadline of the host's session.
    pub lease_deadline: Option<Instant>,
    /// When the delay ends that the recipe [awaits](election_core::Recipe::awaits_delay), if it
    /// does.
    pub delay_until: Option<Instant>,
    /// Whether it ends with the session, which is being closed.
    pub is_closing: bool,
    /// Its end, if it has ended.
    pub end: Option<RecipeEnd>,
    /// Its site.
    pub site: &'h Arc<Site>,
}
