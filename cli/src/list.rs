//! `zkelect list`: who stands in an election.

use core::fmt::Write as _;
use core::future::Future;
use core::time::Duration;

use election_tokio::{Candidate, CandidateName, ElectionError, Error, error::Escaped};
use serde::Serialize;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{connection, console};

/// Prints the candidates in their order. The data of one is kept at a time: others decide how much they
/// write.
pub(crate) async fn list(args: ListArgs) -> Result<Exit, Failure> {
    let servers = &args.servers.servers;
    let path = &args.election;
    connection::check_path(path)
        .map_err(|error| ElectionError::InvalidPath { path: path.clone(), error })?;
    let builder = args.servers.client()?;
    let client = connection::connect(builder, servers, *args.timeout).await?;
    let election = client.election(path);
    let mut listing =
        if args.json { Listing::Json { shown: 0 } } else { Listing::Table(Vec::new()) };
    let mut reading = within(*args.timeout, election.read_candidates()).await?;
    while let Some(candidate) = within(*args.timeout, reading.next()).await? {
        listing.add(&Row::from(&candidate))?;
    }
    if listing.end()? == 0 {
        console::note(format_args!("no candidate stands at {path}"));
    }
    // The session holds nothing: it may as well time out.
    let _ = tokio::time::timeout(*args.timeout, client.close()).await;
    Ok(Exit::Success)
}

/// Waits for an answer, so long at most.
async fn within<T>(
    timeout: Duration,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    let answer = tokio::time::timeout(timeout, answer).await;
    Ok(answer.map_err(|_| Failure::NoAnswer(timeout))??)
}

/// How candidates are shown.
enum Listing {
    /// One after another.
    Json { shown: usize },
    /// In the end, since all lines have the widest one's width.
    Table(Vec<[String; 6]>),
}

impl Listing {
    fn add(&mut self, row: &Row) -> Result<(), Failure> {
        match self {
            Self::Json { shown } => {
                let json = serde_json::to_string_pretty(row).unwrap_or_default();
                let before = if *shown == 0 { "[\n  " } else { ",\n  " };
                *shown += 1;
                console::print(&console::for_terminal(&format!("{before}{}", indented(&json))))
            }
            Self::Table(lines) => {
                lines.push(line(lines.len(), row));
                Ok(())
            }
        }
    }

    /// Tells how many there were.
    fn end(self) -> Result<usize, Failure> {
        match self {
            Self::Json { shown: 0 } => console::print("[]\n").map(|()| 0),
            Self::Json { shown } => console::print("\n]\n").map(|()| shown),
            Self::Table(lines) => console::print(&table(&lines)).map(|()| lines.len()),
        }
    }
}

/// Strings of JSON have no line breaks of their own.
fn indented(json: &str) -> String {
    json.replace('\n', "\n  ")
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    /// The candidate's data where that can be shown: by convention the nominee's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    znode: String,
    session: String,
    token: i64,
    /// Why no candidate behind it can lead before it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<&'static str>,
    #[serde(flatten)]
    data: Data,
}

/// A candidate's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
enum Data {
    #[serde(rename = "data")]
    Text(String),
    #[serde(rename = "data_hex")]
    Hex(String),
}

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(char::is_control) => Self::Text(text.to_owned()),
            _ => Self::Hex(bytes.iter().fold(String::new(), |mut hex, byte| {
                // Writing to a `String` cannot fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            })),
        }
    }
}

impl From<&Candidate> for Row {
    fn from(candidate: &Candidate) -> Self {
        let data = Data::from(&*candidate.data);
        Self {
            id: match &data {
                Data::Text(text) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
            znode: candidate.name.clone(),
            session: candidate.session.to_string(),
            token: candidate.token.get(),
            blocks: blocks(candidate),
            data,
        }
    }
}

/// What keeps others from leading for ever, or for as long as its session lives: no nominee makes either.
fn blocks(candidate: &Candidate) -> Option<&'static str> {
    if !candidate.is_ephemeral() {
        Some("not ephemeral")
    } else if CandidateName::parse(&candidate.name).is_err() {
        Some("name above 64 bytes")
    } else {
        None
    }
}

const HEADER: [&str; 6] = ["ROLE", "ID", "ZNODE", "SESSION", "TOKEN", "DATA"];

