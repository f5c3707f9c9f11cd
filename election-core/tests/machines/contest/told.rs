//! The sum of a nominee's notices.

use election_core::Token;
use election_core::election::Notice;

/// The sum of the notices so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    NotLeading,
    Leading,
    Suspended,
    Ended,
}

impl Told {
    /// Checks that this notice may follow, and returns the sum; `verified` is the own znode, as
    /// read on this connection.
    pub fn after(self, notice: Notice, verified: Option<Token>) -> Result<Self, String> {
        match (self, notice) {
            (
                Self::NotLeading,
                Notice::Following
                | Notice::FollowingUnwatched
                | Notice::FollowingPersistent
                | Notice::Obstructed(_)
                | Notice::ForeignChild
                | Notice::CandidateLost(_),
            ) => Ok(Self::NotLeading),
            (Self::NotLeading, Notice::Elected(token))
            | (Self::Suspended, Notice::Resumed(token)) => {
                if verified == Some(token) {
                    Ok(Self::Leading)
                } else {
                    Err(format!("leads with {token}, but verified is {verified:?}"))
                }
            }
            (Self::Leading, Notice::Suspended) => Ok(Self::Suspended),
            (Self::Leading | Self::Suspended, Notice::Lost(_)) => Ok(Self::NotLeading),
            (Self::NotLeading | Self::Leading | Self::Suspended, Notice::Ended(_)) => {
                Ok(Self::Ended)
            }
            (told, notice) => Err(format!("{notice:?} comes while {told:?}")),
        }
    }
}
