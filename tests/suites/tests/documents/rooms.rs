//! The rooms of `tests/`, and the commands that name their tests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::links::pages;
use crate::mutations::mutations;
use crate::{Page, top};

/// The folders of the packages that have the tests and programs named on pages.
const FOLDERS: [(&str, &str); 14] = [
    ("zk-jute", "jute"),
    ("zk-session", "session"),
    ("election-core", "election-core"),
    ("election-session", "election-session"),
    ("election-tokio", "election-tokio"),
    ("zk-embedded", "embedded"),
    ("zkelect", "cli"),
    ("zk-tests", "tests/suites"),
    ("zk-test-kit", "tests/kit"),
    ("zk-simulation", "tests/simulation"),
    ("zk-endurance", "tests/endurance"),
    ("zk-budgets", "tests/budgets"),
    ("zk-verdict", "tests/verdict"),
    ("zk-peers", "tests/peers"),
];
const INDEX: &str = "tests/README.md";
/// How long the index may be, in lines.
const INDEX_LINES: usize = 80;
/// How long the first page of a room may be.
const ROOM_LINES: usize = 110;

/// Whether a room compiles a module of this name: `scripts/mutants` finds its program.
fn is_module(tests: &Path, name: &str) -> io::Result<bool> {
    for entry in fs::read_dir(tests)? {
        let room = entry?.path();
        let is_there =
            room.join(format!("{name}.rs")).is_file() || room.join(name).join("mod.rs").is_file();
        if is_there && room.join("main.rs").is_file() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a package has this test, program or benchmark: by its file, or by its manifest.
fn has(folder: &Path, flag: &str, name: &str) -> io::Result<bool> {
    let (place, section) = match flag {
        "--test" => ("tests", "[[test]]"),
        "--bench" => ("benches", "[[bench]]"),
        _ => ("src/bin", "[[bin]]"),
    };
    let place = folder.join(place);
    let file =
        place.join(format!("{name}.rs")).exists() || place.join(name).join("main.rs").exists();
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
    let is_named = manifest.contains(&format!("{section}\nname = \"{name}\"\n"));
    Ok(file || is_named || (flag == "--test" && is_module(&place, name)?))
}

/// Counts the targets that a text names by commands; fails at one that is not there.
fn targets(at: &Path, text: &str) -> io::Result<usize> {
    let mut count = 0;
    for line in text.lines() {
        let words: Vec<&str> =
            line.split([' ', '`']).filter(|word| !word.is_empty() && *word != "\\").collect();
        let mut folder = None;
        for pair in words.windows(2) {
            let [flag, value] = pair else { continue };
            let value = value.trim_end_matches([')', ',', ';', '.', ':']);
            match *flag {
                "-p" => folder = FOLDERS.iter().find(|(name, _)| *name == value),
                "--test" | "--bin" | "--bench" => {
                    let Some((package, folder)) = folder else { continue };
                    let is_there = has(&top().join(folder), flag, value)?;
                    assert!(is_there, "{}: {package} has no {flag} {value}", at.display());
                    count += 1;
                }
                _ => {}
            }
        }
    }
    Ok(count)
}

#[test]
fn commands_name_targets_that_are_there() -> io::Result<()> {
    let mut in_pages = 0;
    for Page { path, text } in pages()? {
        in_pages += targets(&path, &text)?;
    }
    assert!(in_pages >= 50, "{in_pages} in pages");
    let mut in_mutations = 0;
    for mutation in mutations("")? {
        in_mutations += targets(&mutation.at, &mutation.run)?;
    }
    assert!(in_mutations >= 150, "{in_mutations} in mutations");
    Ok(())
}

/// Each folder of the laboratory is in its index; each of its packages that has a page has a short one, which the index
/// links.
#[test]
fn the_index_leads_to_each_room() -> io::Result<()> {
    let index = Page::read(PathBuf::from(INDEX))?;
    let lines = index.text.lines().count();
    assert!(lines <= INDEX_LINES, "{INDEX} has {lines} lines");
    let mut rooms = 0;
    for entry in fs::read_dir(top().join("tests"))? {
        let folder = entry?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        let name = folder.file_name();
        let name = name.to_string_lossy();
        assert!(index.text.contains(&*name), "{INDEX} lacks {name}");
        let page = folder.path().join("README.md");
        if page.exists() {
            rooms += 1;
            assert!(index.text.contains(&format!("({name}/README.md)")), "{INDEX} links no {name}");
            let lines = fs::read_to_string(page)?.lines().count();
            assert!(lines <= ROOM_LINES, "{name}/README.md has {lines} lines");
        }
    }
    assert!(rooms >= 6, "{rooms} rooms");
    Ok(())
}

/// Each file of `tests/suites/tests`, or of a room there, is a suite that begins with what it tests; and a room compiles
/// each.
#[test]
fn each_suite_says_what_it_tests() -> io::Result<()> {
    let page = Page::read(PathBuf::from("tests/suites/README.md"))?;
    let mut suites = Vec::new();
    for entry in fs::read_dir(top().join("tests/suites/tests"))? {
        let path = entry?.path();
        if path.is_file() || path.ends_with("documents") {
            suites.push(path);
            continue;
        }
        let program = fs::read_to_string(path.join("main.rs"))?;
        for suite in fs::read_dir(&path)? {
            let suite = suite?.path();
            let name = suite.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if suite.is_file() && name != "main" {
                let module = format!("\nmod {name};\n");
                assert!(program.contains(&module), "{} is not compiled", suite.display());
                suites.push(suite);
            }
        }
        let room = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert!(page.text.contains(&format!("`{room}`")), "{room} is not listed");
    }
    for suite in &suites {
        let source = if suite.is_dir() { suite.join("main.rs") } else { suite.clone() };
        let text = fs::read_to_string(&source)?;
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 20, "{}: {first}", source.display());
    }
    assert!(suites.len() >= 70, "{} suites", suites.len());
    Ok(())
}
