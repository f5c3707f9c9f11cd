//! `zkelect list`: who stands in an election.

use core::fmt::Write as _;

use election_tokio::Candidate;
use serde::Serialize;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{connection, console};

/// Prints the candidates in their order.
pub(crate) async fn list(args: ListArgs) -> Result<Exit, Failure> {
    let servers = &args.election.servers;
    let path = &args.election.election;
    connection::check_path(path)?;
    let builder = args.election.client()?;
    let client = connection::connect(builder, servers, *args.timeout).await?;
    let election = client.election(path);
    let candidates = tokio::time::timeout(*args.timeout, election.candidates())
        .await
        .map_err(|_| Failure::NoAnswer(*args.timeout))??;
    let rows: Vec<Row> = candidates.iter().map(Row::from).collect();
    let text = if args.json {
        let mut json = serde_json::to_string_pretty(&rows).unwrap_or_default();
        json.push('\n');
        json
    } else {
        table(&rows)
    };
    console::print(&text)?;
    if rows.is_empty() {
        console::note(format_args!("nobody stands at {path}"));
    }
    // The session holds nothing: it may as well time out.
    let _ = tokio::time::timeout(*args.timeout, client.close()).await;
    Ok(Exit::Success)
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    /// The candidate's data where that can be shown: by convention the nominee's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    znode: String,
    session: String,
    token: i64,
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
            znode: candidate.name.to_string(),
            session: candidate.session.to_string(),
            token: candidate.token.get(),
            data,
        }
    }
}

const HEADER: [&str; 6] = ["ROLE", "ID", "ZNODE", "SESSION", "TOKEN", "DATA"];

fn table(rows: &[Row]) -> String {
    let lines: Vec<[String; 6]> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            [
                if index == 0 { "leader" } else { "follower" }.to_owned(),
                row.id.clone().unwrap_or_else(|| "-".to_owned()),
                row.znode.clone(),
                row.session.clone(),
                row.token.to_string(),
                match &row.data {
                    Data::Text(text) => text.clone(),
                    Data::Hex(hex) => format!("hex:{hex}"),
                },
            ]
        })
        .collect();
    let mut widths = HEADER.map(|title| title.chars().count());
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let header = HEADER.map(str::to_owned);
    let mut text = String::new();
    for line in core::iter::once(&header).chain(&lines) {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(data: &[u8]) -> Row {
        Row {
            id: None,
            znode: "latch-0000000001".into(),
            session: "0x1".into(),
            token: 7,
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
    fn the_table_is_aligned_and_the_first_one_leads() {
        let text = table(&[row(b"a"), row(b"\xff")]);
        assert_eq!(
            text,
            "ROLE      ID  ZNODE             SESSION  TOKEN  DATA\n\
             leader    -   latch-0000000001  0x1      7      a\n\
             follower  -   latch-0000000001  0x1      7      hex:ff\n"
        );
    }
}
