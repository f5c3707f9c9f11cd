//! A znode, as a recipe has seen it last.

use crate::event::Stat;
use crate::id::{Token, Version};

/// A znode, as it was seen last. The token distinguishes it from the next znode of its name, the
/// version from the same one after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) token: Token,
    pub(crate) version: Version,
}

impl Seen {
    /// Returns the znode as it is after the next write.
    pub(crate) const fn written(self) -> Self {
        // A server counts like this, too.
        Self { version: Version::new(self.version.get().wrapping_add(1)), ..self }
    }
}

impl From<Stat> for Seen {
    fn from(Stat { token, version, .. }: Stat) -> Self {
        Self { token, version }
    }
}
