//! How numbers are written into configuration and events: as the tools of ZooKeeper show them.

use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ErrorCode, SessionId, Zxid};

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
    SessionId, "a session id in hexadecimal, such as 0x0100002a5b7c0001", |text| {
        hexadecimal(text).map(SessionId::new)
    };
    Zxid, "a zxid in hexadecimal, such as 0x100000002", |text| hexadecimal(text).map(Zxid::new);
}

/// All 64 bits: ids of sessions may be negative.
fn hexadecimal(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}

/// As the number.
impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.get())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i32::deserialize(deserializer).map(Self::new)
    }
}