/// The line of the candidate at this place.
fn line(index: usize, row: &Row) -> [String; 6] {
    [
        match row.blocks {
            Some(reason) => format!("blocks: {reason}"),
            None if index == 0 => "leader".to_owned(),
            None => "follower".to_owned(),
        },
        row.id.as_deref().map_or_else(|| "-".to_owned(), cell),
        cell(&row.znode),
        row.session.clone(),
        row.token.to_string(),
        match &row.data {
            Data::Text(text) => cell(text),
            Data::Hex(hex) => cell(&format!("hex:{hex}")),
        },
    ]
}

fn table(lines: &[[String; 6]]) -> String {
    let mut widths = HEADER.map(|title| title.chars().count());
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let header = HEADER.map(str::to_owned);
    let mut text = String::new();
    for line in core::iter::once(&header).chain(lines) {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| padded(cell, width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The most characters of a cell. The names of candidates by other clients are at most as long.
const CELL: usize = 64;

/// What others wrote, on one line and cut: `--json` has all of it.
fn cell(text: &str) -> String {
    let mut shown = String::new();
    let mut length = 0;
    // Where the mark goes if there is more than fits.
    let mut cut_at = 0;
    for c in text.chars() {
        let c = Escaped(c).to_string();
        length += c.chars().count();
        if length > CELL {
            shown.truncate(cut_at);
            shown.push('…');
            break;
        }
        shown.push_str(&c);
        if length < CELL {
            cut_at = shown.len();
        }
    }
    shown
}

/// Formatting has a bound on widths, this has none.
fn padded(cell: &str, width: usize) -> String {
    let missing = width.saturating_sub(cell.chars().count());
    format!("{cell}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_of(rows: &[Row]) -> String {
        let lines: Vec<_> = rows.iter().enumerate().map(|(index, row)| line(index, row)).collect();
        table(&lines)
    }

    fn row(data: &[u8]) -> Row {
        Row {
            id: None,
            znode: "latch-0000000001".into(),
            session: "0x1".into(),
            token: 7,
            blocks: None,
            data: data.into(),
        }
    }

    #[test]
    fn data_is_text_where_it_can_be_shown_and_hexadecimal_otherwise() {
        assert_eq!(Data::from(&b"h\xc3\xb6st 1"[..]), Data::Text("höst 1".into()));
        assert_eq!(Data::from(&b""[..]), Data::Text(String::new()));
        assert_eq!(Data::from(&b"a\x1b[2J"[..]), Data::Hex("611b5b324a".into()));
        assert_eq!(Data::from(&b"\xff\x00"[..]), Data::Hex("ff00".into()));
    }

    #[test]
    fn json_says_which_form_the_data_has() {
        let text = serde_json::to_string(&[row(b"a"), row(b"\xff")]).expect("it is JSON");
        assert_eq!(
            text,
            r#"[{"znode":"latch-0000000001","session":"0x1","token":7,"data":"a"},{"znode":"latch-0000000001","session":"0x1","token":7,"data_hex":"ff"}]"#
        );
    }

    #[test]
    fn what_a_terminal_would_act_upon_is_escaped() {
        let mut row = row("a\u{202e}\u{2028}b".as_bytes());
        row.id = Some("a\u{202e}b".into());
        row.znode = "x\u{200b}-latch-1".into();
        let table = table_of(&[row]);
        assert!(table.contains(r"a\u{202e}\u{2028}b"), "{table}");
        assert!(table.contains(r"x\u{200b}-latch-1"), "{table}");
        assert!(table.is_ascii(), "{table}");
    }

    #[test]
    fn long_cells_are_cut_and_the_table_stays_aligned() {
        let long = row("ä".repeat(70_000).as_bytes());
        let table = table_of(&[row(b"a"), long, row(&vec![0xff; 70_000])]);
        let cut = format!("{}…", "ä".repeat(CELL - 1));
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[2].ends_with(&format!("7      {cut}")), "{table}");
        assert!(lines[3].ends_with(&format!("7      hex:{}…", "f".repeat(CELL - 5))), "{table}");
        assert_eq!(cell(&"a".repeat(CELL)), "a".repeat(CELL));
        let marks = cell(&"\u{202e}".repeat(CELL));
        assert_eq!(marks, format!("{}…", r"\u{202e}".repeat((CELL - 1) / 8)));
    }

    #[test]
    fn the_table_is_aligned_and_the_first_one_leads() {
        let text = table_of(&[row(b"a"), row(b"\xff")]);
        assert_eq!(
            text,
            "ROLE      ID  ZNODE             SESSION  TOKEN  DATA\n\
             leader    -   latch-0000000001  0x1      7      a\n\
             follower  -   latch-0000000001  0x1      7      hex:ff\n"
        );
    }
}
