//! Standing: watches and writes the own znode.

use super::request::Request;
use super::stage::{DataState, OwnWatch, Standing};
use super::told::{MemberFailure, MemberNotice};
use crate::event::{Failure, Reply};
use crate::id::SessionId;
use crate::ticket::Ticket;

/// The course after an answer.
#[derive(Debug)]
pub(super) enum After {
    Stands(Standing, Option<MemberNotice>),
    /// The znode is gone, or another session's.
    Evicted,
    Fails(MemberFailure),
}

impl Standing {
    pub(super) fn answered(
        self,
        (ticket, request): (Ticket, Request),
        result: &Result<Reply<'_>, Failure>,
        session: Option<SessionId>,
        shown: &mut DataState,
    ) -> After {
        match (request, result) {
            (Request::WatchOwn, Ok(Reply::Exists(stat))) if stat.owner == session => {
                // Another client has written: the data is the member's own.
                if stat.version != self.version && *shown == DataState::Written {
                    *shown = DataState::Due;
                }
                let is_another = stat.token != self.token;
                let notice = is_another.then_some(MemberNotice::Joined(stat.token));
                After::Stands(Self::seen(*stat, OwnWatch::Armed(ticket)), notice)
            }
            (Request::WatchOwn, Ok(Reply::Exists(_)))
            | (Request::WatchOwn | Request::Write, Err(Failure::NoNode)) => After::Evicted,
            (Request::WatchOwn, Err(Failure::NoAuth)) => {
                After::Stands(Self { own: OwnWatch::Refused, ..self }, None)
            }
            (Request::Write, Ok(Reply::Written(stat))) => {
                let standing = Self { version: stat.version, ..self };
                After::Stands(standing, shown.written().then_some(MemberNotice::DataWritten))
            }
            // The version is learned with the watch.
            (Request::Write, Err(Failure::BadVersion)) => {
                *shown = DataState::Due;
                After::Stands(Self { own: OwnWatch::Due, ..self }, None)
            }
            (Request::Write, refused) => {
                shown.written();
                let notice = MemberNotice::DataRefused(MemberFailure::of(refused));
                After::Stands(self, Some(notice))
            }
            (_, result) => After::Fails(MemberFailure::of(result)),
        }
    }
}
