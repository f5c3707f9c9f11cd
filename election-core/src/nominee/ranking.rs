//! The rank of a nominee, by its stage.

use super::Nominee;
use super::rank::Rank;
use super::stage::{NomineeStage, Position, Standing};

impl Nominee {
    /// Returns how many candidates stood before the nominee's, by its last list, or since the end
    /// of the last one before it. `None` if the present candidate has no place yet.
    ///
    /// A follower seldom lists, so most candidates ahead of it go unnoticed. All children of the
    /// election node with a lower number count.
    pub fn rank(&self) -> Option<Rank> {
        let rank = self.rank.get();
        match &self.stage {
            NomineeStage::Leading(_)
            | NomineeStage::Standing(Standing { position: Position::First, .. }) => {
                Some(Rank { ahead: 0, ..rank })
            }
            NomineeStage::Standing(Standing { position: Position::Behind(_), .. }) => Some(rank),
            _ => None,
        }
    }
}
