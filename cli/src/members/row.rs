//! A member, for output.

use election_tokio::Token;
use election_tokio::group::{GroupMember, MemberData};
use serde::Serialize;

use crate::cells::cut;
use crate::data::Data;

/// A member, for JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    name: String,
    /// A znode that is not ephemeral has no session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<i64>,
    #[serde(flatten)]
    data: Option<Data>,
    /// Why the data is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_data: Option<&'static str>,
}

impl Row {
    pub(super) fn new(name: &str, member: &GroupMember) -> Self {
        let (data, no_data) = match &member.data {
            MemberData::Is(bytes) => (Some(Data::from(&bytes[..])), None),
            MemberData::Unreadable => (None, Some("unreadable")),
            MemberData::Changing => (None, Some("changing")),
        };
        Self {
            name: name.to_owned(),
            session: member.session().map(|session| session.to_string()),
            token: member.token().map(Token::get),
            data,
            no_data,
        }
    }

    /// Makes a row for a member that has left.
    pub(super) fn gone(name: &str) -> Self {
        Self { name: name.to_owned(), session: None, token: None, data: None, no_data: None }
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let none = || "-".to_owned();
        let token = self.token.map_or_else(none, |token| token.to_string());
        vec![cut(&self.name), self.session.clone().unwrap_or_else(none), token, self.data()]
    }

    /// Returns the name and the data.
    pub(super) fn text(&self) -> String {
        format!("{} {}", cut(&self.name), self.data())
    }

    fn data(&self) -> String {
        match (&self.data, self.no_data) {
            (Some(Data::Text(text)), _) => cut(text),
            (Some(Data::Hex(hex)), _) => cut(&format!("hex:{hex}")),
            (None, Some(reason)) => format!("({reason})"),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_why_data_is_missing_and_nothing_of_one_that_left() {
        let row = Row { token: Some(7), no_data: Some("changing"), ..Row::gone("a") };
        let json = serde_json::to_string(&row).expect("it is JSON");
        assert_eq!(json, r#"{"name":"a","token":7,"no_data":"changing"}"#);
        assert_eq!(row.cells(), ["a", "-", "7", "(changing)"]);
        let row = Row { data: Some(Data::from(&b"\x1b"[..])), ..Row::gone("b") };
        let json = serde_json::to_string(&row).expect("it is JSON");
        assert_eq!(json, r#"{"name":"b","data_hex":"1b"}"#);
        assert_eq!(row.text(), "b hex:1b");
    }
}
