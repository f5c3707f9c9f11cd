//! The pages of `docs/`: what their tables name is there.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Packages with tests and mutations.
const PACKAGES: [&str; 7] =
    ["session", "election-core", "election-session", "election-tokio", "embedded", "cli", "tests"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                files(&path, ending, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    Ok(())
}

/// The pages, with their names.
fn pages() -> io::Result<Vec<(String, String)>> {
    let mut paths = Vec::new();
    files(&top().join("docs"), "md", &mut paths)?;
    paths.sort_unstable();
    let named = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, fs::read_to_string(path)?))
    };
    paths.into_iter().map(named).collect()
}

/// A row of a table of hazards.
#[derive(Debug)]
struct Hazard<'a> {
    test: &'a str,
    mutation: &'a str,
}

fn hazards(page: &str) -> Vec<Hazard<'_>> {
    let tables = page.split("| what | then | test | mutation |\n").skip(1);
    tables
        .flat_map(|table| table.lines().skip(1).take_while(|line| line.starts_with('|')))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let (test, mutation) = match cells.as_slice() {
                [.., test, mutation] => (*test, *mutation),
                // Neither is there.
                _ => ("", ""),
            };
            Hazard { test: test.trim_matches('`'), mutation: mutation.trim_matches('`') }
        })
        .collect()
}

/// How many tests there are of each name.
fn tests() -> io::Result<BTreeMap<String, usize>> {
    let mut sources = Vec::new();
    for package in PACKAGES {
        files(&top().join(package), "rs", &mut sources)?;
    }
    let mut tests = BTreeMap::new();
    for source in sources {
        for line in fs::read_to_string(source)?.lines() {
            let line = line.trim_start();
            let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let Some((name, _)) = rest.and_then(|rest| rest.split_once(['(', '<'])) {
                *tests.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(tests)
}

#[test]
fn each_hazard_names_one_test_and_one_mutation() -> io::Result<()> {
    let tests = tests()?;
    let mut mutations = Vec::new();
    files(&top().join("tests/mutations"), "patch", &mut mutations)?;
    let mut rows = 0;
    for (page, text) in pages()? {
        for Hazard { test, mutation } in hazards(&text) {
            rows += 1;
            assert_eq!(tests.get(test), Some(&1), "{page}: tests called `{test}`");
            let is_called_so = |path: &&PathBuf| path.file_stem().is_some_and(|it| it == mutation);
            let count = mutations.iter().filter(is_called_so).count();
            assert_eq!(count, 1, "{page}: mutations called `{mutation}`");
        }
    }
    assert!(rows >= 10, "{rows} hazards");
    Ok(())
}

#[test]
fn links_between_pages_lead_somewhere() -> io::Result<()> {
    for (page, text) in pages()? {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            let path = if file.is_empty() { page.as_str() } else { file };
            let path = top().join("docs").join(path);
            assert!(path.exists(), "{page}: {link}");
            if !anchor.is_empty() {
                let target = fs::read_to_string(path)?;
                let is_anchor = |line: &str| {
                    let heading = line.trim_start_matches('#').trim().to_lowercase();
                    line.starts_with('#') && heading.replace('`', "").replace(' ', "-") == anchor
                };
                assert!(target.lines().any(is_anchor), "{page}: {link}");
            }
        }
    }
    Ok(())
}

/// Each is reached from the first one.
#[test]
fn all_pages_are_listed() -> io::Result<()> {
    let pages = pages()?;
    let first = pages.iter().find(|(name, _)| name == "README.md");
    let (_, first) = first.ok_or(io::ErrorKind::NotFound)?;
    for (name, _) in pages.iter().filter(|(name, _)| name != "README.md") {
        assert!(first.contains(&format!("({name})")), "{name} is not listed");
    }
    Ok(())
}
