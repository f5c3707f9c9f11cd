//! What happens to a nomination.

use core::time::Duration;

use serde::Serialize;

use crate::event::Event;

/// What happened to the nomination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum ElectionEvent {
    Following {
        candidate: String,
        predecessor: String,
    },
    /// First in the queue, and not elected: it has no lease that it could rely on.
    AwaitingLease {
        candidate: String,
        reason: String,
    },
    Elected {
        candidate: String,
        token: i64,
        valid_for_ms: u64,
    },
    Suspended {
        candidate: String,
        token: i64,
        valid_for_ms: u64,
    },
    Resumed {
        candidate: String,
        token: i64,
        valid_for_ms: u64,
    },
    Lost {
        candidate: String,
        token: i64,
        reason: String,
    },
    /// The lead is given up; COMMAND has ended.
    Resigned {
        candidate: String,
        token: i64,
    },
    /// The nomination is over. Always the last event, exactly once.
    Ended {
        reason: String,
    },
}

impl Event for ElectionEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Following { .. } => "following",
            Self::AwaitingLease { .. } => "awaiting_lease",
            Self::Elected { .. } => "elected",
            Self::Suspended { .. } => "suspended",
            Self::Resumed { .. } => "resumed",
            Self::Lost { .. } => "lost",
            Self::Resigned { .. } => "resigned",
            Self::Ended { .. } => "ended",
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Following { candidate, predecessor } => {
                format!("{candidate} follows {predecessor}")
            }
            Self::AwaitingLease { candidate, reason } => {
                format!("{candidate} is the first, and waits to be elected: {reason}")
            }
            Self::Elected { candidate, token, .. } => {
                format!("{candidate} is elected, with token {token}")
            }
            Self::Suspended { valid_for_ms, .. } => format!(
                "connection lost: leadership is in doubt, and over in {}",
                humantime::format_duration(Duration::from_millis(*valid_for_ms))
            ),
            Self::Resumed { token, .. } => {
                format!("connected again: leadership goes on, with token {token}")
            }
            Self::Lost { reason, .. } => format!("leadership lost: {reason}"),
            Self::Resigned { token, .. } => format!("resigns from the lead with token {token}"),
            Self::Ended { reason } => format!("the nomination is over: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Subject, json_of};

    #[test]
    fn each_event_has_the_fields_that_apply() {
        let candidate = || "c-1".to_owned();
        let cases = [
            (
                ElectionEvent::Following { candidate: candidate(), predecessor: "c-0".into() },
                r#""event":"following","election":"/e","id":"a \"b\"","candidate":"c-1","predecessor":"c-0""#,
            ),
            (
                ElectionEvent::AwaitingLease { candidate: candidate(), reason: "r".into() },
                r#""event":"awaiting_lease","election":"/e","id":"a \"b\"","candidate":"c-1","reason":"r""#,
            ),
            (
                ElectionEvent::Elected { candidate: candidate(), token: 7, valid_for_ms: 9 },
                r#""event":"elected","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":9"#,
            ),
            (
                ElectionEvent::Suspended { candidate: candidate(), token: 7, valid_for_ms: 0 },
                r#""event":"suspended","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":0"#,
            ),
            (
                ElectionEvent::Resumed { candidate: candidate(), token: 7, valid_for_ms: 3 },
                r#""event":"resumed","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":3"#,
            ),
            (
                ElectionEvent::Lost { candidate: candidate(), token: 7, reason: "r".into() },
                r#""event":"lost","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"reason":"r""#,
            ),
            (
                ElectionEvent::Resigned { candidate: candidate(), token: 7 },
                r#""event":"resigned","election":"/e","id":"a \"b\"","candidate":"c-1","token":7"#,
            ),
            (
                ElectionEvent::Ended { reason: "r".into() },
                r#""event":"ended","election":"/e","id":"a \"b\"","reason":"r""#,
            ),
        ];
        for (event, fields) in cases {
            let expected = format!("{{\"at\":\"1970-01-01T00:00:00.000Z\",{fields}}}\n");
            assert_eq!(json_of(&Subject::Election("/e".into()), &event), expected);
        }
    }
}
