//! The lock delay: a leader leaves a mark beside the election node, which shows the next leader
//! whether it has confirmed its end.
//!
//! A nominee does not see why its predecessor's znode went: it resigned, or its session died. So a
//! leader writes a mark before its leadership begins, in one transaction with a check of its own
//! znode, and deletes it in the transaction that deletes that znode. A nominee that finds another
//! leader's mark lets the delay pass before it replaces the mark by its own. Its server has applied
//! the change that promoted it, and so the mark, which was there before.

use core::time::Duration;

use super::mark::{Delay, Mark, SUFFIX, after, text};
use super::request::NomineeLink;
use super::stage::{Leading, Leaving, NomineeStage};
use super::{Nominee, mismatch};
use crate::event::{Applied, Failure, Reply};
use crate::id::Version;
use crate::outcome::{Departure, NominationError, Notice};

impl Leading {
    /// Returns the mark that a clean end of the leadership deletes.
    pub(super) fn mark_to_be_deleted(&self, link: NomineeLink) -> Option<Version> {
        self.mark.to_be_deleted(link)
    }
}

impl Nominee {
    /// The suffix that makes the path of the mark from that of the election, for leaders with a
    /// [lock delay](crate::election::Policy::lock_delay).
    pub const LOCK_DELAY_MARK: &'static str = SUFFIX;

    /// Returns how long the nominee waits, from the moment at which this is not `None`, until the
    /// leadership begins. The leader before it has not confirmed its end. Feed
    /// [`Event::Deadline`](crate::Event::Deadline) when that time has passed.
    pub(super) fn lock_delay(&self) -> Option<Duration> {
        let NomineeStage::Leading(Leading { mark: Mark::OfAnother(_), .. }) = &self.stage else {
            return None;
        };
        Some(self.lock_delay)
    }

    /// Notes that the leader's work may go on after its end: whenever the leadership ends, the next
    /// leader lets the lock delay pass.
    pub fn end_uncleanly(&mut self) {
        if let NomineeStage::Leading(Leading { mark: mark @ Mark::Own(_), .. }) = &mut self.stage {
            *mark = Mark::Kept;
        }
    }

    /// Handles the end of the lock delay for a nominee that waits for it; makes a leader step down.
    pub(super) fn deadline_passed(&mut self) -> Option<Notice> {
        let NomineeStage::Leading(Leading { mark, token, .. }) = &mut self.stage else {
            return None;
        };
        if mark.is_settled() {
            return self.step_down();
        }
        if let Mark::OfAnother(version) = *mark {
            *mark = Mark::due(*token, Some(version), Delay::Passed);
        }
        None
    }

    pub(super) fn mark_read(&mut self, result: &Result<Reply<'_>, Failure>) -> Option<Notice> {
        let NomineeStage::Leading(Leading { mark: mark @ Mark::Unread(_), token, .. }) =
            &mut self.stage
        else {
            return None;
        };
        let Mark::Unread(delay) = *mark else { return None };
        let (found, notice) = match (result, delay) {
            // The reply to this write was lost, or an earlier process held this leadership.
            (Ok(Reply::Read { stat, data }), _) if *data == text(*token).as_bytes() => {
                (Mark::Own(stat.version), Some(Notice::Elected(*token)))
            }
            (Ok(Reply::Read { stat, .. }), Delay::Ahead) => (Mark::OfAnother(stat.version), None),
            (Ok(Reply::Read { stat, .. }), Delay::Passed) => {
                (Mark::due(*token, Some(stat.version), delay), None)
            }
            (Err(Failure::NoNode), _) => (Mark::due(*token, None, delay), None),
            _ => return Some(self.fail(mismatch(result))),
        };
        *mark = found;
        notice
    }

    pub(super) fn mark_written(&mut self, result: Result<Reply<'_>, Failure>) -> Option<Notice> {
        let NomineeStage::Leading(Leading { mark, token, .. }) = &mut self.stage else {
            return None;
        };
        let Mark::Due { delay, .. } = *mark else { return None };
        match result {
            Ok(Reply::Committed(results)) => match results.nth(1) {
                Some(Applied::Created { .. }) => *mark = Mark::Own(after(None)),
                Some(Applied::Written(stat)) => *mark = Mark::Own(stat.version),
                _ => return Some(self.fail(NominationError::UnexpectedReply)),
            },
            Err(Failure::Aborted { part, code }) => match (part, Failure::from_code(code)) {
                (0, Failure::NoNode) => return self.evict(),
                // The mark is not the one that was read: an operator has changed it.
                (1, Failure::NoNode | Failure::NodeExists | Failure::BadVersion) => {
                    *mark = Mark::Unread(delay);
                    return None;
                }
                (_, failure) => return Some(self.fail(mismatch(&Err(failure)))),
            },
            other => return Some(self.fail(mismatch(&other))),
        }
        Some(Notice::Elected(*token))
    }

    pub(super) fn own_and_mark_deleted(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let NomineeStage::Leaving(Leaving { afterwards, mark, .. }) = &mut self.stage else {
            return None;
        };
        let afterwards = *afterwards;
        match *result {
            Ok(Reply::Committed(_)) => self.departed(afterwards, Departure::Deleted),
            // The reply that said so was lost, or an operator has deleted the znode. By now the mark
            // may be another leader's.
            Err(Failure::Aborted { part: 0, code })
                if Failure::from_code(code) == Failure::NoNode =>
            {
                self.departed(afterwards, Departure::Deleted)
            }
            // Its data was written since the look.
            Err(Failure::Aborted { part: 0, code })
                if Failure::from_code(code) == Failure::BadVersion && !self.contest.has_ids() =>
            {
                self.look_again_before_deletion();
                None
            }
            // The next leader waits if the mark is there.
            Err(Failure::Aborted { .. }) => {
                *mark = None;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }
}
