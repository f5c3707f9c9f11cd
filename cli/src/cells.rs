//! Cells of tables.

use election_tokio::error::Escaped;

/// The most characters of a cell. Names of other clients' candidates are at most as long.
pub(crate) const CELL: usize = 64;

/// Puts a text of other clients on one line, and cuts it; `--json` has all of it.
pub(crate) fn cut(text: &str) -> String {
    let mut shown = String::new();
    let mut length = 0;
    // The mark goes here if there is more than fits.
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

/// Pads a cell. `format!` has a bound on widths, this function has none.
fn padded(cell: &str, width: usize) -> String {
    let missing = width.saturating_sub(cell.chars().count());
    format!("{cell}{}", " ".repeat(missing))
}

/// Aligns lines of cells below a header: each column is as wide as its widest cell.
pub(crate) fn aligned(header: &Vec<String>, lines: &[Vec<String>]) -> String {
    let all = || core::iter::once(header).chain(lines);
    let mut widths = vec![0; header.len()];
    for line in all() {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in all() {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| padded(cell, *width)).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
