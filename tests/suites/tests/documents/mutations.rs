//! The tables of mutations, and how many there are.

use std::io;
use std::path::PathBuf;

use crate::{Page, files, top};

/// The folders, with what stands behind the number of each in the table of the first page.
const COUNTED: [(&str, &str); 6] = [
    ("election-core", " mutations of the machines"),
    ("session", " before the session's tests"),
    ("simulation", " before the simulation,"),
    ("election-session", " of `election-session` before"),
    ("adapter", " of the adapter before"),
    ("endurance", " before the real ensemble"),
];

fn mutations_in(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut mutations = Vec::new();
    files(&top().join("tests/mutations").join(folder), "patch", &mut mutations)?;
    Ok(mutations)
}

#[test]
fn each_mutation_has_one_row() -> io::Result<()> {
    let page = Page::read(PathBuf::from("tests/mutations/README.md"))?;
    let rows: Vec<&str> =
        page.rows("caught by").filter_map(|cells| cells.first().copied()).collect();
    let mutations = mutations_in("")?;
    for path in &mutations {
        let is_of_this = |row: &&&str| path.file_stem().is_some_and(|name| name == **row);
        let count = rows.iter().filter(is_of_this).count();
        assert_eq!(count, 1, "rows of {}", path.display());
    }
    let headings = rows.iter().filter(|row| row.starts_with("---")).count();
    assert_eq!(rows.len() - headings, mutations.len(), "rows of mutations that are not there");
    Ok(())
}

#[test]
fn the_first_page_counts_the_mutations() -> io::Result<()> {
    let page = Page::read(PathBuf::from("README.md"))?;
    for (folder, behind) in COUNTED {
        let before = page.text.split_once(behind).map(|(before, _)| before);
        let digits = before.and_then(|before| before.rsplit(' ').next());
        let count = mutations_in(folder)?.len();
        assert_eq!(digits, Some(count.to_string().as_str()), "{folder}");
    }
    Ok(())
}
