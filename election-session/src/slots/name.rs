//! Names of slots and of their members.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use thiserror::Error;
use zk_session::check_path;

use crate::path::child_path;

/// The name of a slot, or of a member that may hold slots: a part of a znode's path, without spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotName(Arc<str>);

/// A text is no name of a slot or a member: it is empty, `.` or `..`, longer than
/// [`SlotName::MAX_LEN`], or has a slash, a space, or a character that does not print.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no name of a slot or a member: take 1 to {max} bytes without slashes, spaces and control characters",
    max = SlotName::MAX_LEN
)]
pub struct SlotNameError(pub String);

impl SlotName {
    /// The most bytes of a name.
    pub const MAX_LEN: usize = 128;

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SlotName {
    type Err = SlotNameError;

    fn from_str(text: &str) -> Result<Self, SlotNameError> {
        let is_plain = |c: char| !(c == '/' || c.is_whitespace() || c.is_control());
        let is_znode = !text.is_empty() && check_path(&child_path("/", text)).is_ok();
        if !is_znode || text.len() > Self::MAX_LEN || !text.chars().all(is_plain) {
            return Err(SlotNameError(text.into()));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Deref for SlotName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
