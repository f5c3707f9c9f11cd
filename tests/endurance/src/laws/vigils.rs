//! The law of one-shot watches: a watch fires once, for the first change after the read that set it,
//! before its client sees that change; or it is lost together with its session.

use alloc::collections::{BTreeMap, BTreeSet};
use core::ops::Bound;

use election_tokio::watch::EventType;

/// The subject of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// A znode's data.
    Data,
    /// Whether there is a znode.
    Existence,
    /// The list of a znode's children.
    Children,
}

/// The state that is watched, as a read shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The znode does not exist.
    Absent,
    /// Made what it is by this transaction: the data's (`mzxid`), or the list of children's
    /// (`pzxid`).
    Since(i64),
}

/// A read, and the session that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The state that the client saw.
    pub state: State,
    /// By which session; `None` if it changed meanwhile.
    pub session: Option<i64>,
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It fired.
    Fired {
        /// The event.
        kind: EventType,
        /// The transaction, if the server told.
        zxid: Option<i64>,
    },
    /// It was reported lost.
    Lost,
    /// It never fired.
    Waiting,
}

/// One watch, from the read that set it to the read that followed its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vigil {
    /// On which znode.
    pub path: String,
    /// On what of it.
    pub watched: Watched,
    /// The read that set it.
    pub first: Look,
    /// A read of the same client that showed something else before it fired.
    pub overtaken_by: Option<State>,
    /// How it ended.
    pub ending: Ending,
    /// The read that followed; for a watch that waits on, when all was quiet.
    pub next: Look,
}

/// How a watch broke the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// The client saw the change before the event.
    #[error("a change was read before it was reported")]
    Overtaken,
    /// It fired with nothing changed: for an earlier change, a second time.
    #[error("fired with nothing changed")]
    Spurious,
    /// It fired with an event that is not its own.
    #[error("fired for what it does not watch")]
    NotWatched,
    /// It fired for a later change than the first one.
    #[error("fired for a later change than that of zxid {skipped}")]
    Late {
        /// The change before.
        skipped: i64,
    },
    /// It never fired although something changed.
    #[error("never fired")]
    Missed,
    /// It was lost although its session lives.
    #[error("lost in a session that lives")]
    Lost,
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{breach}: {vigil:?}")]
pub struct Violation {
    /// How.
    pub breach: Breach,
    /// By which watch.
    pub vigil: Box<Vigil>,
}

/// Holds each watch against the reads around it and against the changes that all of them saw.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check(vigils: &[Vigil]) -> Result<(), Violation> {
    let mut changes: BTreeMap<(&str, Watched), BTreeSet<i64>> = BTreeMap::new();
    for vigil in vigils {
        for state in [vigil.first.state, vigil.next.state] {
            if let State::Since(zxid) = state {
                changes.entry((&vigil.path, vigil.watched)).or_default().insert(zxid);
            }
        }
    }
    for vigil in vigils {
        let known = changes.get(&(vigil.path.as_str(), vigil.watched));
        if let Some(breach) = vigil.breach(known.unwrap_or(&BTreeSet::new())) {
            return Err(Violation { breach, vigil: Box::new(vigil.clone()) });
        }
    }
    Ok(())
}

impl Vigil {
    fn breach(&self, known: &BTreeSet<i64>) -> Option<Breach> {
        if self.overtaken_by.is_some() {
            return Some(Breach::Overtaken);
        }
        let unchanged = self.next.state == self.first.state;
        match self.ending {
            Ending::Waiting => (!unchanged).then_some(Breach::Missed),
            Ending::Lost => {
                let lives = self.first.session.is_some() && self.first.session == self.next.session;
                lives.then_some(Breach::Lost)
            }
            Ending::Fired { kind, .. } if !self.awaits(kind) => Some(Breach::NotWatched),
            // An absent znode may have come and gone again.
            Ending::Fired { .. } if unchanged && self.first.state != State::Absent => {
                Some(Breach::Spurious)
            }
            Ending::Fired { zxid, .. } => {
                let skipped = self.skipped(zxid?, known)?;
                Some(Breach::Late { skipped })
            }
        }
    }

