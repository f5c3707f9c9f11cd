//! What a contender makes of requests to let go.

use super::revocation::{Heard, Shown};
use super::{Lock, LockNotice};
use crate::format::Revocation;

impl Lock {
    /// Whether this contender is asked to let go, by what it last read of its own znode.
    pub fn is_revoke_requested(&self) -> bool {
        self.heard != Heard::Nothing
    }

    /// Tells of a request once. One that comes to light with something else that is to be told is read
    /// again: it is told by that.
    pub(super) fn heed(
        &mut self,
        shown: Option<Shown>,
        notice: Option<LockNotice>,
    ) -> Option<LockNotice> {
        let takes_requests = self.format().layout().revocation == Revocation::ByData;
        if let Some(
            LockNotice::PlaceLost(_)
            | LockNotice::Lost(_)
            | LockNotice::Ended(_)
            | LockNotice::Downgraded,
        ) = notice
        {
            // The own znode is another one from here on.
            self.heard = Heard::Nothing;
        }
        let own =
            shown.filter(|shown| takes_requests && self.contender.is_watched_by(shown.ticket));
        match own {
            None => {}
            Some(Shown { data, .. }) if data == self.heard => {}
            Some(Shown { data: Heard::Nothing, .. }) => self.heard = Heard::Nothing,
            Some(Shown { data: data @ Heard::Request(_), .. }) => match notice {
                None => {
                    self.heard = data;
                    return Some(LockNotice::RevokeRequested);
                }
                Some(_) => self.contender.read_own_again(),
            },
        }
        notice
    }
}
