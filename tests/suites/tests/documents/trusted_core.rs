//! The page of what has to be believed: its files, and how long they may be.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{Page, top};

/// An hour's reading, in lines.
const BUDGET: usize = 1_500;

/// Their own tests are no part of it.
fn lines(path: &str) -> io::Result<usize> {
    let text = fs::read_to_string(top().join(path))?;
    // `mod calls;` under the attribute is one line among others, and no end of the file.
    let code =
        text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text.as_str(), |(code, _)| code);
    Ok(code.lines().count())
}

/// What changes a deadline, in the source of the lease.
const CHANGES: [&str; 3] = ["self.state = ", "by_quorum = (", ".by_quorum = "];

/// The page names each function that changes a deadline, and no other: a reader looks at these.
#[test]
fn the_page_names_what_changes_a_deadline() -> io::Result<()> {
    let text = fs::read_to_string(top().join("session/src/lease.rs"))?;
    let functions = text.split("fn ").skip(1);
    let changing = functions.filter(|body| CHANGES.iter().any(|change| body.contains(change)));
    let called = changing.filter_map(|body| body.split(['(', '<']).next());
    let changing: BTreeSet<String> = called.map(str::to_owned).collect();
    let page = Page::read(PathBuf::from("docs/trusted-core.md"))?;
    let mut rows = page.rows("and see that");
    let row = rows.find(|cells| cells.iter().any(|cell| cell.contains("lease.rs`")));
    let sees = row.and_then(|cells| cells.last().copied()).unwrap_or_default();
    let named: BTreeSet<String> = sees.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(changing, named);
    Ok(())
}

#[test]
fn the_trusted_core_is_read_in_an_hour() -> io::Result<()> {
    let page = Page::read(PathBuf::from("docs/trusted-core.md"))?;
    let (mut all, mut files) = (0, 0);
    for cells in page.rows("and see that") {
        let [_, file, most, _] = cells.as_slice() else {
            continue;
        };
        let Some(path) = file.split('`').nth(1) else {
            continue;
        };
        let most: usize = most.parse().map_err(io::Error::other)?;
        let lines = lines(path)?;
        assert!(lines <= most, "{path} has {lines} lines, and may have {most}");
        all += most;
        files += 1;
    }
    assert!(all <= BUDGET && files >= 6, "{all} lines in {files} files");
    Ok(())
}
