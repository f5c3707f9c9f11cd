//! Names of contenders, and the number at the end of a name.
//!
//! The [`Format`](crate::format::Format) defines the part before the number. The number alone decides the
//! order, whatever the name starts with (ZOOKEEPER-2931).

mod made;
mod sequence;
mod text;

use core::fmt;
use core::hash::{Hash, Hasher};

use thiserror::Error;

pub(crate) use made::CAPACITY;
use made::MadeName;
pub(crate) use sequence::DIGITS;
pub use sequence::Sequence;
use text::KeptText;
pub use text::NameText;

/// The name of a candidate znode under its election node; never a path.
///
/// A name that this crate or Curator makes is kept as an id and a number, in 24 bytes. Any other name
/// is kept as text: with the feature `alloc` on the heap, without it in place.
#[derive(Clone, PartialEq, Eq)]
pub struct CandidateName(Form);

/// The form in which a name is kept. A name has one form only, so equal forms are equal names.
#[derive(Clone, PartialEq, Eq)]
enum Form {
    Made(MadeName),
    Text(KeptText),
}

/// The name of a znode below another one, as a recipe gives it; never a path.
#[derive(Clone, Copy)]
pub enum Name<'a> {
    /// A name that is this text.
    Text(&'a str),
    /// The name of a candidate, or of another contender.
    Candidate(&'a CandidateName),
}

/// The error for a name that no candidate can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name does not end in a label of its format and ten digits.
    #[error(
        "not a candidate: the name does not end in `latch-`, or what its format has there, and ten digits"
    )]
    NotACandidate,
    /// The name ends in a number that the server gives to several znodes.
    #[error("the name ends in a number beyond 2147483646, which the server gives more than once")]
    SequenceExhausted,
    /// The name is longer than 64 bytes.
    #[error("the candidate's name is longer than 64 bytes")]
    TooLong,
}

impl CandidateName {
    /// # Errors
    ///
    /// [`NameError`] if the name is too long, or does not end in a sequence.
    pub(crate) fn new(name: &str) -> Result<Self, NameError> {
        if let Some(made) = MadeName::read(name) {
            return Ok(Self(Form::Made(made)));
        }
        let text = KeptText::new(name).ok_or(NameError::TooLong)?;
        Sequence::at_end_of(name).map(|_| Self(Form::Text(text))).ok_or(NameError::NotACandidate)
    }

    /// Returns the name as text.
    pub fn text(&self) -> NameText<'_> {
        match &self.0 {
            Form::Made(made) => NameText::made(*made),
            Form::Text(text) => NameText::borrowed(text.as_str()),
        }
    }

    /// Returns the number that the server appended.
    pub fn sequence(&self) -> Sequence {
        match &self.0 {
            Form::Made(made) => made.sequence,
            // The default is never used: the text of a name ends in a sequence.
            Form::Text(text) => Sequence::at_end_of(text.as_str()).unwrap_or(Sequence::LAST),
        }
    }
}

impl<'a> Name<'a> {
    /// Returns the name as text.
    pub fn text(self) -> NameText<'a> {
        match self {
            Self::Text(text) => NameText::borrowed(text),
            Self::Candidate(name) => name.text(),
        }
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a CandidateName> for Name<'a> {
    fn from(name: &'a CandidateName) -> Self {
        Self::Candidate(name)
    }
}

/// Compares names by their text.
impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        *self.text() == *other.text()
    }
}

impl Eq for Name<'_> {}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.text() == *other
    }
}

impl PartialEq<&str> for CandidateName {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl PartialEq<str> for CandidateName {
    fn eq(&self, other: &str) -> bool {
        *self.text() == *other
    }
}

/// Hashes the text, as [`Name`] does.
impl Hash for CandidateName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text(), f)
    }
}

impl fmt::Display for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CandidateName({self})")
    }
}

/// The name of a child of an election node or a lock, whatever it ends in, of at most 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChildName(KeptText);

impl ChildName {
    /// Returns `None` if no child can have this name, or the name is too long to be kept.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let is_child = !matches!(name, "" | "." | "..") && !name.contains('/');
        KeptText::new(name).filter(|_| is_child).map(Self)
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl<'a> From<&'a ChildName> for Name<'a> {
    fn from(name: &'a ChildName) -> Self {
        Self::Text(name.as_str())
    }
}

/// Makes a name with the same text.
impl From<&CandidateName> for ChildName {
    fn from(name: &CandidateName) -> Self {
        Self(KeptText::of(&name.text()))
    }
}

#[cfg(test)]
mod tests;
