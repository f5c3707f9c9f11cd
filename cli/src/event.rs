//! The events file: one JSON object a line.

use core::time::Duration;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::time::SystemTime;

use serde::Serialize;

use crate::args::EventsTo;
use crate::console;
use crate::failure::Failure;
use crate::outlet::Outlet;

/// What happened to the nomination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Event {
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

impl Event {
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

    /// The event in words.
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

#[derive(Serialize)]
struct Line<'a> {
    at: String,
    event: &'static str,
    election: &'a str,
    id: &'a str,
    #[serde(flatten)]
    details: &'a Event,
}

/// Hands events to a thread that writes them where they were asked for, and says them in words on
/// standard error. Waits for neither: an order to stop COMMAND must not come late.
pub(crate) struct Recorder {
    file: Option<Outlet>,
    election: String,
    id: String,
}

impl Recorder {
    pub(crate) fn open(to: Option<EventsTo>, election: &str, id: &str) -> Result<Self, Failure> {
        let file: Option<Box<dyn Write + Send>> = match to {
            None => None,
            Some(EventsTo::StandardOutput) => Some(Box::new(io::stdout())),
            Some(EventsTo::File(path)) => {
                match OpenOptions::new().append(true).create(true).open(&path) {
                    Ok(file) => Some(Box::new(file)),
                    Err(error) => return Err(Failure::EventsFile { path, error }),
                }
            }
        };
        let file = file
            .map(|file| Outlet::new(file, tell_of_missed))
            .transpose()
            .map_err(Failure::system("events cannot be written"))?;
        Ok(Self { file, election: election.to_owned(), id: id.to_owned() })
    }

    /// The election goes on when an event cannot be written: the lead matters more than its record.
    pub(crate) fn record(&mut self, event: &Event) {
        let line = Line {
            at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            event: event.name(),
            election: &self.election,
            id: &self.id,
            details: event,
        };
        if let Some(file) = &self.file {
            match to_json(&line) {
                Ok(text) => file.line(text),
                Err(error) => {
                    console::warn(format_args!("an event cannot be written: {error}"));
                }
            }
        }
        console::note(format_args!("{}: {}", self.id, event.describe()));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let unwritten = self.file.as_ref().map_or(0, Outlet::settle);
        if unwritten > 0 {
            tell_of_missed(unwritten, None);
        }
    }
}

fn tell_of_missed(count: u64, error: Option<&io::Error>) -> Option<Vec<u8>> {
    match error {
        Some(error) => console::warn(format_args!("{count} events were not written: {error}")),
        None => console::warn(format_args!(
            "{count} events were not written: what they go to took no more"
        )),
    }
    None
}

fn to_json(line: &Line<'_>) -> serde_json::Result<Vec<u8>> {
    let mut text = console::for_terminal(&serde_json::to_string(line)?);
    text.push('\n');
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(event: &Event) -> String {
        let line = Line {
            at: humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH).to_string(),
            event: event.name(),
            election: "/e",
            id: "a \"b\"",
            details: event,
        };
        String::from_utf8(to_json(&line).expect("it is JSON")).expect("JSON is UTF-8")
    }

    #[test]
    fn each_event_has_the_fields_that_apply() {
        let candidate = || "c-1".to_owned();
        let cases = [
            (
                Event::Following { candidate: candidate(), predecessor: "c-0".into() },
                r#""event":"following","election":"/e","id":"a \"b\"","candidate":"c-1","predecessor":"c-0""#,
            ),
            (
                Event::AwaitingLease { candidate: candidate(), reason: "r".into() },
                r#""event":"awaiting_lease","election":"/e","id":"a \"b\"","candidate":"c-1","reason":"r""#,
            ),
            (
                Event::Elected { candidate: candidate(), token: 7, valid_for_ms: 9 },
                r#""event":"elected","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":9"#,
            ),
            (
                Event::Suspended { candidate: candidate(), token: 7, valid_for_ms: 0 },
                r#""event":"suspended","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":0"#,
            ),
            (
                Event::Resumed { candidate: candidate(), token: 7, valid_for_ms: 3 },
                r#""event":"resumed","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"valid_for_ms":3"#,
            ),
            (
                Event::Lost { candidate: candidate(), token: 7, reason: "r".into() },
                r#""event":"lost","election":"/e","id":"a \"b\"","candidate":"c-1","token":7,"reason":"r""#,
            ),
            (
                Event::Resigned { candidate: candidate(), token: 7 },
                r#""event":"resigned","election":"/e","id":"a \"b\"","candidate":"c-1","token":7"#,
            ),
            (
                Event::Ended { reason: "r".into() },
                r#""event":"ended","election":"/e","id":"a \"b\"","reason":"r""#,
            ),
        ];
        for (event, fields) in cases {
            let expected = format!("{{\"at\":\"1970-01-01T00:00:00.000Z\",{fields}}}\n");
            assert_eq!(json(&event), expected);
        }
    }
}
