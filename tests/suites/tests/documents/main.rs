//! Everything that the pages of the repository name exists: links, commands, tests, mutations and their numbers,
//! codes of scenarios, rooms of the laboratory. Names at the roots of the crates are few.
#![forbid(unsafe_code)]

mod causes;
mod first_page;
mod guide;
mod hazards;
mod links;
mod mutations;
mod releases;
mod rooms;
mod root_names;
mod scenarios;
mod trusted_core;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Packages with tests and mutations.
const PACKAGES: [&str; 8] = [
    "jute",
    "session",
    "election-core",
    "election-session",
    "election-tokio",
    "embedded",
    "cli",
    "tests",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            // Folders that cargo and mdbook make.
            if !path.ends_with("target") && !path.ends_with("book") {
                files(&path, ending, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    Ok(())
}

/// A page in Markdown.
#[derive(Debug)]
struct Page {
    /// Its path from the top of the repository.
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: PathBuf) -> io::Result<Self> {
        let text = fs::read_to_string(top().join(&path))?;
        Ok(Self { path, text })
    }

    /// Returns the cells of each row of its tables whose last column has this heading.
    fn rows<'a>(&'a self, heading: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
        let mut is_within = false;
        self.text.lines().filter_map(move |line| {
            let row = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
            let Some(row) = row else {
                is_within &= line.starts_with('|');
                return None;
            };
            let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
            if !is_within {
                is_within = cells.last() == Some(&heading);
                return None;
            }
            Some(cells)
        })
    }
}

/// Returns the pages in a folder, and in those below it.
fn pages_in(folder: &str) -> io::Result<Vec<Page>> {
    let mut paths = Vec::new();
    files(&top().join(folder), "md", &mut paths)?;
    paths.sort_unstable();
    let from_the_top = |path: PathBuf| path.strip_prefix(top()).map(Path::to_owned);
    paths.into_iter().filter_map(|path| from_the_top(path).ok()).map(Page::read).collect()
}

/// Returns the source files of all packages.
fn sources(ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for package in PACKAGES {
        files(&top().join(package), ending, &mut sources)?;
    }
    Ok(sources)
}

/// Returns the number of functions of each name.
fn functions() -> io::Result<BTreeMap<String, usize>> {
    let mut functions = BTreeMap::new();
    for source in sources("rs")? {
        for line in fs::read_to_string(source)?.lines() {
            let line = line.trim_start();
            let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let Some((name, _)) = rest.and_then(|rest| rest.split_once(['(', '<'])) {
                *functions.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(functions)
}

/// Returns the name of a test in a cell, if the cell has one.
fn test_in(cell: &str) -> Option<&str> {
    let name = cell.strip_prefix('`')?.strip_suffix('`')?;
    name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')).then_some(name)
}