    fn awaits(&self, kind: EventType) -> bool {
        match (self.watched, self.first.state) {
            (Watched::Children, _) => {
                matches!(kind, EventType::NODE_CHILDREN_CHANGED | EventType::NODE_DELETED)
            }
            (_, State::Absent) => kind == EventType::NODE_CREATED,
            (_, State::Since(_)) => {
                matches!(kind, EventType::NODE_DATA_CHANGED | EventType::NODE_DELETED)
            }
        }
    }

    /// Finds a change between the read and the event.
    fn skipped(&self, fired: i64, known: &BTreeSet<i64>) -> Option<i64> {
        match self.first.state {
            State::Since(seen) if seen < fired => {
                known.range((Bound::Excluded(seen), Bound::Excluded(fired))).next().copied()
            }
            State::Since(_) | State::Absent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vigil(first: State, ending: Ending, next: State) -> Vigil {
        Vigil {
            path: "/a".to_owned(),
            watched: Watched::Data,
            first: Look { state: first, session: Some(1) },
            overtaken_by: None,
            ending,
            next: Look { state: next, session: Some(1) },
        }
    }

    fn breach(vigils: &[Vigil]) -> Option<Breach> {
        check(vigils).err().map(|violation| violation.breach)
    }

    fn changed(zxid: Option<i64>) -> Ending {
        Ending::Fired { kind: EventType::NODE_DATA_CHANGED, zxid }
    }

    #[test]
    fn a_watch_that_fires_for_its_change_is_fine() {
        let seen = [
            vigil(State::Since(5), changed(None), State::Since(7)),
            vigil(State::Since(7), changed(Some(9)), State::Since(12)),
            vigil(State::Since(12), Ending::Waiting, State::Since(12)),
        ];
        assert_eq!(check(&seen), Ok(()));
    }

    #[test]
    fn a_change_that_is_read_before_it_is_reported_is_found() {
        let mut seen = vigil(State::Since(5), changed(None), State::Since(7));
        seen.overtaken_by = Some(State::Since(7));
        assert_eq!(breach(&[seen]), Some(Breach::Overtaken));
    }

    #[test]
    fn an_event_that_is_delivered_twice_is_found() {
        let seen = vigil(State::Since(7), changed(None), State::Since(7));
        assert_eq!(breach(&[seen]), Some(Breach::Spurious));
    }

    #[test]
    fn an_event_of_another_watch_is_found() {
        let kind = EventType::NODE_CHILDREN_CHANGED;
        let seen = vigil(State::Since(5), Ending::Fired { kind, zxid: None }, State::Since(7));
        assert_eq!(breach(&[seen]), Some(Breach::NotWatched));
        let mut seen = vigil(State::Absent, changed(None), State::Since(7));
        seen.watched = Watched::Existence;
        assert_eq!(breach(&[seen]), Some(Breach::NotWatched));
    }

    #[test]
    fn a_watch_that_skips_a_change_is_found() {
        let other = vigil(State::Since(5), changed(Some(7)), State::Since(7));
        let late = vigil(State::Since(5), changed(Some(9)), State::Since(9));
        assert_eq!(breach(&[other, late]), Some(Breach::Late { skipped: 7 }));
    }

    #[test]
    fn a_watch_that_never_fires_is_found() {
        let seen = vigil(State::Since(5), Ending::Waiting, State::Since(7));
        assert_eq!(breach(&[seen]), Some(Breach::Missed));
    }

    #[test]
    fn a_watch_is_lost_with_its_session_only() {
        let mut seen = vigil(State::Since(5), Ending::Lost, State::Since(7));
        assert_eq!(breach(&[seen.clone()]), Some(Breach::Lost));
        seen.next.session = Some(2);
        assert_eq!(check(&[seen]), Ok(()));
    }
}
