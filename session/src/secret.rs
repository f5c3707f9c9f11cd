//! Bytes that nobody is to see.

use alloc::vec::Vec;
use core::fmt;

/// A password or credential: not shown by `Debug`, and overwritten when dropped.
///
/// The copies that go to the transport are the driver's to look after.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }

    /// To be filled in place, so that there is no other copy.
    pub(crate) fn expose_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.fill(0);
        // Keeps the compiler from leaving out a write that nobody reads.
        core::hint::black_box(self.0.as_slice());
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}
