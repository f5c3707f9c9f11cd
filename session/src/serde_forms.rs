//! How connect strings, paths and margins are written into configuration and events.

use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ConnectString, LeaseMargin, ZnodePath};

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
    ConnectString, "a connect string, such as zk1:2181,zk2:2181/app", |text: &str| {
        text.parse::<ConnectString>().ok()
    };
    ZnodePath, "the path of a znode, such as /app/leader", |text: &str| {
        text.parse::<ZnodePath>().ok()
    };
}

/// In hundredths of the session timeout.
impl Serialize for LeaseMargin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.as_percent())
    }
}

impl<'de> Deserialize<'de> for LeaseMargin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = u8::deserialize(deserializer)?;
        let margin = Self::percent(percent);
        if margin.as_percent() != percent {
            let unexpected = Unexpected::Unsigned(percent.into());
            return Err(D::Error::invalid_value(unexpected, &"at most 90 hundredths"));
        }
        Ok(margin)
    }
}
