//! The findings, line by line or as JSON.

use core::fmt::Display;
use core::time::Duration;

use anstyle::{AnsiColor, Style};
use election_tokio::error::Escaped;
use serde::Serialize;

use crate::console;
use crate::failure::Failure;

/// The verdict of a step; the worst one comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    /// The step could not be done, or need not be.
    Skipped,
    Warning,
    Failed,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Ok => AnsiColor::Green.on_default(),
            Self::Skipped => Style::new().dimmed(),
            Self::Warning => AnsiColor::Yellow.on_default().bold(),
            Self::Failed => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// The finding of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) step: &'static str,
    /// Set if the step is done for each server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) says: String,
    /// Advice for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn new(step: &'static str, verdict: Verdict, says: impl Display) -> Self {
        Self { step, server: None, verdict, says: says.to_string(), advice: None }
    }

    pub(super) fn ok(step: &'static str, says: impl Display) -> Self {
        Self::new(step, Verdict::Ok, says)
    }

    pub(super) fn skipped(step: &'static str, says: impl Display) -> Self {
        Self::new(step, Verdict::Skipped, says)
    }

    pub(super) fn warning(step: &'static str, says: impl Display) -> Self {
        Self::new(step, Verdict::Warning, says)
    }

    pub(super) fn failed(step: &'static str, says: impl Display) -> Self {
        Self::new(step, Verdict::Failed, says)
    }

    pub(super) fn of(self, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..self }
    }

    pub(super) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Returns the text. It may contain what a server has sent.
    fn text(&self) -> String {
        let Self { step, server, verdict, says, advice } = self;
        let style = if console::has_colours() { verdict.style() } else { Style::new() };
        let name = verdict.name();
        let server = server.as_ref().map_or_else(String::new, |server| format!(" {server}"));
        let says = Escaped(says);
        let advice = advice
            .as_ref()
            .map_or_else(String::new, |advice| format!("{:9}{}\n", "", Escaped(advice)));
        format!("{style}{name:7}{style:#}  {step}{server}: {says}\n{advice}")
    }
}

/// All findings.
pub(super) struct Report {
    json: bool,
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(json: bool) -> Self {
        Self { json, findings: Vec::new() }
    }

    /// Prints a finding at once, unless the output is JSON.
    pub(super) fn add(&mut self, finding: Finding) -> Result<(), Failure> {
        if !self.json {
            console::print(&finding.text())?;
        }
        self.findings.push(finding);
        Ok(())
    }

    /// Returns the worst verdict.
    pub(super) fn end(self) -> Result<Verdict, Failure> {
        if self.json {
            let json = serde_json::to_string_pretty(&self.findings).unwrap_or_default();
            console::print(&format!("{}\n", console::for_terminal(&json)))?;
        }
        let worst = self.findings.iter().map(|finding| finding.verdict).max();
        Ok(worst.unwrap_or(Verdict::Failed))
    }
}

pub(super) fn no_answer(bound: Duration) -> String {
    format!("no answer within {}", humantime::format_duration(bound))
}

/// Writes a time for human readers.
pub(super) fn spoken(time: Duration) -> String {
    match time.as_millis() {
        0 => "less than 1ms".to_owned(),
        ms @ 1..10_000 => format!("{ms}ms"),
        ms => format!("{}s", ms / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_line_and_its_advice_another() {
        let finding = Finding::failed("session", "no\u{1b}[2J").of("zk:1").advise("look");
        assert_eq!(finding.text(), "failed   session zk:1: no\\u{1b}[2J\n         look\n");
        let json = serde_json::to_string(&finding).expect("it is JSON");
        assert_eq!(
            json,
            r#"{"step":"session","server":"zk:1","verdict":"failed","says":"no\u001b[2J","advice":"look"}"#
        );
        assert_eq!(Finding::ok("list", "so").text(), "ok       list: so\n");
    }

    #[test]
    fn times_are_short() {
        let said = [0, 1, 9_999, 10_000].map(|ms| spoken(Duration::from_millis(ms)));
        assert_eq!(said, ["less than 1ms", "1ms", "9999ms", "10s"]);
    }
}
