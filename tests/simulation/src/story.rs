//! A report of a run for human readers.

use core::fmt;

use super::clock::Time;

/// Whether a run is to be told afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// It is.
    On,
    /// It is not, which is faster.
    Off,
}

/// The decisive events of a run.
#[derive(Debug)]
pub struct Story {
    recording: Recording,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    at: Time,
    who: String,
    what: String,
}

impl Story {
    pub(super) const fn new(recording: Recording) -> Self {
        Self { recording, lines: Vec::new() }
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.recording == Recording::On
    }

    /// Tells something, which is put into words only if the run is recorded.
    pub(super) fn tell(&mut self, at: Time, line: impl FnOnce() -> (String, String)) {
        if self.is_recorded() {
            let (who, what) = line();
            self.lines.push(Line { at, who, what });
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { at, who, what } in &self.lines {
            writeln!(f, "  {:>14}  {who:<10} {what}", at.to_string())?;
        }
        Ok(())
    }
}
