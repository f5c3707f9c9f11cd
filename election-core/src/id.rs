//! The ids and numbers that an election gets from outside.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// The id of a ZooKeeper session, as the server numbers it.
///
/// Displayed in hexadecimal, as ZooKeeper's own log lines show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(i64);

impl SessionId {
    /// Makes the session with this id.
    pub const fn new(id: i64) -> Self {
        Self(id)
    }

    /// Returns the id as it is on the wire.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The fencing token of a leadership: the `czxid` of the leader's candidate znode.
///
/// Every later leader of the same election has a greater token, even after the election node was
/// deleted and created again; a sequence number does not survive that. A system that the leader writes
/// to can refuse a token that is lower than the greatest that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(i64);

impl Token {
    /// Makes the token with this `czxid`.
    pub const fn new(czxid: i64) -> Self {
        Self(czxid)
    }

    /// Returns the `czxid`.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::LowerHex for Token {
    /// Writes the token as ZooKeeper shows a `czxid`: `{token:#x}` writes `0x100000002`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::UpperHex for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a text that is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a token: expected a number below 2^63, decimal or hexadecimal with 0x before it")]
pub struct ParseTokenError;

impl FromStr for Token {
    type Err = ParseTokenError;

    /// Reads a decimal number, as tokens are displayed, or a hexadecimal one after `0x`, as ZooKeeper's
    /// tools show a `czxid`. Refuses anything else, also a sign or a space.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None => (text, 10),
        };
        if digits.starts_with(['+', '-']) {
            return Err(ParseTokenError);
        }
        i64::from_str_radix(digits, radix).map(Self).map_err(|_| ParseTokenError)
    }
}

/// The data version of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(i32);

impl Version {
    /// Makes the version with this number.
    pub const fn new(version: i32) -> Self {
        Self(version)
    }

    /// Returns the number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

/// The id of a nomination, which distinguishes its znodes from those of every other nomination.
///
/// The sixteen bytes come from the caller, since this crate has no source of randomness. The first
/// twelve must be unique: two nominations under one id delete each other's candidates as ghosts. The
/// last four tell the candidates of one nomination apart. Random bytes, drawn anew for each
/// nomination, are right; a fixed id from a configuration file is not.
///
/// Displayed, and parsed from, a uuid of 36 characters: `6ba7b810-9dad-11d1-80b4-00c04fd430c8`.
/// The bytes are taken as they are: no version or variant bits are set or checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NomineeId([u8; 16]);

impl NomineeId {
    /// Makes the id of these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Makes an id of random bytes for a nomination that looks when the data of its predecessor are
    /// written: a new leader may wake it so ([`WhenPromoted`](crate::election::WhenPromoted)).
    ///
    /// It sets the version of the uuid to 8 and its variant to that of RFC 9562. The ids of other libraries'
    /// participants are of version 4, and Curator's would never be promoted after such a write.
    pub const fn wakeable(random: [u8; 16]) -> Self {
        let mut bytes = random;
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = 0x80 | *version & 0x0f;
        *variant = 0x80 | *variant & 0x3f;
        Self(bytes)
    }

    /// Returns whether the id was made by [`NomineeId::wakeable`], or looks so.
    pub const fn is_wakeable(self) -> bool {
        let [_, _, _, _, _, _, version, _, variant, ..] = self.0;
        version >> 4 == 0x8 && variant >> 6 == 0b10
    }

    /// Returns the bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

/// The number of bytes that are the same in the ids of all candidates of a nominee.
pub(crate) const FIXED_BYTES: usize = 12;

impl NomineeId {
    /// Reads 32 hexadecimal digits without dashes.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        fill_from_hex(bytes.iter_mut(), text)?;
        (text.len() == 32).then_some(Self(bytes))
    }

    /// Returns the id in the name of the znode that create number `attempt` makes.
    pub(crate) const fn plus(self, attempt: u32) -> Self {
        let [.., a, b, c, d] = self.0;
        let [a, b, c, d] = u32::from_be_bytes([a, b, c, d]).wrapping_add(attempt).to_be_bytes();
        let mut bytes = self.0;
        let [.., last_a, last_b, last_c, last_d] = &mut bytes;
        (*last_a, *last_b, *last_c, *last_d) = (a, b, c, d);
        Self(bytes)
    }

    /// Returns whether both are ids of creates of one nominee.
    pub(crate) fn is_of_one_nominee_with(self, other: Self) -> bool {
        self.0.iter().zip(other.0).take(FIXED_BYTES).all(|(a, b)| *a == b)
    }
}

/// The number of bytes in each dash-separated group of a uuid.
const GROUPS: [usize; 5] = [4, 2, 2, 2, 6];

/// The number of characters of a displayed id.
pub(crate) const UUID_LEN: usize = 36;

/// The position of each byte's digits in a displayed id; dashes are between the groups.
const DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const DASHES: [usize; 4] = [8, 13, 18, 23];

impl NomineeId {
    /// Returns the id as it is displayed.
    pub(crate) fn in_lower_case(self) -> [u8; UUID_LEN] {
        let mut text = [b'-'; UUID_LEN];
        for (byte, at) in self.0.into_iter().zip(DIGITS) {
            if let Some([high, low, ..]) = text.get_mut(at..) {
                (*high, *low) = (lower_case_digit(byte >> 4), lower_case_digit(byte & 0xf));
            }
        }
        text
    }

