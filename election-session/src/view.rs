//! What there is to know of a recipe in its host.

use alloc::sync::Arc;

use zk_jute::SessionId;
use zk_session::Instant;

use crate::event::RecipeEnd;
use crate::grant::Grant;
use crate::site::Site;

/// What a host knows of a recipe.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct View<'h> {
    /// What its user may be told that it holds.
    pub grant: &'h Grant,
    /// The session that it stands in, once it had one.
    pub session: Option<SessionId>,
    /// The lease deadline of the host's session.
    pub lease_deadline: Option<Instant>,
    /// When the delay has passed that the recipe [awaits](election_core::Recipe::awaits_delay), if it does.
    pub delay_until: Option<Instant>,
    /// Whether it ends with the session, which is being closed.
    pub is_closing: bool,
    /// How it came to its end, if it has.
    pub end: Option<RecipeEnd>,
    /// Where it stands.
    pub site: &'h Arc<Site>,
}
