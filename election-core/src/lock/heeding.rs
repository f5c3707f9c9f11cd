//! Requests to release, as a contender handles them.

use super::revocation::{Heard, OwnRead};
use super::{Lock, LockNotice};
use crate::format::Revocation;

impl Lock {
    /// Returns whether this contender is asked to release, by the last read of its znode.
    pub fn is_revoke_requested(&self) -> bool {
        self.heard != Heard::Nothing
    }

    /// Reports a request once. If another report comes with the same event, the contender reads its
    /// znode again, and reports the request then.
    pub(super) fn heed(
        &mut self,
        shown: Option<OwnRead>,
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
            Some(OwnRead { data, .. }) if data == self.heard => {}
            Some(OwnRead { data: Heard::Nothing, .. }) => self.heard = Heard::Nothing,
            Some(OwnRead { data: data @ Heard::Request(_), .. }) => match notice {
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
