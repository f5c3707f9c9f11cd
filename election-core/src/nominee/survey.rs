//! The result of a list, for a candidate.

use super::Contest;
use super::foreign::{ForeignChild, ForeignWatch, Others, Strangers};
use super::stage::{Ahead, Behind, Position, PredecessorWatch, Standing};
use crate::children::{Children, beginning, count_before, holds};
use crate::format::HandOverMark;
use crate::id::NomineeId;
use crate::name::{CandidateName, Sequence};
use crate::outcome::Obstacle;
use crate::place::{Place, Remaining, place};
use crate::policy::WhenAsked;

/// The candidate's own place, and the other children that matter to it.
pub(super) struct Survey<'a> {
    pub(super) found: Place<'a>,
    /// Another znode with the nominee's id.
    pub(super) ghost: Option<&'a str>,
    /// Looked for where they may matter: if the nominee is to lead, or is behind the candidate that is.
    pub(super) others: Others<'a>,
    /// The candidate that the leader hands the leadership over to.
    pub(super) next_leader: Option<Sequence>,
    /// The number of children with a lower number.
    pub(super) ahead: usize,
    /// The next candidate with a higher number.
    pub(super) behind: Option<&'a str>,
}

impl Standing {
    pub(super) fn survey<'a>(
        &self,
        contest: Contest,
        id: NomineeId,
        children: Children<'a>,
    ) -> Survey<'a> {
        let (name, sequence) = (self.own.text(), self.own.sequence());
        let name = &*name;
        let passed = self.passed();
        let rival = |name: &str| contest.rival(name);
        let (mut ghost, mut others) = (None, Others::default());
        let next_leader = |name| Some(contest.format.parse_hand_over_mark(name)?.to());
        let (mut next, mut behind) = (None, None);
        let may_wake = contest.end_mark().is_some();
        let is_in_order = |name: &str| may_wake && contest.is_in_order(name);
        let all = children.index();
        let mut ahead = all.map_or(0, |index| count_before(index, sequence));
        let names =
            children.around((name, sequence), (contest.format, id), rival).inspect(|found| {
                if all.is_none() {
                    others.take_in(contest, passed, found);
                    next = next.max(next_leader(found));
                    let number = Sequence::at_end_of(found);
                    ahead += usize::from(number.is_some_and(|number| number < sequence));
                    if is_nearer(found, behind, sequence) && is_in_order(found) {
                        behind = Some(*found);
                    }
                }
                // Of several, it takes the same one in whatever order they come.
                let is_ghost = *found != name && contest.format.owns(id, found);
                if is_ghost && ghost.is_none_or(|known| *found < known) {
                    ghost = Some(*found);
                }
            });
        let found = place(name, sequence, names, rival);
        // The names that are near do not show it.
        if let (Some(index), Place::Free | Place::Blocked { remaining: Remaining::Last, .. }) =
            (all, found)
        {
            Children::indexed(index).for_each(|name| others.take_in(contest, passed, name));
            behind = Children::indexed(index).nearest_behind(sequence, is_in_order);
        }
        if let (Some(index), Some(mark)) = (all, contest.end_mark()) {
            others.is_over |= holds(index, mark);
            next = beginning(index, HandOverMark::START).filter_map(next_leader).max();
        }
        Survey { found, ghost, others, next_leader: next, ahead, behind }
    }
}

/// Returns whether a name has a higher sequence than the nominee, and a lower one than the nearest known.
fn is_nearer(name: &str, known: Option<&str>, own: Sequence) -> bool {
    let (number, known) = (Sequence::at_end_of(name), known.and_then(Sequence::at_end_of));
    number > Some(own) && known.is_none_or(|known| number < Some(known))
}

impl Standing {
    /// Returns the foreign child that was looked at last, if the present list is to go on behind it.
    pub(super) fn passed(&self) -> Option<&str> {
        match &self.position {
            Position::Foreign(ForeignChild { name, watch: ForeignWatch::Passed }) => {
                Some(name.as_str())
            }
            _ => None,
        }
    }
}

impl Contest {
    pub(super) fn behind(
        self,
        by: &str,
        lowest: &str,
        remaining: Remaining,
        strangers: Strangers,
    ) -> Result<Behind, Obstacle> {
        let kept = |name| self.format.parse(name).map_err(|_| self.obstacle(name));
        let ahead = match (remaining, strangers) {
            (Remaining::Last, Strangers::None) => Ahead::Nobody,
            (Remaining::Last, Strangers::Possible) => Ahead::Strangers,
            (Remaining::More, _) => Ahead::Others { leader: kept(lowest)? },
        };
        Ok(Behind { predecessor: kept(by)?, watch: PredecessorWatch::Unset, ahead })
    }

    /// Returns whether the nominee can lead by the end of its predecessor alone.
    pub(super) const fn strangers(self, others: Others<'_>) -> Strangers {
        match (others.first, self.format.layout().tombstone) {
            (None, None) => Strangers::None,
            (Some(_), _) | (_, Some(_)) => Strangers::Possible,
        }
    }

    /// Returns whether a contender that does not lead has to let this one go first, and does.
    pub(super) fn stands_behind(self, own: &CandidateName, next_leader: Option<Sequence>) -> bool {
        self.end_mark().is_some()
            && self.when_asked == WhenAsked::StandsBehind
            && next_leader.is_some_and(|next| own.sequence() < next)
    }

    /// Makes an obstacle of a candidate with a name that is too long to be kept.
    fn obstacle(self, name: &str) -> Obstacle {
        self.rival(name).map_or(Obstacle::OwnName, Obstacle::LongName)
    }
}
