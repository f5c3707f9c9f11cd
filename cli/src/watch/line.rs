//! Changes, as lines of JSON.

use std::time::SystemTime;

use election_tokio::election::{Acknowledgement, Observation, ObservedLeader};
use serde::Serialize;

use super::known::{Known, Since};
use crate::candidate::ShownCandidate;
use crate::console;
use crate::data::Data;

/// Prints each change once.
pub(super) struct Lines {
    election: String,
    seen: Observation,
    counted: Option<(usize, bool)>,
    link: ReportedLink,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportedLink {
    /// Not connected yet, and not reported.
    New,
    Up,
    Down,
}

#[derive(Serialize)]
struct Line<'a> {
    at: String,
    event: &'static str,
    election: &'a str,
    #[serde(flatten)]
    leader: Option<Leader>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Leader {
    #[serde(flatten)]
    shown: ShownCandidate,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// It led already at the first observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
    #[serde(flatten)]
    says: Option<Says>,
}

/// The fields of a leader beside its candidate.
#[derive(Serialize)]
enum Says {
    #[serde(rename = "says")]
    Text(String),
    #[serde(rename = "says_hex")]
    Hex(String),
}

impl Leader {
    fn new(leader: &ObservedLeader, since: Since) -> Self {
        let (at, before) = match since {
            Since::At(at) => (Some(time(at)), None),
            Since::Before(before) => (None, Some(time(before))),
        };
        let (ready, says) = match &leader.acknowledgement {
            Acknowledgement::Given(data) => (Some(true), Some(&data[..])),
            Acknowledgement::Awaited => (Some(false), None),
            _ => (None, None),
        };
        let says = says.filter(|says| !says.is_empty()).map(|says| match Data::from(says) {
            Data::Text(text) => Says::Text(text),
            Data::Hex(hex) => Says::Hex(hex),
        });
        Self { shown: leader.into(), since: at, since_before: before, ready, says }
    }
}

fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

impl Lines {
    pub(super) fn new(election: &str) -> Self {
        let (seen, link) = (Observation::Unknown, ReportedLink::New);
        Self { election: election.to_owned(), seen, counted: None, link }
    }

    /// Returns lines for the changes that were not printed yet.
    pub(super) fn text(&mut self, known: &Known) -> String {
        let mut text = String::new();
        self.tell_of_link(known, &mut text);
        let counted = known.counted.as_ref().map(|counted| (counted.number, counted.is_ended));
        if known.seen != self.seen {
            self.seen = known.seen.clone();
            let (event, leader) = match &known.seen {
                Observation::Unknown | Observation::Failed(_) => return text,
                Observation::Led(leader) => ("leader", Some(Leader::new(leader, known.since))),
                Observation::Blocked { first, .. } => {
                    ("blocked", Some(Leader::new(first, known.since)))
                }
                Observation::Hidden => ("hidden", None),
                _ => ("vacant", None),
            };
            text += &self.line(event, leader, None, None);
        }
        if counted.is_some() && counted != self.counted {
            self.counted = counted;
            text += &self.line("candidates", None, counted, None);
        }
        text
    }

    fn tell_of_link(&mut self, known: &Known, text: &mut String) {
        match (self.link, known.is_connected()) {
            (ReportedLink::New, true) => self.link = ReportedLink::Up,
            (ReportedLink::Down, true) => {
                self.link = ReportedLink::Up;
                *text += &self.line("connected", None, None, None);
            }
            (ReportedLink::New, false) if known.trouble().is_none() => {}
            (ReportedLink::New | ReportedLink::Up, false) => {
                self.link = ReportedLink::Down;
                *text += &self.line("disconnected", None, None, known.trouble());
            }
            (ReportedLink::Up, true) | (ReportedLink::Down, false) => {}
        }
    }

    fn line(
        &self,
        event: &'static str,
        leader: Option<Leader>,
        counted: Option<(usize, bool)>,
        reason: Option<String>,
    ) -> String {
        let at = time(SystemTime::now());
        let election = &self.election;
        let (candidates, ended) = counted.unzip();
        let blocked_by = match (&self.seen, &leader) {
            (Observation::Blocked { by, .. }, Some(_)) => Some(by.to_string()),
            _ => None,
        };
        console::json_line(&Line {
            at,
            event,
            election,
            leader,
            blocked_by,
            candidates,
            ended,
            reason,
        })
    }
}
