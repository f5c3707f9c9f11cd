//! Writes connect strings, paths and margins into configuration and events.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lease::LeaseMargin;
use crate::{ConnectString, ZnodePath};

zk_jute::as_text! {
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
