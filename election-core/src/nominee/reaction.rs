//! Results of events, and the meaning of unfitting replies.

use crate::code::NO_AUTH;
use crate::event::{Failure, Reply, Stat};
use crate::id::SessionId;
use crate::outcome::{NominationError, Notice};

/// The result of a transition, besides the command that follows from the new state.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reaction<'a> {
    pub(crate) notice: Option<Notice>,
    /// A znode outside of the state; its deletion is commanded once.
    pub(crate) discard: Option<&'a str>,
}

impl From<Notice> for Reaction<'_> {
    fn from(notice: Notice) -> Self {
        Some(notice).into()
    }
}

impl From<Option<Notice>> for Reaction<'_> {
    fn from(notice: Option<Notice>) -> Self {
        Self { notice, discard: None }
    }
}

/// Returns the error of a reply that does not fit its request, or of a failure that the request
/// does not expect.
pub(crate) fn mismatch(result: &Result<Reply<'_>, Failure>) -> NominationError {
    match result {
        Err(Failure::Rejected(code)) => NominationError::Rejected(*code),
        Err(Failure::NoChroot) => NominationError::NoChroot,
        Err(Failure::NoAuth) => NominationError::Rejected(NO_AUTH),
        Err(Failure::Unreadable) => NominationError::UnreadableReply,
        Err(Failure::TooLarge | Failure::HeldBack) => NominationError::TooLarge,
        _ => NominationError::UnexpectedReply,
    }
}

/// Returns whether a znode that was read is the one that this session created.
pub(super) fn is_owned(stat: &Stat, session: SessionId) -> bool {
    stat.owner == Some(session)
}
