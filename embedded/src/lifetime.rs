//! The end of a znode's life.

use core::time::Duration;

use zk_jute::SessionId;

/// The event that ends a znode's life, besides a `delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Nothing.
    Persistent,
    /// The end of this session.
    Ephemeral(SessionId),
    /// The loss of its last child.
    Container,
    /// The passing of this time without a write, once the znode has no children.
    Ttl(Duration),
}
