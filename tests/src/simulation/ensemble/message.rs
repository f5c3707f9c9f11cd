//! What members say to each other.

use core::fmt;

use super::MemberId;

/// What a member wants done with the connections to the others. The messages of an ordered pair
/// arrive in the order in which they were sent, or are lost with the connection.
#[derive(Clone, Debug)]
pub enum PeerOutput {
    /// Deliver a message, by [`Member::handle_peer`](super::Member::handle_peer).
    Send {
        /// To whom.
        to: MemberId,
        /// What.
        message: PeerMessage,
    },
    /// End the connection: what is under way in both directions is lost, and the other side gets
    /// [`Member::handle_peer_reset`](super::Member::handle_peer_reset). Messages sent after this
    /// travel on a new connection.
    Reset {
        /// With whom.
        peer: MemberId,
    },
}

/// A message from one member to another.
#[derive(Clone)]
pub struct PeerMessage(());

impl fmt::Debug for PeerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }
}
