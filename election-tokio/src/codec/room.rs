//! The room for reads.

use bytes::BytesMut;

/// The room of a connection with little traffic: for replies to pings, and an event now and then.
const LEAST: usize = 128;
/// The room of a busy connection.
const MOST: usize = 64 * 1024;
/// The factor by which a read that fills the room makes it larger.
const GROWTH: usize = 4;

/// Room in the buffer that a connection reads into: little at first, and more while reads fill it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadRoom {
    size: usize,
    largest: usize,
}

impl ReadRoom {
    pub(super) const fn new() -> Self {
        Self { size: LEAST, largest: LEAST }
    }

    /// Notes a read. Its complete frames have been taken out of the buffer.
    pub(super) fn was_read_into(&mut self, buffer: &mut BytesMut) {
        if buffer.capacity() == buffer.len() {
            self.size = MOST.min(self.size * GROWTH);
            buffer.reserve(self.size);
        }
        self.largest = self.largest.max(buffer.capacity());
    }

    /// Makes room for the next read: the same room again, if the frames that were taken out are
    /// dropped by now; otherwise another one if next to none is left.
    pub(super) fn make(self, buffer: &mut BytesMut) {
        let is_short = buffer.is_empty() && buffer.capacity() < self.size;
        if is_short && !buffer.try_reclaim(self.size) && buffer.capacity() < self.size / GROWTH {
            buffer.reserve(self.size);
        }
    }

    /// Returns whether there is more room than a connection with little traffic needs.
    pub(super) const fn is_large(&self) -> bool {
        self.largest > LEAST
    }

    /// Gives the room back, unless a part of a frame is in it.
    pub(super) fn give_back(&mut self, buffer: &mut BytesMut) {
        if buffer.is_empty() {
            *self = Self::new();
            *buffer = BytesMut::with_capacity(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads into all of the room, and takes everything out.
    fn fill(room: &mut ReadRoom, buffer: &mut BytesMut) -> usize {
        room.make(buffer);
        let spare = buffer.capacity() - buffer.len();
        buffer.resize(buffer.len() + spare, 7);
        let read = buffer.split();
        room.was_read_into(buffer);
        read.len()
    }

    #[test]
    fn room_grows_while_reads_fill_it_and_is_given_back() {
        let (mut room, mut buffer) = (ReadRoom::new(), BytesMut::new());
        let reads: Vec<_> = (0..7).map(|_| fill(&mut room, &mut buffer)).collect();
        assert_eq!(reads, [LEAST, 512, 2048, 8192, 32 * 1024, MOST, MOST]);
        assert!(room.is_large());
        room.give_back(&mut buffer);
        assert!(!room.is_large() && buffer.capacity() == LEAST);
    }

    #[test]
    fn small_reads_use_the_same_room_again() {
        let (mut room, mut buffer) = (ReadRoom::new(), BytesMut::new());
        room.make(&mut buffer);
        let begin = buffer.as_ptr();
        for _ in 0..100 {
            room.make(&mut buffer);
            assert_eq!(buffer.capacity(), LEAST);
            buffer.extend_from_slice(&[7; 100]);
            drop(buffer.split());
            room.was_read_into(&mut buffer);
        }
        room.make(&mut buffer);
        let distance = (buffer.as_ptr() as usize).wrapping_sub(begin as usize);
        assert!(distance < LEAST && !room.is_large());
    }

    #[test]
    fn a_part_of_a_frame_is_kept() {
        let (mut room, mut buffer) = (ReadRoom::new(), BytesMut::new());
        fill(&mut room, &mut buffer);
        buffer.extend_from_slice(b"begun");
        room.give_back(&mut buffer);
        assert_eq!(buffer, &b"begun"[..]);
        assert!(room.is_large(), "to be given back later");
    }
}
