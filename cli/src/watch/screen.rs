//! The observations, as a table that is redrawn in place.

use core::fmt::Write as _;
use std::time::SystemTime;

use anstyle::{AnsiColor, Style};
use election_tokio::election::{Acknowledgement, Observation, ObservedLeader};
use election_tokio::error::Escaped;

use super::known::{Known, Since};
use crate::candidate::{HEADER, ShownCandidate};
use crate::cells::{aligned, cut};
use crate::console;
use crate::data::Data;

/// How many candidates have a row of their own.
pub(super) const ROWS: usize = 10;

const NAME: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// A terminal on which the table was drawn.
pub(super) struct Screen {
    election: String,
    /// How many lines to draw over.
    drawn: usize,
}

impl Screen {
    pub(super) fn new(election: &str) -> Self {
        Self { election: election.to_owned(), drawn: 0 }
    }

    /// Returns the table, drawn over the last one.
    pub(super) fn text(&mut self, known: &Known) -> String {
        let (width, height) = size();
        let lines = lines(&self.election, known, SystemTime::now());
        let mut text = String::new();
        if self.drawn > 0 {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\x1b[{}A", self.drawn);
        }
        text.push_str("\r\x1b[J");
        let shown = lines.iter().take(height.saturating_sub(1));
        self.drawn = shown.len();
        for (style, line) in shown {
            let line: String = line.chars().take(width).collect();
            let _ = if console::has_colours() {
                writeln!(text, "{style}{line}{style:#}")
            } else {
                writeln!(text, "{line}")
            };
        }
        text
    }
}

/// Returns the columns and lines of the terminal.
fn size() -> (usize, usize) {
    match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((width, height)) if width.0 > 0 && height.0 > 0 => {
            (usize::from(width.0), usize::from(height.0))
        }
        _ => (80, 24),
    }
}

fn lines(election: &str, known: &Known, now: SystemTime) -> Vec<(Style, String)> {
    let plain = Style::new();
    let mut lines = vec![(NAME, Escaped(election).to_string())];
    if !known.is_connected() {
        let reason = known.trouble().map_or_else(String::new, |trouble| format!(": {trouble}"));
        let old =
            if known.seen == Observation::Unknown { "" } else { "; what follows may be over" };
        lines.push((BAD, Escaped(format!("no server is in reach{old}{reason}")).to_string()));
    }
    let since = since(known.since, now);
    match &known.seen {
        Observation::Led(leader) => lines.extend(of_leader(leader, &since)),
        Observation::Blocked { first, by } => {
            let first = ShownCandidate::from(first).describe();
            lines.push((BAD, format!("leader      none: {first} is the first, blocked by {by}")));
            lines.push((plain, format!("since       {since}")));
        }
        Observation::Unknown => lines.push((plain, "waiting for the first answer".to_owned())),
        Observation::Hidden => {
            let hidden = "a candidate that may not be read, or with a name above 64 bytes";
            lines.push((BAD, format!("leader      {hidden}")));
            lines.push((plain, format!("since       {since}")));
        }
        _ => {
            let is_ended = known.counted.as_ref().is_some_and(|counted| counted.is_ended);
            let why = if is_ended { "the election is ended" } else { "no candidate stands" };
            lines.push((BAD, format!("leader      none: {why}")));
            lines.push((plain, format!("since       {since}")));
        }
    }
    if let Some(counted) = &known.counted {
        lines.push((plain, format!("candidates  {}", counted.number)));
        if !counted.first.is_empty() {
            let header = HEADER.map(str::to_owned).to_vec();
            let rows: Vec<_> = counted.first.iter().map(ShownCandidate::cells).collect();
            lines.push((plain, String::new()));
            lines.extend(aligned(&header, &rows).lines().map(|line| (plain, line.to_owned())));
        }
        let more = counted.number.saturating_sub(ROWS);
        if more > 0 {
            lines.push((plain, format!("and {more} more")));
        }
    }
    lines
}

fn of_leader(leader: &ObservedLeader, since: &str) -> Vec<(Style, String)> {
    let plain = Style::new();
    let shown = ShownCandidate::from(leader);
    let ready = match &leader.acknowledgement {
        Acknowledgement::Given(data) => {
            let says = match Data::from(&data[..]) {
                Data::Text(text) if text.is_empty() => String::new(),
                Data::Text(text) => format!(", says {}", cut(&text)),
                Data::Hex(hex) => format!(", says {}", cut(&format!("hex:{hex}"))),
            };
            format!("yes{says}")
        }
        Acknowledgement::Awaited => "not yet".to_owned(),
        _ => "not known".to_owned(),
    };
    vec![
        (GOOD, format!("leader      {}", shown.name())),
        (plain, format!("znode       {}", cut(shown.znode()))),
        (plain, format!("token       {}", shown.token())),
        (plain, format!("since       {since}")),
        (plain, format!("ready       {ready}")),
    ]
}

fn since(since: Since, now: SystemTime) -> String {
    let age = now.duration_since(since.time()).unwrap_or_default().as_secs();
    let age = humantime::format_duration(core::time::Duration::from_secs(age));
    let time = humantime::format_rfc3339_seconds(since.time());
    match since {
        Since::At(_) => format!("{time}, {age} ago"),
        Since::Before(_) => format!("before {time}, {age} ago, when it was first seen"),
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use election_tokio::ConnectionState;

    use super::*;
    use crate::watch::count::Counted;

    fn texts(known: &Known) -> Vec<String> {
        let now = known.since.time() + Duration::from_secs(61);
        lines("/e\u{202e}", known, now).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn the_table_says_what_is_not_known_and_for_how_long() {
        let mut known = Known::new(ConnectionState::Connecting { failures: 0, last_failure: None });
        assert_eq!(
            texts(&known),
            [r"/e\u{202e}", "no server is in reach", "waiting for the first answer"]
        );
        assert!(known.see(Observation::Vacant));
        assert!(!known.see(Observation::Vacant));
        known.counted = Some(Counted { number: ROWS + 3, ..Counted::default() });
        let lines = texts(&known);
        assert_eq!(lines[1], "no server is in reach; what follows may be over");
        assert_eq!(lines[2], "leader      none: no candidate stands");
        assert!(lines[3].starts_with("since       before ") && lines[3].contains(" 1m 1s ago"));
        assert_eq!(lines[4..], ["candidates  13", "and 3 more"]);
        assert!(known.see(Observation::Hidden));
        assert!(texts(&known)[3].starts_with("since       2"), "{:?}", texts(&known));
    }
}
