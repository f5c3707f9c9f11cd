//! What a list shows a candidate.

use super::Contest;
use super::foreign::Others;
use super::stage::Standing;
use crate::children::Children;
use crate::id::NomineeId;
use crate::place::{Place, Remaining, place};

/// The own place among the candidates, and what stands there besides.
pub(super) struct Survey<'a> {
    pub(super) found: Place<'a>,
    /// Another znode with the own id.
    pub(super) ghost: Option<&'a str>,
    /// Looked for where it may matter: by the one that is to lead, and by the one behind that.
    pub(super) others: Others<'a>,
}

impl Standing {
    pub(super) fn survey<'a>(
        &self,
        contest: Contest,
        id: NomineeId,
        children: Children<'a>,
    ) -> Survey<'a> {
        let (name, sequence) = (self.own.as_str(), self.own.sequence());
        let passed = self.passed();
        let rival = |name: &str| contest.rival(name);
        let (mut ghost, mut others) = (None, Others::default());
        let all = children.index();
        let names =
            children.around((name, sequence), (contest.format, id), rival).inspect(|found| {
                if all.is_none() {
                    others.take_in(contest, passed, found);
                }
                // Always the same one of several, in whatever order they come.
                let is_ghost = *found != name && contest.format.owns(id, found);
                if is_ghost && ghost.is_none_or(|known| *found < known) {
                    ghost = Some(*found);
                }
            });
        let found = place(name, sequence, names, rival);
        // The names that are near do not tell.
        if let (Some(index), Place::Free | Place::Blocked { remaining: Remaining::Last, .. }) =
            (all, found)
        {
            Children::indexed(index).for_each(|name| others.take_in(contest, passed, name));
        }
        Survey { found, ghost, others }
    }
}
