//! Two hashers: one that sorts what a nominee hashes by what it is, and one that is quick.

use core::hash::Hasher;

use super::client::FIRST_SESSION;
use super::server::{Name, split};

/// A field of a nominee, as a hasher is shown it.
pub enum Field {
    Name(Name),
    Token(i64),
    Session(i64),
    Ticket((u32, u32)),
    /// Which variant an enum is, or a small count.
    Other(i64),
}

/// Sorts what a nominee hashes by what it is.
pub struct Fields<F> {
    sink: F,
    /// The incarnation, the count of steps and that of creates come first, and stand behind the
    /// tickets and names only.
    counters: u8,
    incarnation: Option<u32>,
    /// A ticket is a variant and two numbers; another count does not follow on a variant.
    is_after_variant: bool,
    /// After the text of a candidate's name comes its sequence, which the text says too.
    is_after_name: bool,
    /// A duration is seconds, and then nanoseconds. Nothing else has 64 bits without a sign.
    is_after_seconds: bool,
}

impl<F: FnMut(Field)> Fields<F> {
    pub fn new(sink: F) -> Self {
        Self {
            sink,
            counters: 3,
            incarnation: None,
            is_after_variant: false,
            is_after_name: false,
            is_after_seconds: false,
        }
    }

    pub fn after_counters(sink: F) -> Self {
        Self { counters: 0, ..Self::new(sink) }
    }

    fn other(&mut self, number: i64) {
        (self.sink)(Field::Other(number));
    }
}

impl<F: FnMut(Field)> Hasher for Fields<F> {
    fn write(&mut self, bytes: &[u8]) {
        self.is_after_variant = false;
        if let Ok(text) = core::str::from_utf8(bytes)
            && ["_c_", "n_", "x-"].iter().any(|it| text.starts_with(it) && text.len() > it.len())
        {
            (self.sink)(Field::Name(quick_parse(text)));
            self.is_after_name = true;
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.is_after_variant = false;
        self.other(i64::from(number));
    }

    fn write_i32(&mut self, number: i32) {
        (self.is_after_variant, self.is_after_name) = (false, false);
        self.other(i64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        if core::mem::take(&mut self.is_after_seconds) {
            self.other(i64::from(number));
        } else if core::mem::take(&mut self.is_after_name) {
        } else if self.counters > 0 {
            self.counters -= 1;
        } else if let Some(incarnation) = self.incarnation.take() {
            (self.sink)(Field::Ticket((incarnation, number)));
        } else if core::mem::take(&mut self.is_after_variant) {
            self.incarnation = Some(number);
        } else {
            self.other(i64::from(number));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.is_after_variant = false;
        self.is_after_seconds = true;
        self.other(i64::try_from(number).expect("no such long time"));
    }

    fn write_i64(&mut self, number: i64) {
        self.is_after_variant = false;
        let field =
            if number >= FIRST_SESSION { Field::Session(number) } else { Field::Token(number) };
        (self.sink)(field);
    }

    fn write_isize(&mut self, number: isize) {
        self.other(i64::try_from(number).expect("an enum is small"));
        (self.is_after_variant, self.is_after_name) = (true, false);
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        0
    }
}

fn quick_parse(text: &str) -> Name {
    let (client, attempt, kind, digits) = split(text);
    Name { client, attempt, kind, sequence: digits.parse().expect("a number") }
}

/// A quick hasher that every bit of its input goes through.
#[derive(Default)]
pub struct Mix(u64);

impl Mix {
    pub fn number(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_i32(&mut self, number: i32) {
        self.number(i64::from(number));
    }

    fn write_i64(&mut self, number: i64) {
        self.number(number);
    }

    fn write_isize(&mut self, number: isize) {
        self.number(i64::try_from(number).expect("64 bits"));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(u64::try_from(number).expect("64 bits"));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(23);
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }
}
