//! A znode of a list.

use election_tokio::lock::Access;
use election_tokio::{SessionId, Stat};
use serde::Serialize;

use crate::data::Data;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    /// The contender's data if it can be shown: by convention its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) znode: String,
    pub(super) session: String,
    pub(super) token: i64,
    pub(super) role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) access: Option<AccessName>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "znode_of")]
    pub(super) behind: Option<Behind>,
    /// The format of a contender; unknown for other znodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<String>,
    /// Why no contender behind it gets its turn before it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<&'static str>,
    /// The znode of another format that keeps the first candidate from leading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocked_by: Option<String>,
    #[serde(flatten)]
    pub(super) data: Data,
}

/// The role of a znode in the contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Leader,
    /// It is the first, and does not lead: a znode of another format is in the way.
    Blocked,
    Follower,
    Holder,
    Waits,
    /// It has its turn, and waits for a permit.
    Next,
    /// It is an item of a queue.
    Item,
    /// It is an item that a taker claims.
    Claimed,
    /// It is a participant of a double barrier in a round.
    Inside,
    /// It is a contender that no client of this library makes, and that others wait for.
    Blocks,
    /// It is a sequential znode of another format.
    Foreign,
    /// It is a contender with a number that the server gives more than once.
    Exhausted,
    /// It is the sign that there is nothing to contend for any more.
    Tombstone,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Blocked => "blocked",
            Self::Follower => "follower",
            Self::Holder => "holder",
            Self::Waits => "waits",
            Self::Next => "next",
            Self::Item => "item",
            Self::Claimed => "claimed",
            Self::Inside => "inside",
            Self::Blocks => "blocks",
            Self::Foreign => "foreign",
            Self::Exhausted => "exhausted",
            Self::Tombstone => "tombstone",
        }
    }
}

/// The thing that a contender asks for, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AccessName {
    Exclusive,
    Shared,
}

impl AccessName {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }
}

impl From<Access> for AccessName {
    fn from(access: Access) -> Self {
        match access {
            Access::Exclusive => Self::Exclusive,
            Access::Shared => Self::Shared,
        }
    }
}

/// The nearest earlier contender that has to go first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    /// Its place in the list, counted from 1.
    pub(super) place: usize,
    pub(super) znode: String,
}

/// Writes nothing for `None`.
#[expect(clippy::ref_option, reason = "serde calls it so")]
fn znode_of<S: serde::Serializer>(behind: &Option<Behind>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(behind.as_ref().map_or("", |behind| &behind.znode))
}

impl Row {
    /// Makes a row for a znode with this role that is in no order.
    pub(super) fn new(znode: String, stat: &Stat, data: &[u8], role: Role) -> Self {
        let data = Data::from(data);
        Self {
            id: match &data {
                Data::Text(text) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
            znode,
            session: stat.ephemeral_owner.to_string(),
            token: stat.czxid.get(),
            role,
            access: None,
            behind: None,
            format: None,
            blocks: None,
            blocked_by: None,
            data,
        }
    }

    /// Sets the role of a contender, unless it keeps others waiting.
    pub(super) fn with_role(self, role: Role) -> Self {
        Self { role: if self.blocks.is_some() { Role::Blocks } else { role }, ..self }
    }
}

/// Returns why a znode keeps others waiting for ever, or as long as its session lives. No client of
/// this library makes such a znode.
pub(super) fn blocks(stat: &Stat, is_kept: bool) -> Option<&'static str> {
    if stat.ephemeral_owner == SessionId::NONE {
        Some("not ephemeral")
    } else if is_kept {
        None
    } else {
        Some("name above 64 bytes")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::list) fn row(data: &[u8]) -> Row {
        Row {
            id: None,
            znode: "latch-0000000001".into(),
            session: "0x1".into(),
            token: 7,
            role: Role::Follower,
            access: None,
            behind: None,
            format: None,
            blocks: None,
            blocked_by: None,
            data: data.into(),
        }
    }

    #[test]
    fn json_says_which_form_the_data_has_and_what_a_contender_waits_for() {
        let behind = Some(Behind { place: 1, znode: "a".into() });
        let access = Some(AccessName::Shared);
        let rows = [Row { access, behind, ..row(b"a") }, row(b"\xff")];
        assert_eq!(
            serde_json::to_string(&rows).expect("it is JSON"),
            r#"[{"znode":"latch-0000000001","session":"0x1","token":7,"role":"follower","access":"shared","behind":"a","data":"a"},{"znode":"latch-0000000001","session":"0x1","token":7,"role":"follower","data_hex":"ff"}]"#
        );
    }
}
