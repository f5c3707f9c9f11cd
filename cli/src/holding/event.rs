//! Events of a contender for a lock.

use core::fmt;
use core::time::Duration;
use std::time::SystemTime;

use election_tokio::once::NotDue;
use serde::Serialize;

use crate::event::Event;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum HoldingEvent {
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
    /// Another client asks the holder to release the lock; zkelect signals COMMAND to stop.
    RevokeRequested {
        #[serde(flatten)]
        by: By,
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
    },
    /// With `--once-per`: COMMAND has run already, and is not run.
    NotDue {
        /// How far the last run has come.
        run: String,
        began: String,
        by: String,
        due: String,
    },
    /// The last event, exactly once.
    Ended { reason: String },
}

/// The znode and the token of what is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct By {
    pub(super) znode: String,
    /// For fencing, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<i64>,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.znode)?;
        self.token.map_or(Ok(()), |token| write!(f, ", with token {token}"))
    }
}

impl HoldingEvent {
    pub(super) fn of_not_due(not_due: &NotDue) -> Self {
        let NotDue { last, until, .. } = not_due;
        Self::NotDue {
            run: last.state.to_string(),
            began: text_of(last.began),
            by: last.by.clone(),
            due: text_of(*until),
        }
    }
}

/// Returns the time in the form of RFC 3339, which has none before 1970 or after 9999.
fn text_of(time: SystemTime) -> String {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) if since < YEAR_10000 => humantime::format_rfc3339_millis(time).to_string(),
        Ok(_) => "9999-12-31T23:59:59.999Z".to_owned(),
        Err(_) => "1970-01-01T00:00:00.000Z".to_owned(),
    }
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
            Self::NotDue { .. } => "not_due",
            Self::Ended { .. } => "ended",
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Acquired { by, .. } => format!("holds by {by}"),
            Self::Suspended { valid_for_ms: 0, .. } => {
                "what is held is in doubt: no answer has renewed the lease".to_owned()
            }
            Self::Suspended { valid_for_ms, .. } => format!(
                "connection lost: what is held is in doubt, and over in {}",
                humantime::format_duration(Duration::from_millis(*valid_for_ms))
            ),
            Self::Resumed { by, .. } => format!("connected again: still holds by {by}"),
            Self::RevokeRequested { .. } => "another client asks for what is held".to_owned(),
            Self::Lost { reason, .. } => format!("holds no more: {reason}"),
            Self::Released { by } => format!("released what it held by {by}"),
            Self::NotDue { run, began, by, due } => format!(
                "not due before {due}: {by} has run it at {began} ({run}), by the servers' clock"
            ),
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
        let by = || By { znode: "c-1".to_owned(), token: Some(7) };
        let cases = [
            (
                HoldingEvent::Acquired { by: by(), valid_for_ms: 9 },
                r#""event":"acquired","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"valid_for_ms":9"#,
            ),
            (
                HoldingEvent::Suspended { by: by(), valid_for_ms: 0 },
                r#""event":"suspended","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"valid_for_ms":0"#,
            ),
            (
                HoldingEvent::Resumed { by: by(), valid_for_ms: 3 },
                r#""event":"resumed","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"valid_for_ms":3"#,
            ),
            (
                HoldingEvent::RevokeRequested { by: by() },
                r#""event":"revoke_requested","lock":"/l","id":"a \"b\"","znode":"c-1","token":7"#,
            ),
            (
                HoldingEvent::Lost { by: by(), reason: "r".into() },
                r#""event":"lost","lock":"/l","id":"a \"b\"","znode":"c-1","token":7,"reason":"r""#,
            ),
            (
                HoldingEvent::Released { by: by() },
                r#""event":"released","lock":"/l","id":"a \"b\"","znode":"c-1","token":7"#,
            ),
            (
                HoldingEvent::Released { by: By { token: None, ..by() } },
                r#""event":"released","lock":"/l","id":"a \"b\"","znode":"c-1""#,
            ),
            (
                HoldingEvent::NotDue {
                    run: "failed".into(),
                    began: text_of(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
                    by: "h".into(),
                    due: text_of(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40)),
                },
                r#""event":"not_due","lock":"/l","id":"a \"b\"","run":"failed","began":"1970-01-01T00:00:00.000Z","by":"h","due":"9999-12-31T23:59:59.999Z""#,
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
