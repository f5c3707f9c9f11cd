//! Events of a nomination.

use core::time::Duration;

use serde::Serialize;

use crate::event::Event;

/// A change to the nomination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum ElectionEvent {
    Following {
        candidate: String,
        predecessor: String,
    },
    /// A znode keeps the nominee from leading, such as a participant of another format.
    Blocked {
        candidate: String,
        #[serde(rename = "by")]
        blocker: String,
    },
    /// First in the queue, and not elected: its lease is not in force.
    AwaitingLease {
        candidate: String,
        reason: String,
    },
    /// First in the queue, and waits because the previous leader did not confirm that it has ended.
    AwaitingLockDelay {
        candidate: String,
        remaining_ms: u64,
    },
    Elected {
        #[serde(flatten)]
        by: By,
        valid_for_ms: u64,
    },
    Suspended {
        #[serde(flatten)]
        by: By,
        valid_for_ms: u64,
    },
    Resumed {
        #[serde(flatten)]
        by: By,
        valid_for_ms: u64,
    },
    Lost {
        #[serde(flatten)]
        by: By,
        reason: String,
    },
    /// COMMAND says that it has taken over, and others can see it.
    Acknowledged {
        #[serde(flatten)]
        by: By,
        line: String,
    },
    /// A client asks the leader to step down; zkelect signals COMMAND to stop.
    StepDownRequested {
        #[serde(flatten)]
        by: By,
        #[serde(rename = "by")]
        asker: String,
        reason: String,
    },
    /// A better candidate has stood for the time, and is the next; zkelect signals COMMAND to stop.
    BetterCandidate {
        #[serde(flatten)]
        by: By,
        better: String,
        preference: i32,
    },
    /// The nominee gave up the leadership on request, and stands again; COMMAND has ended.
    SteppedDown {
        #[serde(flatten)]
        by: By,
    },
    /// The nominee's checks say that it is not well. It stops COMMAND if it leads, and withdraws.
    Unwell {
        reason: String,
    },
    /// Its checks say that it is well: it stands.
    Well {},
    /// The nominee resigned; COMMAND has ended.
    Resigned {
        #[serde(flatten)]
        by: By,
    },
    /// The nomination is over. The last event, exactly once.
    Ended {
        reason: String,
    },
}

/// The znode and the token of a leadership.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct By {
    pub(super) candidate: String,
    /// For fencing.
    pub(super) token: i64,
}

