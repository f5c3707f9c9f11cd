//! The lock delay: what a leader leaves beside the election node, so that the next one knows whether it has
//! said that it ended.
//!
//! A nominee does not see why its predecessor's znode went: it resigned, or its session died. So a leader
//! writes a mark before its leadership begins, in one transaction with a check of its own znode, and deletes
//! it in the transaction that deletes that znode. A nominee that finds another leader's mark lets the delay
//! pass before it replaces it by its own. Its server has applied what it was promoted by, and so the mark,
//! which was there before.

use core::time::Duration;

use super::mark::{Delay, Mark, SUFFIX, after, text};
use super::request::Link;
use super::stage::{Leading, Leaving, Stage};
use super::{Nominee, mismatch};
use crate::event::{Applied, Failure, Reply};
use crate::id::Version;
use crate::outcome::{Departure, NominationError, Notice};

impl Leading {
    /// That of the leadership's clean end.
    pub(super) fn mark_to_be_deleted(&self, link: Link) -> Option<Version> {
        self.mark.to_be_deleted(link)
    }
}

impl Nominee {
    /// What follows the path of the election in the path of the mark of a leader with a
    /// [lock delay](crate::Policy::lock_delay).
    pub const LOCK_DELAY_MARK: &'static str = SUFFIX;

    /// How long the nominee is to wait until the leadership begins, from the moment at which this is more
    /// than nothing: the leader before it has not said that it ended. When that time has passed, it is to
    /// be fed [`Event::Deadline`](crate::Event::Deadline).
    pub(super) fn lock_delay(&self) -> Option<Duration> {
        let Stage::Leading(Leading { mark: Mark::OfAnother(_), .. }) = &self.stage else {
            return None;
        };
        Some(self.policy.lock_delay)
    }

    /// What the leader has begun may go on after its end: whenever the leadership ends, the next leader
    /// lets the lock delay pass.
    pub fn end_uncleanly(&mut self) {
        if let Stage::Leading(Leading { mark: mark @ Mark::Own(_), .. }) = &mut self.stage {
            *mark = Mark::Kept;
        }
    }

    /// The lock delay of one that waits for it; one that leads steps down.
    pub(super) fn deadline_passed(&mut self) -> Option<Notice> {
        let Stage::Leading(Leading { mark, token, .. }) = &mut self.stage else {
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
        let Stage::Leading(Leading { mark: mark @ Mark::Unread(_), token, .. }) = &mut self.stage
        else {
            return None;
        };
        let Mark::Unread(delay) = *mark else { return None };
        let (found, notice) = match (result, delay) {
            // A write whose reply was lost, or the leadership is that of an earlier process.
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
        let Stage::Leading(Leading { mark, token, .. }) = &mut self.stage else {
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
                // It is not what was read: an operator has had a hand in it.
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
        let Stage::Leaving(Leaving { afterwards, mark, .. }) = &mut self.stage else {
            return None;
        };
        let afterwards = *afterwards;
        match *result {
            Ok(Reply::Committed(_)) => self.departed(afterwards, Departure::Deleted),
            // The reply was lost that said so, or an operator has deleted it. By now the mark may be another
            // leader's.
            Err(Failure::Aborted { part: 0, code })
                if Failure::from_code(code) == Failure::NoNode =>
            {
                self.departed(afterwards, Departure::Deleted)
            }
            // The next leader waits, if the mark is there.
            Err(Failure::Aborted { .. }) => {
                *mark = None;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }
}
