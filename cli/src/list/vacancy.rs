//! Says what a node may be at which nothing is to be listed.

use core::fmt;

use super::lookup::Lookup;
use crate::args::{FormatName, Kind, Reading};
use crate::failure::Failure;

/// The state of a node at which nothing is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vacancy {
    /// The node does not exist.
    Absent,
    /// The mark of an ended election stands beside the node.
    Ended,
    /// The node has never had a child.
    Childless,
    /// The node has no child any more.
    Emptied,
    /// The node has children, and none is a contender or an item.
    Unknown { children: i32 },
    /// The two nodes of a semaphore stand, with nothing below.
    Semaphore,
}

impl Vacancy {
    /// Reads what the node is like.
    pub(super) async fn of(
        lookup: &Lookup<'_>,
        reading: Reading,
        kind: Option<Kind>,
    ) -> Result<Self, Failure> {
        if kind == Some(Kind::Semaphore) {
            return Ok(Self::Semaphore);
        }
        let Some(stat) = lookup.stat("").await? else { return Ok(Self::Absent) };
        let format = match reading {
            Reading::As(format) => format,
            Reading::Election | Reading::Recognised => FormatName::CuratorLatch,
        };
        let is_end_mark = |name: &String| format.format().end_mark() == Some(name.as_str());
        Ok(match stat.num_children {
            0 if stat.cversion.get() == 0 => Self::Childless,
            0 => Self::Emptied,
            _ if lookup.names("").await?.iter().any(is_end_mark) => Self::Ended,
            children => Self::Unknown { children },
        })
    }

    /// Returns the sentence for a path.
    pub(super) fn sentence(self, path: &str, reading: Reading) -> impl fmt::Display {
        let vacant = match reading {
            Reading::Election => "no candidate stands at",
            Reading::As(_) => "no contender is at",
            Reading::Recognised => "nothing is listed at",
        };
        let why = match self {
            Self::Ended => {
                ": the election was ended, and `zkelect reopen` lets candidates stand again"
                    .to_owned()
            }
            Self::Absent => ": the node does not exist".to_owned(),
            Self::Semaphore => ": all permits of the semaphore are free".to_owned(),
            // An operator who names what the node is does not want to hear what it may be.
            _ if reading != Reading::Recognised => String::new(),
            Self::Childless => {
                ": the node exists and has never had a child; a barrier there is set".to_owned()
            }
            Self::Emptied => {
                ": the node has no child any more; a free lock, an emptied queue or an \
                              election without a candidate looks like that"
                    .to_owned()
            }
            Self::Unknown { children: 1 } => {
                ": its one child is no contender and no item; the path may lead to a parent"
                    .to_owned()
            }
            Self::Unknown { children } => format!(
                ": none of its {children} children is a contender or an item; the path may lead to a parent"
            ),
        };
        format!("{vacant} {path}{why}")
    }
}
