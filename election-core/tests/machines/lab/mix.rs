//! Quick hashers.

use core::hash::{Hash, Hasher};

pub(super) fn hash(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = Mix(0);
    of.hash(&mut hasher);
    hasher.finish()
}

/// A quick hasher that every bit of its input goes through.
pub(super) struct Mix(pub(super) u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let last = rest.iter().fold(0, |last, byte| last << 8 | u64::from(*byte));
        self.write_u64(last << 8 | u64::try_from(rest.len()).expect("few"));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_i32(&mut self, number: i32) {
        self.write_u64(number.cast_unsigned().into());
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(u64::try_from(number).expect("64 bits"));
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(u64::try_from(number.cast_unsigned()).expect("64 bits"));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(23) ^ 1;
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }
}

/// A hash is one already.
#[derive(Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
