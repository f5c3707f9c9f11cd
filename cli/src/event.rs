//! The events file: a JSON object for each line.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::time::SystemTime;

use serde::Serialize;
use tokio::time::Instant;

use crate::args::EventsTo;
use crate::console;
use crate::failure::Failure;
use crate::outlet::Outlet;

/// Something that happened to a contender.
pub(crate) trait Event: Serialize {
    /// Returns the event's name in the file.
    fn name(&self) -> &'static str;

    /// Describes the event in words.
    fn describe(&self) -> String;
}

/// The thing that a contender contends for, with its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    Election(String),
    Lock(String),
    /// All at once, in the order in which they are taken; one at least.
    Locks(Vec<String>),
    Semaphore(String),
    Barrier(String),
    Queue(String),
    Slots(String),
}

impl Subject {
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Election(path)
            | Self::Lock(path)
            | Self::Semaphore(path)
            | Self::Barrier(path)
            | Self::Queue(path)
            | Self::Slots(path) => path,
            Self::Locks(paths) => paths.first().map_or("", String::as_str),
        }
    }

    /// Returns the value of its variable in COMMAND's environment.
    pub(crate) fn value(&self) -> String {
        match self {
            Self::Locks(paths) => paths.join("\n"),
            _ => self.path().to_owned(),
        }
    }

    /// Describes a wait for it that was in vain.
    pub(crate) fn in_vain(&self) -> String {
        match self {
            Self::Election(path) | Self::Lock(path) | Self::Semaphore(path) => {
                format!("{path} is held by others (`zkelect list` shows them)")
            }
            Self::Locks(paths) => {
                format!("one of {} is held by others (`zkelect list` shows them)", paths.join(", "))
            }
            Self::Barrier(path) => {
                format!("too few have entered {path} (`zkelect list` shows them)")
            }
            Self::Queue(path) => format!("{path} has no item that is not claimed"),
            Self::Slots(path) => format!("no slot of {path} is this member's"),
        }
    }

    /// Returns its variable in COMMAND's environment.
    pub(crate) fn variable(&self) -> &'static str {
        match self {
            Self::Election(_) => "ZKELECT_ELECTION",
            Self::Lock(_) | Self::Locks(_) => "ZKELECT_LOCK",
            Self::Semaphore(_) => "ZKELECT_SEMAPHORE",
            Self::Barrier(_) => "ZKELECT_BARRIER",
            Self::Queue(_) => "ZKELECT_QUEUE",
            Self::Slots(_) => "ZKELECT_SLOTS",
        }
    }
}

/// Returns the time until a moment in milliseconds: 0 if it has passed.
pub(crate) fn ms_until(moment: Instant) -> u64 {
    let left = moment.saturating_duration_since(Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Serialize)]
struct Line<'a, E> {
    at: String,
    event: &'static str,
    #[serde(flatten)]
    subject: &'a Subject,
    id: &'a str,
    #[serde(flatten)]
    details: &'a E,
}

/// Hands events to a thread that writes them to the events file, and prints them in words on
/// standard error. It waits for neither: an order to stop COMMAND must not come late.
pub(crate) struct Recorder {
    file: Option<Outlet>,
    subject: Subject,
    id: String,
}

impl Recorder {
    pub(crate) fn open(to: Option<&EventsTo>, subject: Subject, id: &str) -> Result<Self, Failure> {
        let file: Option<Box<dyn Write + Send>> = match to {
            None => None,
            Some(EventsTo::StandardOutput) => Some(Box::new(io::stdout())),
            Some(EventsTo::File(path)) => {
                match OpenOptions::new().append(true).create(true).open(path) {
                    Ok(file) => Some(Box::new(file)),
                    Err(error) => return Err(Failure::EventsFile { path: path.clone(), error }),
                }
            }
        };
        let file = file
            .map(|file| Outlet::new(file, tell_of_missed))
            .transpose()
            .map_err(Failure::system("events cannot be written"))?;
        Ok(Self { file, subject, id: id.to_owned() })
    }

    /// Records an event. If it cannot be written the contender goes on: holding on matters more
    /// than the record.
    pub(crate) fn record(&self, event: &impl Event) {
        let line = Line {
            at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            event: event.name(),
            subject: &self.subject,
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

fn to_json(line: &Line<'_, impl Event>) -> serde_json::Result<Vec<u8>> {
    let mut text = console::for_terminal(&serde_json::to_string(line)?);
    text.push('\n');
    Ok(text.into_bytes())
}

#[cfg(test)]
pub(crate) fn json_of(subject: &Subject, event: &impl Event) -> String {
    let line = Line {
        at: humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH).to_string(),
        event: event.name(),
        subject,
        id: "a \"b\"",
        details: event,
    };
    String::from_utf8(to_json(&line).expect("it is JSON")).expect("JSON is UTF-8")
}
