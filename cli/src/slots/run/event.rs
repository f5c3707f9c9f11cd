//! Events of a member's slots.

use core::time::Duration;

use election_tokio::slots::SlotGuard;
use serde::Serialize;

use crate::event::Event;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum SlotRunEvent {
    Acquired {
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
    /// The slot is another member's, or the member leaves; zkelect signals COMMAND to stop.
    GiveUpRequested {
        #[serde(flatten)]
        by: By,
        /// The time until the slot is released even if COMMAND has not ended; none if zkelect has failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        remaining_ms: Option<u64>,
    },
    Lost {
        #[serde(flatten)]
        by: By,
        reason: String,
    },
    /// COMMAND has ended.
    Released {
        #[serde(flatten)]
        by: By,
        reason: &'static str,
    },
    /// The last event, exactly once.
    Ended { reason: String },
}

/// The slot, and the znode and the token of its holding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct By {
    pub(super) slot: String,
    pub(super) znode: String,
    /// For fencing.
    pub(super) token: i64,
}

impl By {
    pub(super) fn of(guard: &SlotGuard) -> Self {
        let (slot, znode) = (guard.slot().to_string(), guard.znode().to_string());
        Self { slot, znode, token: guard.token().get() }
    }
}

impl Event for SlotRunEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Acquired { .. } => "acquired",
            Self::Suspended { .. } => "suspended",
            Self::Resumed { .. } => "resumed",
            Self::GiveUpRequested { .. } => "give_up_requested",
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::Ended { .. } => "ended",
        }
    }

    fn describe(&self) -> String {
        let time = |ms: u64| humantime::format_duration(Duration::from_millis(ms)).to_string();
        match self {
            Self::Acquired { by, .. } => format!("slot {}: held, token {}", by.slot, by.token),
            Self::Suspended { by, valid_for_ms: 0 } => {
                format!("slot {}: in doubt, since no answer has renewed the lease", by.slot)
            }
            Self::Suspended { by, valid_for_ms } => format!(
                "slot {}: connection lost, in doubt, and over in {}",
                by.slot,
                time(*valid_for_ms)
            ),
            Self::Resumed { by, .. } => format!("slot {}: connected again, still held", by.slot),
            Self::GiveUpRequested { by, remaining_ms: Some(ms) } => {
                format!("slot {}: to be given up within {}", by.slot, time(*ms))
            }
            Self::GiveUpRequested { by, remaining_ms: None } => {
                format!("slot {}: to be given up", by.slot)
            }
            Self::Lost { by, reason } => format!("slot {}: lost: {reason}", by.slot),
            Self::Released { by, reason } => format!("slot {}: released: {reason}", by.slot),
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
        let by = || By { slot: "3".to_owned(), znode: "c-1".to_owned(), token: 7 };
        let cases = [
            (
                SlotRunEvent::Acquired { by: by(), valid_for_ms: 9 },
                "acquired",
                r#","valid_for_ms":9"#,
            ),
            (
                SlotRunEvent::Suspended { by: by(), valid_for_ms: 0 },
                "suspended",
                r#","valid_for_ms":0"#,
            ),
            (
                SlotRunEvent::Resumed { by: by(), valid_for_ms: 3 },
                "resumed",
                r#","valid_for_ms":3"#,
            ),
            (
                SlotRunEvent::GiveUpRequested { by: by(), remaining_ms: Some(5) },
                "give_up_requested",
                r#","remaining_ms":5"#,
            ),
            (
                SlotRunEvent::GiveUpRequested { by: by(), remaining_ms: None },
                "give_up_requested",
                "",
            ),
            (SlotRunEvent::Lost { by: by(), reason: "r".into() }, "lost", r#","reason":"r""#),
            (SlotRunEvent::Released { by: by(), reason: "r" }, "released", r#","reason":"r""#),
        ];
        for (event, name, fields) in cases {
            let expected = format!(
                r#"{{"at":"1970-01-01T00:00:00.000Z","event":"{name}","slots":"/s","id":"a \"b\"","slot":"3","znode":"c-1","token":7{fields}}}"#
            );
            assert_eq!(json_of(&Subject::Slots("/s".into()), &event).trim_end(), expected);
        }
        let ended =
            json_of(&Subject::Slots("/s".into()), &SlotRunEvent::Ended { reason: "r".into() });
        let expected = r#"{"at":"1970-01-01T00:00:00.000Z","event":"ended","slots":"/s","id":"a \"b\"","reason":"r"}"#;
        assert_eq!(ended.trim_end(), expected);
    }
}
