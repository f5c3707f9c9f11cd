//! What happens to a contender for a lock.

use core::time::Duration;

use serde::Serialize;

use crate::event::Event;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum HoldingEvent {
    Acquired {
        znode: String,
        token: i64,
        valid_for_ms: u64,
    },
    Suspended {
        znode: String,
        token: i64,
        valid_for_ms: u64,
    },
    Resumed {
        znode: String,
        token: i64,
        valid_for_ms: u64,
    },
    /// Another client asks for what is held; COMMAND is told to end.
    RevokeRequested {
        znode: String,
        token: i64,
    },
    Lost {
        znode: String,
        token: i64,
        reason: String,
    },
    /// COMMAND has ended.
    Released {
        znode: String,
        token: i64,
    },
    /// Always the last event, exactly once.
    Ended {
        reason: String,
    },
}

impl Event for HoldingEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Acquired { .. } => "acquired",
            Self::Suspended { .. } => "suspended",
            Self::Resumed { .. } => "resumed",
            Self::RevokeRequested { .. } => "revoke_requested",
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::Ended { .. } => "ended",
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Acquired { znode, token, .. } => format!("holds by {znode}, with token {token}"),
            Self::Suspended { valid_for_ms, .. } => format!(
                "connection lost: what is held is in doubt, and over in {}",
                humantime::format_duration(Duration::from_millis(*valid_for_ms))
            ),
            Self::Resumed { token, .. } => {
                format!("connected again: still holds, with token {token}")
            }
            Self::RevokeRequested { .. } => "another client asks for what is held".to_owned(),
            Self::Lost { reason, .. } => format!("holds no more: {reason}"),
            Self::Released { token, .. } => format!("lets go of what it held with token {token}"),
            Self::Ended { reason } => format!("is over: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Subject, json_of};

    #[test]
    fn each_event_has_the_fields_that_apply() {
        let znode = || "c-1".to_owned();
        let cases = [
            (
                HoldingEvent::Acquired { znode: znode(), token: 7, valid_for_ms: 9 },
                r#""event":"acquired","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"valid_for_ms":9"#,
            ),
            (
                HoldingEvent::Suspended { znode: znode(), token: 7, valid_for_ms: 0 },
                r#""event":"suspended","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"valid_for_ms":0"#,
            ),
            (
                HoldingEvent::Resumed { znode: znode(), token: 7, valid_for_ms: 3 },
                r#""event":"resumed","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"valid_for_ms":3"#,
            ),
            (
                HoldingEvent::RevokeRequested { znode: znode(), token: 7 },
                r#""event":"revoke_requested","lock":"/l","id":"a \"b\"","znode":"c-1","token":7"#,
            ),
            (
                HoldingEvent::Lost { znode: znode(), token: 7, reason: "r".into() },
                r#""event":"lost","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"reason":"r""#,
            ),
            (
                HoldingEvent::Released { znode: znode(), token: 7 },
                r#""event":"released","lock":"/l","id":"a \"b\"","znode":"c-1","token":7"#,
            ),
            (
                HoldingEvent::Ended { reason: "r".into() },
                r#""event":"ended","lock":"/l","id":"a \"b\"","reason":"r""#,
            ),
        ];
        for (event, fields) in cases {
            let expected = format!("{{\"at\":\"1970-01-01T00:00:00.000Z\",{fields}}}\n");
            assert_eq!(json_of(&Subject::Lock("/l".into()), &event), expected);
        }
    }
}
