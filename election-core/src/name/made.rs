//! Names of Curator's recipes, and of this crate's: an id and a number, and what they are for.

use heapless::String;

use super::sequence::{DIGITS, Sequence};
use crate::id::{NomineeId, UUID_LEN};

/// The longest name that is kept, in bytes; one that a contender makes has at most 59.
pub(crate) const CAPACITY: usize = 64;

/// `_c_<uuid>-<label><number>`, with the uuid in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct MadeName {
    pub(super) sequence: Sequence,
    id: NomineeId,
    label: MadeLabel,
}

/// A name that is made, as text.
pub(super) type MadeText = String<CAPACITY, u8>;

const START: &str = "_c_";

/// The text between the id and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MadeLabel {
    Latch,
    Lock,
    Lease,
    Writer,
    Reader,
}

impl MadeLabel {
    const ALL: [Self; 5] = [Self::Latch, Self::Lock, Self::Lease, Self::Writer, Self::Reader];

    const fn text(self) -> &'static str {
        match self {
            Self::Latch => "-latch-",
            Self::Lock => "-lock-",
            Self::Lease => "-lease-",
            Self::Writer => "-__WRIT__",
            Self::Reader => "-__READ__",
        }
    }
}

impl MadeName {
    /// Reads a name; `None` if it is another one than that which this would [show](Self::text).
    pub(super) fn read(name: &str) -> Option<Self> {
        let (id, rest) = name.strip_prefix(START)?.split_at_checked(UUID_LEN)?;
        let (label, number) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
        let label = MadeLabel::ALL.into_iter().find(|known| known.text() == label)?;
        let sequence = Sequence::at_end_of(number)?;
        let id = NomineeId::from_lower_case(id)?;
        Some(Self { sequence, id, label })
    }

    pub(super) fn text(self) -> MadeText {
        let mut text = MadeText::new();
        let (id, number) = (self.id.in_lower_case(), self.sequence.digits());
        // The name has room for the longest part: 59 bytes.
        for part in [START.as_bytes(), &id, self.label.text().as_bytes(), &number] {
            let _fits = core::str::from_utf8(part).map(|part| text.push_str(part));
        }
        text
    }
}
