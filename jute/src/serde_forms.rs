//! Writes numbers into configuration and events in the form of ZooKeeper's tools.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ErrorCode, SessionId, Zxid};

/// Implements `Serialize` by `Display`, and `Deserialize` by a function that reads a text. For the crates
/// of this repository: no part of the API.
#[doc(hidden)]
#[macro_export]
macro_rules! as_text {
    ($($name:ty, $expected:literal, $read:expr;)*) => {$(
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                struct Text;

                impl ::serde::de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        let read = $read;
                        let unexpected = ::serde::de::Unexpected::Str(text);
                        read(text).ok_or_else(|| E::invalid_value(unexpected, &self))
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

/// Reads all 64 bits: session ids may be negative.
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
