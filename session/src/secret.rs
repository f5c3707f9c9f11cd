//! Bytes that are shown nowhere, and wiped when they are dropped.

use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

/// A password, credential or token: not shown by `Debug`, and overwritten when dropped.
///
/// What it is made from is overwritten only if it is taken by value, as a `String` or `Vec`: other
/// copies are the caller's to look after.
///
/// ```
/// use zk_session::Secret;
///
/// let secret = Secret::new("swordfish");
/// assert_eq!(format!("{secret:?}"), "Secret(redacted)");
/// assert_eq!(secret.expose(), b"swordfish");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// A secret of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The bytes. Copies of them are not wiped.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// To be filled in place, so that there is no other copy.
    pub(crate) fn expose_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}
