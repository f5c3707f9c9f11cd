//! Finds the nominee's znode by its owner, in formats with names that do not distinguish it.
//!
//! A session has one contender at the node, so the znode that this session owns is the nominee's.
//! The search goes from the highest number down, since the nominee's own was created last. A
//! contender that is no younger than an earlier znode of the nominee ends the search.

use super::stage::{Cleanup, Entering, Entry, NomineeStage, OwnWatch, Suspect};
use super::{Contest, Nominee, is_owned, mismatch};
use crate::children::Children;
use crate::command::ExpectedVersion;
use crate::event::{Failure, Reply};
use crate::format::{CandidatePrefix, Child};
use crate::id::{NomineeId, SessionId, Token};
use crate::name::ChildName;
use crate::outcome::{NominationError, Notice};

/// The znode that a search looks for in a list.
#[derive(Clone, Copy)]
pub(super) struct Search {
    id: NomineeId,
    contest: Contest,
    /// Of the nominee's creates in this session; with an id, of the next one.
    prefix: CandidatePrefix,
}

/// The first match in a list.
pub(super) enum Found {
    /// A name with the nominee's id.
    Own(ChildName),
    /// A name that may be the nominee's.
    Unnamed(ChildName),
}

impl Search {
    pub(super) fn first(self, children: Children<'_>) -> Option<Found> {
        let (id, format) = (self.id, self.contest.format);
        if self.contest.has_ids() {
            let owned = children.of(format, id).filter(|name| format.owns(id, name));
            return owned.min().and_then(ChildName::new).map(Found::Own);
        }
        self.highest(children, |_| true).map(Found::Unnamed)
    }

    pub(super) fn below(self, last: &ChildName, children: Children<'_>) -> Option<ChildName> {
        let last = self.rank(last.as_str());
        self.highest(children, |name| self.rank(name) < last)
    }

    fn highest(
        self,
        children: Children<'_>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Option<ChildName> {
        let found = children.filter(|name| self.prefix.begins(name) && is_wanted(name));
        found.max_by(|one, other| self.rank(one).cmp(&self.rank(other))).and_then(ChildName::new)
    }

    /// Orders names: numbers that recur were given last.
    fn rank(self, name: &str) -> (u32, &str) {
        match self.contest.format.child(name) {
            Child::Contender { sequence, .. } => (sequence.get(), name),
            _ => (u32::MAX, name),
        }
    }
}

impl Nominee {
    pub(super) fn search(&self, session: SessionId) -> Search {
        let (id, contest) = (self.id, self.contest);
        Search { id, contest, prefix: contest.prefix((id, self.attempts), session) }
    }

    /// Notes that the nominee has, or had, a znode with this token.
    pub(super) fn knows(&mut self, token: Token) {
        if !self.contest.has_ids() {
            self.newest = token;
        }
    }

    pub(super) fn unnamed_inspected(
        &mut self,
        session: SessionId,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let NomineeStage::Entering(Entering { step: Entry::Unnamed(name), intent, .. }) =
            &self.stage
        else {
            return None;
        };
        let (name, intent) = (name.clone(), *intent);
        let is_new = |token| self.newest < token;
        match result {
            Ok(Reply::Exists(stat)) if is_owned(stat, session) && is_new(stat.token) => {
                if let Ok(own) = self.contest.format.parse(name.as_str()) {
                    self.adopt(own, OwnWatch::Unset { token: stat.token }, intent);
                    None
                } else {
                    let error = NominationError::SequenceExhausted;
                    Some(self.fail_owing(error, Cleanup::DeleteFound(name)))
                }
            }
            Ok(Reply::Exists(stat)) if is_owned(stat, session) => {
                let version = ExpectedVersion::Exactly(stat.version);
                self.step(Entry::Suspect(Suspect::Condemned { name, version }))
            }
            Ok(Reply::Exists(stat)) if is_new(stat.token) => self.step(Entry::SearchBelow(name)),
            Ok(Reply::Exists(_)) => self.found_none(),
            // Since ZooKeeper 3.8.4 and 3.9.2 a server forbids to look at what may not be read. That is
            // another session's: a nominee that may not read its own znode never leads.
            Err(Failure::NoNode | Failure::NoAuth) => self.step(Entry::SearchBelow(name)),
            _ => Some(self.fail(mismatch(result))),
        }
    }
}
