//! `docs/scenarios.md`: what tests repeat that broke elsewhere.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use crate::mutations::lists;
use crate::{Page, pages_in, sources};

/// The files that tell of tickets besides the pages of `docs/`.
const LABORATORY: [&str; 4] = [
    "tests/endurance/README.md",
    "tests/endurance/losses.md",
    "tests/releases/README.md",
    "tests/suites/interop.md",
];
/// The projects that name their tickets by a word and a number.
const TRACKERS: [&str; 3] = ["CURATOR-", "KAFKA-", "ZOOKEEPER-"];

/// Words, of which a hyphen may be a part.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
}

/// Whether a word is the code of a scenario.
fn is_code(word: &str) -> bool {
    let number = ["C-", "D-", "G", "Z"].into_iter().find_map(|kind| word.strip_prefix(kind));
    number.is_some_and(|number| {
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_ticket(word: &str) -> bool {
    let number = TRACKERS.into_iter().find_map(|tracker| word.strip_prefix(tracker));
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the codes in the sources and the mutations, and the file where each was first seen.
fn used(is_wanted: fn(&str) -> bool) -> io::Result<BTreeSet<(String, PathBuf)>> {
    let mut used = BTreeSet::new();
    for source in sources("rs")?.into_iter().chain(lists("")?) {
        let text = fs::read_to_string(&source)?;
        used.extend(
            words(&text).filter(|word| is_wanted(word)).map(|it| (it.to_owned(), source.clone())),
        );
    }
    Ok(used)
}

#[test]
fn each_code_is_explained_once() -> io::Result<()> {
    let page = Page::read(PathBuf::from("docs/scenarios.md"))?;
    let codes = page.rows("shown by").filter_map(|cells| cells.first().copied());
    let mut explained = BTreeSet::new();
    for code in codes {
        assert!(explained.insert(code), "{code} is there twice");
    }
    let used = used(is_code)?;
    assert!(used.len() >= 4, "{used:?}");
    for (code, source) in used {
        assert!(explained.contains(code.as_str()), "{code}, in {}", source.display());
    }
    Ok(())
}

/// A reader of a comment that names a ticket finds in the pages what it is about.
#[test]
fn each_ticket_is_told_of() -> io::Result<()> {
    let mut pages = pages_in("docs")?;
    for page in LABORATORY {
        pages.push(Page::read(PathBuf::from(page))?);
    }
    let told: BTreeSet<&str> =
        pages.iter().flat_map(|page| words(&page.text)).filter(|word| is_ticket(word)).collect();
    for (ticket, source) in used(is_ticket)? {
        assert!(
            told.contains(ticket.as_str()),
            "{ticket}, in {}: add it to docs/scenarios.md",
            source.display()
        );
    }
    Ok(())
}