impl Event for ElectionEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Following { .. } => "following",
            Self::Blocked { .. } => "blocked",
            Self::AwaitingLease { .. } => "awaiting_lease",
            Self::AwaitingLockDelay { .. } => "awaiting_lock_delay",
            Self::Elected { .. } => "elected",
            Self::Suspended { .. } => "suspended",
            Self::Resumed { .. } => "resumed",
            Self::Lost { .. } => "lost",
            Self::Acknowledged { .. } => "acknowledged",
            Self::StepDownRequested { .. } => "step_down_requested",
            Self::BetterCandidate { .. } => "better_candidate",
            Self::SteppedDown { .. } => "stepped_down",
            Self::Unwell { .. } => "unwell",
            Self::Well {} => "well",
            Self::Resigned { .. } => "resigned",
            Self::Ended { .. } => "ended",
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Following { candidate, predecessor } => {
                format!("{candidate} follows {predecessor}")
            }
            Self::Blocked { candidate, blocker } => format!("{candidate} is blocked by {blocker}"),
            Self::AwaitingLease { candidate, reason } => {
                format!("{candidate} is the first, and waits to be elected: {reason}")
            }
            Self::AwaitingLockDelay { candidate, remaining_ms } => format!(
                "{candidate} is the first, and waits {} more: the leader before did not say that it has ended",
                humantime::format_duration(Duration::from_millis(*remaining_ms))
            ),
            Self::Elected { by: By { candidate, token }, .. } => {
                format!("{candidate} is elected, with token {token}")
            }
            Self::Suspended { valid_for_ms: 0, .. } => {
                "leadership is in doubt: no answer has renewed the lease".to_owned()
            }
            Self::Suspended { valid_for_ms, .. } => format!(
                "connection lost: leadership is in doubt, and over in {}",
                humantime::format_duration(Duration::from_millis(*valid_for_ms))
            ),
            Self::Resumed { by, .. } => {
                format!("connected again: leadership goes on, with token {}", by.token)
            }
            Self::Lost { reason, .. } => format!("leadership lost: {reason}"),
            Self::Acknowledged { line, .. } if line.is_empty() => {
                "COMMAND has taken over".to_owned()
            }
            Self::Acknowledged { line, .. } => format!("COMMAND has taken over: {line}"),
            Self::StepDownRequested { asker, reason, .. } if reason.is_empty() => {
                format!("{asker} asks this leader to step down")
            }
            Self::StepDownRequested { asker, reason, .. } => {
                format!("{asker} asks this leader to step down: {reason}")
            }
            Self::BetterCandidate { better, preference, .. } => {
                format!("hands over to {better}, which is better: its preference is {preference}")
            }
            Self::SteppedDown { by } => {
                format!("steps down from the lead with token {}, and stands again", by.token)
            }
            Self::Unwell { reason } => format!("is not well, and does not stand: {reason}"),
            Self::Well {} => "is well, and stands".to_owned(),
            Self::Resigned { by } => format!("resigns from the lead with token {}", by.token),
            Self::Ended { reason } => format!("the nomination is over: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Subject, json_of};

    #[test]
    fn a_reason_that_is_not_given_is_not_shown() {
        let request = |reason: &str| ElectionEvent::StepDownRequested {
            by: By { candidate: "c-1".to_owned(), token: 7 },
            asker: "ops".to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(request("").describe(), "ops asks this leader to step down");
        assert_eq!(request("disks").describe(), "ops asks this leader to step down: disks");
    }

    #[test]
    fn each_event_has_the_fields_that_apply() {
        let candidate = || "c-1".to_owned();
        let by = || By { candidate: candidate(), token: 7 };
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
                ElectionEvent::AwaitingLockDelay { candidate: candidate(), remaining_ms: 5 },
                r#""event":"awaiting_lock_delay","election":"/e","id":"a \"b\"","candidate":"c-1","remaining_ms":5"#,
            ),
            (
                ElectionEvent::Elected { by: by(), valid_for_ms: 9 },
                r#""event":"elected","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":9"#,
            ),
            (
                ElectionEvent::Suspended { by: by(), valid_for_ms: 0 },
                r#""event":"suspended","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":0"#,
            ),
            (
                ElectionEvent::Resumed { by: by(), valid_for_ms: 3 },
                r#""event":"resumed","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":3"#,
            ),
            (
                ElectionEvent::Lost { by: by(), reason: "r".into() },
                r#""event":"lost","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"reason":"r""#,
            ),
            (
                ElectionEvent::Acknowledged { by: by(), line: "l".into() },
                r#""event":"acknowledged","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"line":"l""#,
            ),
            (
                ElectionEvent::StepDownRequested {
                    by: by(),
                    asker: "ops".into(),
                    reason: "r".into(),
                },
                r#""event":"step_down_requested","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"by":"ops","reason":"r""#,
            ),
            (
                ElectionEvent::SteppedDown { by: by() },
                r#""event":"stepped_down","election":"/e","id":"a \"b\"","candidate":"c-1","token":7"#,
            ),
            (
                ElectionEvent::Resigned { by: by() },
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

    #[test]
    fn events_of_checks_and_preferences_have_the_fields_that_apply() {
        let by = || By { candidate: "c-1".to_owned(), token: 7 };
        let cases = [
            (
                ElectionEvent::Unwell { reason: "r".into() },
                r#""event":"unwell","election":"/e","id":"a \"b\"","reason":"r""#,
            ),
            (ElectionEvent::Well {}, r#""event":"well","election":"/e","id":"a \"b\"""#),
            (
                ElectionEvent::BetterCandidate { by: by(), better: "c-2".into(), preference: 5 },
                r#""event":"better_candidate","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"better":"c-2","preference":5"#,
            ),
        ];
        for (event, fields) in cases {
            let expected = format!("{{\"at\":\"1970-01-01T00:00:00.000Z\",{fields}}}\n");
            assert_eq!(json_of(&Subject::Election("/e".into()), &event), expected);
        }
    }

    #[test]
    fn a_blocked_nominee_names_what_blocks_it() {
        let event = ElectionEvent::Blocked { candidate: "c-1".into(), blocker: "b".into() };
        let expected = r#"{"at":"1970-01-01T00:00:00.000Z","event":"blocked","election":"/e","id":"a \"b\"","candidate":"c-1","by":"b"}"#;
        assert_eq!(json_of(&Subject::Election("/e".into()), &event).trim_end(), expected);
    }
}
