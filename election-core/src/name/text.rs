//! Names as text: kept, and made for a moment.

use core::fmt;
use core::ops::Deref;

use super::made::{CAPACITY, MadeName, MadeText};

/// A text of up to [`CAPACITY`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeptText(Kept);

/// Where there is an allocator, a text takes the room of a pointer where it mostly is not needed.
#[cfg(feature = "alloc")]
type Kept = alloc::boxed::Box<str>;
#[cfg(not(feature = "alloc"))]
type Kept = heapless::String<CAPACITY, u8>;

impl KeptText {
    /// Keeps the text; `None` if it is too long.
    #[cfg(feature = "alloc")]
    pub(super) fn new(text: &str) -> Option<Self> {
        (text.len() <= CAPACITY).then(|| Self(text.into()))
    }

    /// Keeps the text; `None` if it is too long.
    #[cfg(not(feature = "alloc"))]
    pub(super) fn new(text: &str) -> Option<Self> {
        text.try_into().ok().map(Self)
    }

    /// Keeps a name that is kept already, and so is not too long.
    pub(super) fn of(name: &NameText<'_>) -> Self {
        Self::new(name).unwrap_or_else(|| Self(Kept::default()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name as text, for as long as it is looked at.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NameText<'a>(TextForm<'a>);

#[derive(Clone)]
enum TextForm<'a> {
    Borrowed(&'a str),
    Made(MadeText),
}

impl<'a> NameText<'a> {
    pub(super) const fn borrowed(text: &'a str) -> Self {
        Self(TextForm::Borrowed(text))
    }

    pub(super) fn made(name: MadeName) -> Self {
        Self(TextForm::Made(name.text()))
    }
}

impl PartialEq for TextForm<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for TextForm<'_> {}

impl core::hash::Hash for TextForm<'_> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl TextForm<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl Deref for NameText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_str()
    }
}

impl AsRef<str> for NameText<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq<str> for NameText<'_> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for NameText<'_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for NameText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for NameText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
