//! The data of znodes, for output.

use core::fmt::Write as _;

use serde::Serialize;

/// A znode's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Data {
    #[serde(rename = "data")]
    Text(String),
    #[serde(rename = "data_hex")]
    Hex(String),
}

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(char::is_control) => Self::Text(text.to_owned()),
            _ => Self::Hex(bytes.iter().fold(String::new(), |mut hex, byte| {
                // Writing to a `String` cannot fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_text_where_it_can_be_shown_and_hexadecimal_otherwise() {
        assert_eq!(Data::from(&b"h\xc3\xb6st 1"[..]), Data::Text("höst 1".into()));
        assert_eq!(Data::from(&b""[..]), Data::Text(String::new()));
        assert_eq!(Data::from(&b"a\x1b[2J"[..]), Data::Hex("611b5b324a".into()));
        assert_eq!(Data::from(&b"\xff\x00"[..]), Data::Hex("ff00".into()));
    }
}
