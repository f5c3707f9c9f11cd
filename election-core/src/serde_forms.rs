//! How ids, tokens, names and formats are written into configuration and events.

use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::format::Format;
use crate::id::{NomineeId, Token};
use crate::name::{CandidateName, ChildName, Sequence};

macro_rules! as_text {
    ($($name:ty, $expected:literal, $read:expr;)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        let read = $read;
                        read(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
                    }
                }

                deserializer.deserialize_str(Text)
            }
        }
    )*};
}

as_text! {
    NomineeId, "a uuid of 36 characters", |text: &str| text.parse::<NomineeId>().ok();
    CandidateName, "the name of a candidate, which ends in ten digits", candidate;
}

fn candidate(text: &str) -> Option<CandidateName> {
    ChildName::new(text)?;
    CandidateName::new(text).ok()
}

/// As the number.
impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.get())
    }
}

/// From the number. From a text, too, where the form tells what it has: decimal, or hexadecimal with `0x`.
impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(NumberOrText)
        } else {
            deserializer.deserialize_i64(NumberOrText)
        }
    }
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = Token;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token: a number, or a text of one, decimal or hexadecimal with 0x")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Token, E> {
        Ok(Token::new(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Token, E> {
        let token = i64::try_from(number).map(Token::new);
        token.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Token, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// As the number.
impl Serialize for Sequence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

impl<'de> Deserialize<'de> for Sequence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        let unexpected = Unexpected::Unsigned(number.into());
        Self::new(number).ok_or_else(|| D::Error::invalid_value(unexpected, &"at most 2147483646"))
    }
}

/// The formats of libraries, by the names of their functions.
const FORMATS: [(&str, Format); 10] = [
    ("curator_latch", Format::curator_latch()),
    ("curator_lock", Format::curator_lock()),
    ("curator_semaphore", Format::curator_semaphore()),
    ("curator_read_write", Format::curator_read_write()),
    ("kazoo", Format::kazoo()),
    ("go_zookeeper", Format::go_zookeeper()),
    ("leader_election_support", Format::leader_election_support()),
    ("go_leaderelection", Format::go_leaderelection()),
    ("zk_election", Format::zk_election()),
    ("zookeeper_write_lock", Format::zookeeper_write_lock()),
];

/// By its name. One of the user's own has none, and is an error.
impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = FORMATS.iter().find(|(_, format)| format == self);
        match known {
            Some((name, _)) => serializer.serialize_str(name),
            None => Err(serde::ser::Error::custom("a format of the user's own has no name")),
        }
    }
}

/// By its name, also with `-` for `_`.
impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FormatName)
    }
}

struct FormatName;

impl Visitor<'_> for FormatName {
    type Value = Format;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a format, such as curator_latch or kazoo")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Format, E> {
        let is_called = |name: &str| {
            let written = text.bytes().map(|byte| if byte == b'-' { b'_' } else { byte });
            written.eq(name.bytes())
        };
        let known = FORMATS.into_iter().find(|(name, _)| is_called(name));
        let found = known.map(|(_, format)| format);
        found.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
