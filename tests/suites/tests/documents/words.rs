//! Plain words: phrases that hide which party does what, in pages and in the doc comments of the published crates.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::links::pages;
use crate::{Page, files, top};

/// The published crates. Their doc comments are pages, too.
const CRATES: [&str; 7] =
    ["jute", "session", "election-core", "election-session", "election-tokio", "embedded", "cli"];
/// Phrases, and what a sentence with them does not name.
const PHRASES: [(&str, &str); 21] = [
    ("is told", "which party reports it, and through what"),
    ("are told", "which party reports it, and through what"),
    ("was told", "which party reports it, and through what"),
    ("were told", "which party reports it, and through what"),
    ("be told", "which party reports it, and through what"),
    ("been told", "which party reports it, and through what"),
    ("not told", "which party reports it, and through what"),
    ("told of", "which party reports it, and through what"),
    ("told so", "which party reports it, and through what"),
    ("says so", "the value, event, log line or error"),
    ("say so", "the value, event, log line or error"),
    ("said so", "the value, event, log line or error"),
    ("whoever", "the client, nominee, server or user"),
    ("somebody", "the client, nominee, server or user"),
    ("believes to", "a verb: believes it leads"),
    ("believe to", "a verb: believe they lead"),
    ("of no use", "what does not help, and what does"),
    ("the same again", "the command"),
    ("let go", "release"),
    ("lets go", "releases"),
    ("letting go", "releasing"),
];
/// Files that have such phrases still.
const NOT_YET: [&str; 3] = [
    "cli/README.md",
    "election-core/README.md",
    "session/src/lease/outlook.rs",
];

/// Returns the prose of a page, without its programs and without line breaks.
fn prose(page: &str) -> String {
    let prose: Vec<&str> = page.split("```").step_by(2).collect();
    prose.join(" | ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the doc comments of a source file, without line breaks.
fn comments(source: &str) -> String {
    let mut comments = String::new();
    for line in source.lines().map(str::trim_start) {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        comments.push_str(comment.unwrap_or(" | "));
    }
    comments.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds a line for each phrase in a text.
fn search(at: &Path, text: &str, found: &mut String) {
    let text = text.to_ascii_lowercase();
    for (phrase, instead) in PHRASES {
        for (start, _) in text.match_indices(phrase) {
            let end = start + phrase.len();
            let is_word = |neighbour: Option<char>| !neighbour.is_some_and(char::is_alphanumeric);
            let (before, after) = (text.get(..start), text.get(end..));
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            if is_word(before.chars().next_back()) && is_word(after.chars().next()) {
                let from = before.char_indices().rev().nth(60).map_or(0, |(at, _)| at);
                let context = text.get(from..end).unwrap_or_default();
                let _ = writeln!(found, "{}: \"…{context}\": name {instead}", at.display());
            }
        }
    }
}

/// Returns the pages and sources that are held to the words, with their prose.
fn texts() -> io::Result<Vec<(PathBuf, String)>> {
    let mut texts = Vec::new();
    for Page { path, text } in pages()? {
        let text = prose(&text);
        texts.push((path, text));
    }
    for (path, source) in crate_sources()? {
        texts.push((path, comments(&source)));
    }
    Ok(texts)
}

/// Returns the sources of the published crates.
fn crate_sources() -> io::Result<Vec<(PathBuf, String)>> {
    let mut sources = Vec::new();
    for package in CRATES {
        let mut paths = Vec::new();
        files(&top().join(package).join("src"), "rs", &mut paths)?;
        for path in paths {
            let text = fs::read_to_string(&path)?;
            let path = path.strip_prefix(top()).map_err(io::Error::other)?.to_owned();
            sources.push((path, text));
        }
    }
    Ok(sources)
}

fn is_excepted(path: &Path) -> bool {
    NOT_YET.iter().any(|file| path == Path::new(file))
}

#[test]
fn sentences_name_the_actor_and_the_channel() -> io::Result<()> {
    let (mut found, mut excepted) = (String::new(), String::new());
    let texts = texts()?;
    assert!(texts.len() >= 500, "{} texts", texts.len());
    for (path, text) in texts {
        search(&path, &text, if is_excepted(&path) { &mut excepted } else { &mut found });
    }
    assert!(found.is_empty(), "write in plain words:\n{found}");
    for file in NOT_YET {
        assert!(excepted.contains(file), "{file} has none: take it off the list");
    }
    Ok(())
}

/// A type's comment begins with the noun that it is; "Whether" begins that of a `bool`.
#[test]
fn types_begin_with_their_noun() -> io::Result<()> {
    let mut found = String::new();
    for (path, text) in crate_sources()? {
        let mut first = "";
        for line in text.lines().map(str::trim_start) {
            if let Some(comment) = line.strip_prefix("/// ") {
                first = if first.is_empty() { comment } else { first };
            } else if !line.starts_with("#[") && !line.starts_with("///") {
                let is_type = line.contains("enum ") || line.contains("struct ");
                let is_no_noun = ["Whether ", "Who ", "Whose ", "What "];
                let is_no_noun = is_no_noun.iter().any(|word| first.starts_with(word));
                if is_type && is_no_noun && !is_excepted(&path) {
                    let _ = writeln!(found, "{}: {first}", path.display());
                }
                first = "";
            }
        }
    }
    assert!(found.is_empty(), "begin with the noun that the type is:\n{found}");
    Ok(())
}
