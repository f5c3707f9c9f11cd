//! The page of what has to be believed: its files, and how long they may be.

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
