//! The README: its length, the first commands, and what its badges say.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{Page, top};

/// How long the README may be, in lines.
const LINES: usize = 100;

fn readme() -> io::Result<Page> {
    Page::read(PathBuf::from("README.md"))
}

#[test]
fn the_readme_is_short() -> io::Result<()> {
    let lines = readme()?.text.lines().count();
    assert!(lines <= LINES, "README.md has {lines} lines");
    Ok(())
}

/// Its first block of commands has the demo and the tests, one after the other.
#[test]
fn the_readme_begins_with_two_commands() -> io::Result<()> {
    let page = readme()?;
    let block = page.text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let commands: Vec<&str> =
        block.unwrap_or_default().lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(commands, ["./demo", "./test"]);
    for command in commands {
        assert!(top().join(command).is_file(), "{command}");
    }
    Ok(())
}

/// A badge names the oldest Rust of the manifest, the workflow that runs, and the licences that are there.
#[test]
fn the_badges_are_true() -> io::Result<()> {
    let page = readme()?;
    let badges: Vec<&str> = page.text.lines().filter(|line| line.starts_with("[![")).collect();
    assert_eq!(badges.len(), 3, "{badges:?}");
    let manifest = fs::read_to_string(top().join("Cargo.toml"))?;
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let rust = rust.unwrap_or_default().trim_matches('"');
    let licence = manifest.lines().find_map(|line| line.strip_prefix("license = "));
    assert_eq!(licence, Some("\"MIT OR Apache-2.0\""));
    for (badge, word) in badges.iter().zip(["workflows/ci.yml/badge.svg", rust, "MIT"]) {
        assert!(!word.is_empty() && badge.contains(word), "{badge}: {word}");
    }
    for file in [".github/workflows/ci.yml", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(top().join(file).is_file(), "{file}");
    }
    Ok(())
}