    /// Reads an id as it is displayed. Refuses every other form.
    pub(crate) fn from_lower_case(text: &str) -> Option<Self> {
        let text: &[u8; UUID_LEN] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 16];
        for (slot, at) in bytes.iter_mut().zip(DIGITS) {
            let [high, low, ..] = text.get(at..)? else { return None };
            if high.is_ascii_uppercase() || low.is_ascii_uppercase() {
                return None;
            }
            *slot = hex_digit(*high)? << 4 | hex_digit(*low)?;
        }
        DASHES.iter().all(|at| text.get(*at) == Some(&b'-')).then_some(Self(bytes))
    }
}

/// Returns the digit of a number below 16.
const fn lower_case_digit(number: u8) -> u8 {
    if number < 10 { b'0' + number } else { b'a' + (number - 10) }
}

impl fmt::Display for NomineeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text consists of ASCII characters.
        f.write_str(core::str::from_utf8(&self.in_lower_case()).unwrap_or_default())
    }
}

impl fmt::Debug for NomineeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NomineeId({self})")
    }
}

/// The error for a text that is not a nominee id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a nominee id: expected 36 characters, such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8")]
pub struct ParseNomineeIdError;

impl FromStr for NomineeId {
    type Err = ParseNomineeIdError;

    /// Reads the dashed form, in lower or upper case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 16];
        let mut slots = bytes.iter_mut();
        let mut groups = text.split('-');
        for length in GROUPS {
            let group = groups.next().ok_or(ParseNomineeIdError)?;
            if group.len() != 2 * length {
                return Err(ParseNomineeIdError);
            }
            fill_from_hex(slots.by_ref().take(length), group).ok_or(ParseNomineeIdError)?;
        }
        match groups.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(ParseNomineeIdError),
        }
    }
}

/// Reads two digits for each byte.
fn fill_from_hex<'a>(slots: impl Iterator<Item = &'a mut u8>, text: &str) -> Option<()> {
    let mut digits = text.bytes().map(hex_digit);
    for slot in slots {
        *slot = digits.next()?? << 4 | digits.next()??;
    }
    Some(())
}

const fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::string::ToString;

    use super::*;

    const UUID: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";

    #[test]
    fn an_id_is_displayed_as_the_uuid_that_it_was_parsed_from() {
        let id: NomineeId = UUID.parse().unwrap();
        assert_eq!(id.to_string(), UUID);
        assert_eq!(id.to_bytes()[..4], [0x6b, 0xa7, 0xb8, 0x10]);
        assert_eq!(UUID.to_uppercase().parse(), Ok(id));
        assert_eq!(NomineeId::from_bytes(id.to_bytes()), id);
    }

    #[test]
    fn a_text_that_is_no_uuid_is_refused() {
        const CASES: [&str; 8] = [
            "",
            "6ba7b8109dad11d180b400c04fd430c8",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c88",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8-",
            "6ba7b81-09dad-11d1-80b4-00c04fd430c8",
            "6ba7b810-9dad-11d1-80b4-00c04fd430cg",
            "6ba7b810-9dad-11d1-80b4-00c04fd43é",
        ];
        for case in CASES {
            assert_eq!(case.parse::<NomineeId>(), Err(ParseNomineeIdError), "{case}");
        }
    }

    #[test]
    fn a_session_is_displayed_in_hexadecimal_and_a_token_in_decimal() {
        assert_eq!(SessionId::new(0x0100_0027_f3f8_0001).to_string(), "0x1000027f3f80001");
        assert_eq!(SessionId::new(-1).to_string(), "0xffffffffffffffff");
        assert_eq!(Token::new(4_294_967_298).to_string(), "4294967298");
        assert!(Token::new(2) > Token::new(1));
    }

    #[test]
    fn a_token_is_shown_and_read_in_decimal_and_in_hexadecimal() {
        let token = Token::new(0x1_0000_00af);
        assert_eq!(
            alloc::format!("{token:x} {token:#x} {token:#X}"),
            "1000000af 0x1000000af 0x1000000AF"
        );
        for text in
            ["4294967471", "0x1000000af", "0X1000000AF", "0x00000001000000af", "0004294967471"]
        {
            assert_eq!(text.parse(), Ok(token), "{text}");
        }
        assert_eq!(i64::MAX.to_string().parse(), Ok(Token::new(i64::MAX)));
        let cases = [
            "",
            "0x",
            "x1",
            "+1",
            "-1",
            "0x-1",
            "0x+1",
            " 1",
            "1 ",
            "1000000af",
            "9223372036854775808",
            "0x8000000000000000",
            "0x1_0",
        ];
        for case in cases {
            assert_eq!(case.parse::<Token>(), Err(ParseTokenError), "{case}");
        }
    }
}
