//! Bytes that are never shown, and wiped when dropped.

use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

/// A password, credential or token. `Debug` does not show it, and it is overwritten when dropped.
///
/// A source that is passed by value, as a `String` or `Vec`, is overwritten too. The caller looks
/// after all other copies.
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
    /// Makes a secret of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// Returns the bytes. Copies of them are not wiped.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes, to be filled in place without another copy.
    pub(crate) fn expose_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}
