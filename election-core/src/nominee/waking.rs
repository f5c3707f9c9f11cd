//! A new leader wakes the candidate behind it, which does not know yet that it is the next to lead.
//!
//! The leader writes its own candidate's data anew, as they were, in a transaction with a check of the
//! candidate behind it. The write uses up the watches on the leader's candidate, which a waiting participant
//! of Curator does not set again. But no participant watches it besides the one behind the leader: each
//! participant has listed the candidates after it had created its own, so while one stands between the
//! leader's and its own, it waits for that or for a later one. The check shows that the one behind stood when
//! the write was made, and its name has an id that no other library makes. Names with ids never recur, so it
//! stood all the time since the leader listed it.
//!
//! The one that is woken lists once. So does one that finds, when it sets its watch, that its predecessor was
//! written to: that may have been after its list.
//!
//! A refusal is the end of it. The candidate behind has gone; then the deletion wakes the next one. Or an
//! operator has written to the leader's candidate, and those data stay.

use super::home::{Home, contender_data};
use super::request::Request;
use crate::command::{Check, ExpectedVersion, Multi, Op, Part, Watch, Write};
use crate::format::CandidatePrefix;
use crate::id::Version;
use crate::name::CandidateName;

/// The leader's knowledge of the candidate that it has to wake.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Waking {
    /// None is to be woken.
    Over,
    /// A list has to tell which one is behind.
    Unlisted,
    /// It has to wake this one.
    Due(CandidateName),
}

impl Waking {
    pub(super) fn demand<'a>(
        &'a self,
        home: Home,
        own: &'a CandidateName,
        prefix: CandidatePrefix,
    ) -> Option<(Request, Op<'a>)> {
        match self {
            Self::Over => None,
            Self::Unlisted => Some((Request::ListNext, home.list(Watch::None))),
            Self::Due(next) => {
                let (znode, version) = (home.znode(next.into()), ExpectedVersion::Any);
                let check = Part::Check(Check { znode, version });
                let (znode, data) = (home.znode(own.into()), contender_data(prefix));
                let version = ExpectedVersion::Exactly(AS_CREATED);
                let write = Part::Write(Write { znode, version, data });
                Some((Request::WakeNext, Op::Multi(Multi::of([check, write]))))
            }
        }
    }
}

/// The version of data that a znode was created with, and no client has written since.
pub(super) const AS_CREATED: Version = Version::new(0);
