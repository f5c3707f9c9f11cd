//! Prints rows: as a table, or as JSON while they come.

use super::row::{Role, Row};
use crate::cells::{self, cut};
use crate::console;
use crate::data::Data;
use crate::failure::Failure;

/// Rows, one after another.
pub(super) enum Listing {
    /// Printed as they come.
    Json { shown: usize },
    /// Printed at the end, since all lines are as wide as the widest one.
    Table(Table),
}

/// Lines of cells below a header.
pub(super) struct Table {
    title: Option<String>,
    columns: &'static [Column],
    lines: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Place,
    Role,
    Access,
    Behind,
    Id,
    Znode,
    Session,
    Token,
    Data,
}

/// For an election, in which each candidate waits for the one before it.
pub(super) const ELECTION: &[Column] =
    &[Column::Role, Column::Id, Column::Znode, Column::Session, Column::Token, Column::Data];

/// For locks that may be shared.
pub(super) const LOCK: &[Column] = &[
    Column::Place,
    Column::Role,
    Column::Access,
    Column::Behind,
    Column::Id,
    Column::Znode,
    Column::Session,
    Column::Token,
    Column::Data,
];

/// For a semaphore, with two queues.
pub(super) const SEMAPHORE: &[Column] = &[
    Column::Place,
    Column::Role,
    Column::Behind,
    Column::Id,
    Column::Znode,
    Column::Session,
    Column::Token,
    Column::Data,
];

/// For the items of a queue, with the takers that claim them.
pub(super) const QUEUE: &[Column] =
    &[Column::Place, Column::Role, Column::Id, Column::Znode, Column::Session, Column::Data];

/// For participants, which are in no order.
pub(super) const DOUBLE_BARRIER: &[Column] =
    &[Column::Role, Column::Id, Column::Znode, Column::Session];

impl Listing {
    pub(super) fn new(json: bool, title: Option<String>, columns: &'static [Column]) -> Self {
        if json {
            return Self::Json { shown: 0 };
        }
        Self::Table(Table { title, columns, lines: Vec::new() })
    }

    /// Adds a row, and returns its place, counted from 1.
    pub(super) fn add(&mut self, row: &Row) -> Result<usize, Failure> {
        match self {
            Self::Json { shown } => {
                let json = serde_json::to_string_pretty(row).unwrap_or_default();
                let before = if *shown == 0 { "[\n  " } else { ",\n  " };
                *shown += 1;
                let text = console::for_terminal(&format!("{before}{}", indented(&json)));
                console::print(&text).map(|()| *shown)
            }
            Self::Table(table) => {
                table.add(row);
                Ok(table.lines.len())
            }
        }
    }

    /// Ends the list, and returns how many rows there were.
    pub(super) fn end(self) -> Result<usize, Failure> {
        match self {
            Self::Json { shown: 0 } => console::print("[]\n").map(|()| 0),
            Self::Json { shown } => console::print("\n]\n").map(|()| shown),
            Self::Table(table) => console::print(&table.text()).map(|()| table.lines.len()),
        }
    }
}

/// Strings of JSON have no line breaks of their own.
fn indented(json: &str) -> String {
    json.replace('\n', "\n  ")
}

impl Table {
    fn add(&mut self, row: &Row) {
        let place = self.lines.len() + 1;
        self.lines.push(self.columns.iter().map(|column| column.cell(place, row)).collect());
    }

    fn text(&self) -> String {
        let header = self.columns.iter().map(|column| column.title().to_owned()).collect();
        let title = self.title.as_ref().map_or_else(String::new, |title| format!("{title}\n"));
        title + &cells::aligned(&header, &self.lines)
    }
}

