//! The changes and reads of one aspect of one znode, between two gaps.

use election_tokio::watch::EventType;

use super::{Breach, Change, Note, Znode};

/// The part of a znode that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aspect {
    Data,
    Children,
    Existence,
}

impl Aspect {
    pub(super) const ALL: [Self; 3] = [Self::Data, Self::Children, Self::Existence];

    /// Returns the number of changes, where servers count them.
    const fn count(self, seen: Znode) -> Option<i32> {
        match self {
            Self::Data => Some(seen.data.changes),
            Self::Children => Some(seen.children.changes),
            Self::Existence => None,
        }
    }

    /// Returns the transaction of the last change, as the read shows it.
    const fn zxid(self, seen: Znode) -> i64 {
        match self {
            Self::Data => seen.data.zxid,
            Self::Children => seen.children.zxid,
            Self::Existence => seen.czxid,
        }
    }
}

/// The changes that were told, and the reads among them.
#[derive(Debug)]
pub(super) struct Tale<'a> {
    aspect: Aspect,
    told: Vec<&'a Change>,
    looks: Vec<Look>,
}

#[derive(Debug)]
struct Look {
    /// How many changes had been told when it was asked for.
    asked: usize,
    /// How many had been told when it was answered.
    answered: usize,
    seen: Option<Znode>,
}

impl<'a> Tale<'a> {
    /// Takes out of the notes what concerns the aspect, and the reads of the znode; but not those
    /// that were asked for before the gap.
    pub(super) fn of(
        aspect: Aspect,
        span: &'a [Note],
        path: &str,
        concerns: impl Fn(&Change) -> bool,
    ) -> Self {
        let mut tale = Self { aspect, told: Vec::new(), looks: Vec::new() };
        // How many changes had been told before each note.
        let mut told_before = Vec::new();
        for (index, note) in span.iter().enumerate() {
            let answered = tale.told.len();
            told_before.push(answered);
            match note {
                Note::Changed(change) if concerns(change) => tale.told.push(change),
                Note::Read { path: of, seen, meanwhile } if of == path => {
                    let asked = index.checked_sub(*meanwhile);
                    let asked = asked.and_then(|index| told_before.get(index).copied());
                    tale.looks.extend(asked.map(|asked| Look { asked, answered, seen: *seen }));
                }
                Note::Changed(_) | Note::ChangesMissed | Note::Read { .. } => {}
            }
        }
        tale
    }

    /// Returns a breach; `before` is the count that was read last, before the gap, and then that
    /// read here.
    pub(super) fn breach(&self, before: &mut i32) -> Option<Breach> {
        let by_nature = match self.aspect {
            Aspect::Existence => self.breach_of_turns(),
            Aspect::Data | Aspect::Children => self.breach_of_counts(before),
        };
        by_nature.or_else(|| self.breach_of_zxids())
    }

    /// Checks the counts: the one at the first change is not known, but it is one number for all.
    fn breach_of_counts(&self, before: &mut i32) -> Option<Breach> {
        let (mut at_least, mut at_most) = (*before, i32::MAX);
        for Look { asked, answered, seen } in &self.looks {
            let Some(count) = seen.and_then(|seen| self.aspect.count(seen)) else {
                continue;
            };
            let count_at_first = |told: usize| count.saturating_sub_unsigned(number(told));
            if count_at_first(*asked) < at_least {
                return Some(Breach::Spurious);
            }
            if count_at_first(*answered) > at_most {
                return Some(Breach::Untold);
            }
            at_least = at_least.max(count_at_first(*answered));
            at_most = at_most.min(count_at_first(*asked));
            *before = count;
        }
        None
    }

    /// Checks that a znode comes and goes in turn. The next connection may repeat the changes after
    /// the last read, from where its server stands.
    fn breach_of_turns(&self) -> Option<Breach> {
        let last = self.looks.last()?;
        let told = self.told.get(..last.answered)?;
        if told.windows(2).any(|pair| matches!(pair, [one, next] if one.kind == next.kind)) {
            return Some(Breach::OutOfOrder);
        }
        let created = |change: &&Change| change.kind == EventType::NODE_CREATED;
        let at_first = match told.first() {
            Some(change) => !created(change),
            None => self.looks.first()?.seen.is_some(),
        };
        let states: Vec<_> = core::iter::once(at_first).chain(told.iter().map(created)).collect();
        let was_so = |look: &Look| {
            let states = states.get(look.asked..=look.answered);
            states.is_some_and(|states| states.contains(&look.seen.is_some()))
        };
        let replaced = |[one, next]: [&Look; 2]| {
            let another =
                matches!((one.seen, next.seen), (Some(one), Some(next)) if one.czxid != next.czxid);
            let between = told.get(one.asked..next.answered);
            another && !between.is_some_and(|between| between.iter().any(created))
        };
        let mut pairs = self.looks.iter().zip(self.looks.iter().skip(1));
        let fine = self.looks.iter().all(was_so) && !pairs.any(|(one, next)| replaced([one, next]));
        (!fine).then_some(Breach::Untold)
    }

    /// Checks the transactions, where servers tell them.
    fn breach_of_zxids(&self) -> Option<Breach> {
        let zxids = |told: &[&Change]| told.iter().filter_map(|told| told.zxid).collect::<Vec<_>>();
        if !zxids(&self.told).is_sorted_by(|one, next| one < next) {
            return Some(Breach::OutOfOrder);
        }
        self.looks.iter().find_map(|look| {
            let seen = self.aspect.zxid(look.seen?);
            let (asked, behind) = (self.told.get(..look.asked)?, self.told.get(look.answered..)?);
            if zxids(asked).into_iter().any(|told| told > seen) {
                return Some(Breach::Spurious);
            }
            zxids(behind).into_iter().any(|told| told <= seen).then_some(Breach::Untold)
        })
    }
}

fn number(told: usize) -> u32 {
    u32::try_from(told).unwrap_or(u32::MAX)
}
