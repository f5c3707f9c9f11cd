//! Destinations of encoded bytes.

/// A sink for encoded bytes.
///
/// A write never fails: growing sinks have room, and [`SliceWriter`] reports at its end that its
/// buffer was too small.
pub trait Writer {
    /// Appends `bytes`.
    fn put(&mut self, bytes: &[u8]);
}

#[cfg(feature = "alloc")]
impl Writer for alloc::vec::Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

#[cfg(feature = "alloc")]
impl Writer for bytes::BytesMut {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Counts bytes instead of writing them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter(usize);

impl Counter {
    /// Returns the number of bytes counted so far.
    pub const fn count(self) -> usize {
        self.0
    }
}

impl Writer for Counter {
    fn put(&mut self, bytes: &[u8]) {
        self.0 = self.0.saturating_add(bytes.len());
    }
}

/// Writes into a caller's buffer.
#[derive(Debug)]
pub struct SliceWriter<'a> {
    buffer: &'a mut [u8],
    needed: usize,
}

impl<'a> SliceWriter<'a> {
    /// Makes a writer that begins at the front of `buffer`.
    pub const fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, needed: 0 }
    }

    /// Returns the written bytes, or how many the buffer should have had.
    pub fn finish(self) -> Result<&'a [u8], BufferTooSmall> {
        let needed = self.needed;
        self.buffer.get(..needed).ok_or(BufferTooSmall { needed })
    }
}

impl Writer for SliceWriter<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.needed.saturating_add(bytes.len());
        if let Some(target) = self.buffer.get_mut(self.needed..end) {
            target.copy_from_slice(bytes);
        }
        self.needed = end;
    }
}

/// A buffer that cannot hold the encoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buffer too small: {needed} bytes needed")]
pub struct BufferTooSmall {
    /// Bytes that the record takes.
    pub needed: usize,
}
