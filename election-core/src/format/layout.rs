//! The layout of contenders' names.

use core::fmt;

use thiserror::Error;

use crate::access::Access;
use crate::id::{FIXED_BYTES, NomineeId};
use crate::name::{CAPACITY, DIGITS};

/// The parts of a format's names: `start`, the id, `separator`, the label of the access, and ten
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The text before the id.
    pub start: &'static str,
    /// The id.
    pub id: IdInName,
    /// The text between the id and the label.
    pub separator: &'static str,
    /// The text before the number of a contender. A name is made with the first label of its
    /// access. A child with any of the labels before its number is a contender, whatever precedes
    /// the label. In a format without an id nothing but the label precedes the number.
    pub labels: &'static [Label],
    /// The fate of a writer's name when it continues as a reader.
    pub downgrade: Downgrade,
    /// How to ask a contender to release.
    pub revocation: Revocation,
    /// The data that a contender must have, if the format prescribes them; otherwise they are the
    /// user's.
    pub data: Option<&'static [u8]>,
    /// The text that marks a child as the end of the contest for good.
    pub tombstone: Option<&'static str>,
    /// The child by which an election node says that its election is ended until it is reopened. It
    /// must not end in ten digits, and no participant may take it for a contender.
    pub end_mark: Option<&'static str>,
}

/// The part of a name before its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The text.
    pub text: &'static str,
    /// The access that a contender with this label asks for.
    pub access: Access,
}

/// The id in a name, which distinguishes the contender's znode from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdInName {
    /// 36 characters, with dashes.
    Uuid,
    /// 32 hexadecimal digits.
    Hex,
    /// The session's id as a decimal number with a sign.
    SessionDecimal,
    /// No id.
    None,
}

/// The way in which a writer continues as a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Downgrade {
    /// It cannot: a contender that goes leaves nothing.
    None,
    /// It can, by a znode with its own number: a reader may take the place of a writer that goes.
    KeepsNumber,
}

/// The way in which a client asks a contender to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Revocation {
    /// It cannot: contenders of other libraries would fail if data are written after the creation,
    /// or do not expect it. Nothing is written.
    None,
    /// It can, by a [request](crate::lock::REVOKE_REQUEST) that replaces its data.
    ByData,
}

/// Why a layout is refused: its names would be ambiguous, or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// No contender can ask for exclusive access.
    #[error("no label is that of an exclusive contender")]
    NothingExclusive,
    /// A label is empty, or ends in a digit, which no reader could separate from the number.
    #[error("a label is empty or ends in a digit")]
    AmbiguousLabel,
    /// A part contains a slash: a name is not a path.
    #[error("a part of the name holds a slash")]
    Slash,
    /// A name would be longer than 64 bytes.
    #[error("names of this layout are longer than 64 bytes")]
    TooLong,
}

impl Layout {
    /// Returns the label that a name is made with.
    pub const fn label(&self, access: Access) -> Option<&'static str> {
        let mut labels = self.labels;
        while let [first, rest @ ..] = labels {
            if matches!(
                (first.access, access),
                (Access::Exclusive, Access::Exclusive) | (Access::Shared, Access::Shared)
            ) {
                return Some(first.text);
            }
            labels = rest;
        }
        None
    }

    pub(super) const fn check(&self) -> Result<(), LayoutError> {
        if self.label(Access::Exclusive).is_none() {
            return Err(LayoutError::NothingExclusive);
        }
        let id = match self.id.length() {
            Some(length) => length,
            None => self.id.longest(),
        };
        // A number may have a sign.
        let around = self.start.len() + id + self.separator.len() + 1 + DIGITS;
        if has_slash(self.start.as_bytes()) || has_slash(self.separator.as_bytes()) {
            return Err(LayoutError::Slash);
        }
        let mut labels = self.labels;
        while let [Label { text, .. }, rest @ ..] = labels {
            match text.as_bytes() {
                [] | [.., b'0'..=b'9'] => return Err(LayoutError::AmbiguousLabel),
                text if has_slash(text) => return Err(LayoutError::Slash),
                text if around + text.len() > CAPACITY => return Err(LayoutError::TooLong),
                _ => {}
            }
            labels = rest;
        }
        Ok(())
    }
}

const fn has_slash(mut text: &[u8]) -> bool {
    while let [first, rest @ ..] = text {
        if *first == b'/' {
            return true;
        }
        text = rest;
    }
    false
}

impl IdInName {
    /// Returns how many characters an id of a contender has.
    pub(crate) const fn length(self) -> Option<usize> {
        match self {
            Self::Uuid => Some(36),
            Self::Hex => Some(32),
            Self::SessionDecimal | Self::None => None,
        }
    }

    /// Returns how many of them are the same in all names of a contender.
    pub(super) const fn fixed_length(self) -> Option<usize> {
        match self {
            // Four dashes.
            Self::Uuid => Some(2 * FIXED_BYTES + 4),
            Self::Hex => Some(2 * FIXED_BYTES),
            Self::SessionDecimal | Self::None => None,
        }
    }

    /// Returns how many characters an id can have that is not a contender's.
    const fn longest(self) -> usize {
        match self {
            Self::SessionDecimal => 20,
            Self::Uuid | Self::Hex | Self::None => 0,
        }
    }

    pub(super) fn read(self, text: &str) -> Option<NomineeId> {
        match self {
            Self::Uuid => text.parse().ok(),
            Self::Hex => NomineeId::from_hex(text),
            Self::SessionDecimal | Self::None => None,
        }
    }

    pub(super) fn write(self, id: NomineeId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid => fmt::Display::fmt(&id, f),
            Self::Hex => id.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::SessionDecimal | Self::None => Ok(()),
        }
    }

    /// Returns the sign for the id in an abridged name.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Uuid => "<uuid>",
            Self::Hex => "<hex>",
            Self::SessionDecimal => "<session>",
            Self::None => "",
        }
    }
}
