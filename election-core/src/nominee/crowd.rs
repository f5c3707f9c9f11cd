//! The rule of a contest with room for several: the number of children that stand counts, and not which
//! ones stand.
//!
//! Consider the contenders that stand at one moment. The one that was created last has seen all the
//! others in the list that let it in, since it saw itself. So if each has seen no more than there
//! is room for, no more than that are in.

use core::num::NonZeroU32;

use super::stage::{Afterwards, ListWatch, Look, NomineeStage, Position, Standing, Suspect};
use super::waking::Waking;
use super::{Nominee, Patience};
use crate::children::Children;
use crate::name::ChildName;
use crate::outcome::Notice;
use crate::ticket::Ticket;

impl Nominee {
    /// Takes room by a list, which may have left a watch. The first list leaves none: where there is
    /// room, no watch is needed.
    pub(super) fn take_room(
        &mut self,
        children: Children<'_>,
        most: NonZeroU32,
        watch: Option<Ticket>,
    ) -> Option<Notice> {
        let (id, contest) = (self.id, self.contest);
        let NomineeStage::Standing(Standing { own, position, look, .. }) = &mut self.stage else {
            return None;
        };
        *look = Look::NotDue;
        let crowd = Crowd::of(children, &own.text(), |name| contest.format.owns(id, name));
        if crowd.own == Presence::Missing {
            return self.evict();
        }
        if let Some(name) = crowd.ghost.and_then(ChildName::new) {
            *position = Position::Haunted(Suspect::Found { name });
            return None;
        }
        if crowd.number <= most.get() {
            *position = Position::First;
            return self.lead(Waking::Over);
        }
        if contest.patience == Patience::Leaves {
            let own = own.clone();
            self.stage = self.leaving(own, Afterwards::Withdrawn);
            return None;
        }
        match (&mut *position, watch) {
            // This was a look: the watch stands.
            (Position::Crowded(_), None) => None,
            (Position::Crowded(known), Some(ticket)) => {
                *known = ListWatch::Armed(ticket);
                None
            }
            (_, watch) => {
                *position = Position::Crowded(watch.map_or(ListWatch::Unset, ListWatch::Armed));
                Some(Notice::Following)
            }
        }
    }
}

/// The children that a list shows.
struct Crowd<'a> {
    /// The number of all children.
    number: u32,
    own: Presence,
    /// Another child with the nominee's id; of several the same one, in whatever order they come.
    ghost: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Missing,
    Listed,
}

impl<'a> Crowd<'a> {
    fn of(children: Children<'a>, own: &str, owns: impl Fn(&str) -> bool) -> Self {
        let mut crowd = Self { number: 0, own: Presence::Missing, ghost: None };
        for name in children {
            crowd.number = crowd.number.saturating_add(1);
            if name == own {
                crowd.own = Presence::Listed;
            } else if owns(name) && crowd.ghost.is_none_or(|known| name < known) {
                crowd.ghost = Some(name);
            }
        }
        crowd
    }
}