impl Column {
    const fn title(self) -> &'static str {
        match self {
            Self::Place => "#",
            Self::Role => "ROLE",
            Self::Access => "ACCESS",
            Self::Behind => "BEHIND",
            Self::Id => "ID",
            Self::Znode => "ZNODE",
            Self::Session => "SESSION",
            Self::Token => "TOKEN",
            Self::Data => "DATA",
        }
    }

    fn cell(self, place: usize, row: &Row) -> String {
        match self {
            Self::Place => place.to_string(),
            Self::Role => match (row.role, row.blocks) {
                (Role::Blocks, Some(reason)) => format!("blocks: {reason}"),
                (role, _) => role.name().to_owned(),
            },
            Self::Access => row.access.map_or("-", |access| access.name()).to_owned(),
            Self::Behind => {
                row.behind.as_ref().map_or_else(none, |behind| behind.place.to_string())
            }
            Self::Id => row.id.as_deref().map_or_else(none, cut),
            Self::Znode => cut(&row.znode),
            Self::Session => row.session.clone(),
            Self::Token => row.token.to_string(),
            Self::Data => match &row.data {
                Data::Text(text) => cut(text),
                Data::Hex(hex) => cut(&format!("hex:{hex}")),
            },
        }
    }
}

fn none() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::CELL;
    use crate::list::row::tests::row;
    use crate::list::row::{AccessName, Behind};

    fn table_of(columns: &'static [Column], rows: &[Row]) -> String {
        let mut table = Table { title: None, columns, lines: Vec::new() };
        for row in rows {
            table.add(row);
        }
        table.text()
    }

    #[test]
    fn what_a_terminal_would_act_upon_is_escaped() {
        let mut row = row("a\u{202e}\u{2028}b".as_bytes());
        row.id = Some("a\u{202e}b".into());
        row.znode = "x\u{200b}-latch-1".into();
        let table = table_of(LOCK, &[row]);
        assert!(table.contains(r"a\u{202e}\u{2028}b"), "{table}");
        assert!(table.contains(r"x\u{200b}-latch-1"), "{table}");
        assert!(table.is_ascii(), "{table}");
    }

    #[test]
    fn long_cells_are_cut_and_the_table_stays_aligned() {
        let long = row("ä".repeat(70_000).as_bytes());
        let table = table_of(ELECTION, &[row(b"a"), long, row(&vec![0xff; 70_000])]);
        let shown = format!("{}…", "ä".repeat(CELL - 1));
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[2].ends_with(&format!("7      {shown}")), "{table}");
        assert!(lines[3].ends_with(&format!("7      hex:{}…", "f".repeat(CELL - 5))), "{table}");
        assert_eq!(cut(&"a".repeat(CELL)), "a".repeat(CELL));
        let marks = cut(&"\u{202e}".repeat(CELL));
        assert_eq!(marks, format!("{}…", r"\u{202e}".repeat((CELL - 1) / 8)));
    }

    #[test]
    fn the_table_of_an_election_is_aligned() {
        let text = table_of(ELECTION, &[Row { role: Role::Leader, ..row(b"a") }, row(b"\xff")]);
        assert_eq!(
            text,
            "ROLE      ID  ZNODE             SESSION  TOKEN  DATA\n\
             leader    -   latch-0000000001  0x1      7      a\n\
             follower  -   latch-0000000001  0x1      7      hex:ff\n"
        );
    }

    #[test]
    fn the_table_of_a_lock_says_who_waits_behind_which() {
        let access = Some(AccessName::Shared);
        let behind = Some(Behind { place: 1, znode: "x".into() });
        let text = table_of(
            LOCK,
            &[
                Row { role: Role::Holder, access, ..row(b"a") },
                Row { role: Role::Waits, access: Some(AccessName::Exclusive), behind, ..row(b"b") },
                Row { role: Role::Blocks, access, blocks: Some("not ephemeral"), ..row(b"c") },
                Row { role: Role::Foreign, ..row(b"d") },
            ],
        );
        assert_eq!(
            text,
            "#  ROLE                   ACCESS     BEHIND  ID  ZNODE             SESSION  TOKEN  DATA\n\
             1  holder                 shared     -       -   latch-0000000001  0x1      7      a\n\
             2  waits                  exclusive  1       -   latch-0000000001  0x1      7      b\n\
             3  blocks: not ephemeral  shared     -       -   latch-0000000001  0x1      7      c\n\
             4  foreign                -          -       -   latch-0000000001  0x1      7      d\n"
        );
    }
}
