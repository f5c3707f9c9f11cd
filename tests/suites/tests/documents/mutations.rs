//! The lists of mutations, and how many there are.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{Page, files, top};

/// An entry of a list of mutations.
#[derive(Debug, Default)]
pub(crate) struct Mutation {
    /// The list that it stands in.
    pub(crate) at: PathBuf,
    pub(crate) name: String,
    pub(crate) breaks: String,
    /// The command that is to fail.
    pub(crate) run: String,
    /// A page of docs, and the test of a row of its tables of hazards, for each hazard whose rule it breaks.
    pub(crate) hazards: Vec<(String, String)>,
    /// The files that it changes, from the top of the repository.
    pub(crate) files: Vec<PathBuf>,
}

/// Returns the list of this name, or all.
pub(crate) fn lists(of: &str) -> io::Result<Vec<PathBuf>> {
    let mut lists = Vec::new();
    files(&top().join("tests/mutations"), "txt", &mut lists)?;
    lists.retain(|path| of.is_empty() || path.file_stem().is_some_and(|name| name == of));
    Ok(lists)
}

/// Returns the entries of a list, or of all.
pub(crate) fn mutations(of: &str) -> io::Result<Vec<Mutation>> {
    let mut mutations: Vec<Mutation> = Vec::new();
    for at in lists(of)? {
        for line in fs::read_to_string(&at)?.lines() {
            if let Some(name) = line.strip_prefix("== ") {
                let name = name.to_owned();
                mutations.push(Mutation { at: at.clone(), name, ..Mutation::default() });
            }
            let Some(mutation) = mutations.last_mut() else { continue };
            if let Some(rule) = line.strip_prefix("breaks: ") {
                rule.clone_into(&mut mutation.breaks);
            } else if let Some(run) = line.strip_prefix("run: ") {
                run.clone_into(&mut mutation.run);
            } else if let Some(hazard) = line.strip_prefix("hazard: ") {
                let (page, test) = hazard.split_once(' ').unwrap_or((hazard, ""));
                mutation.hazards.push((page.to_owned(), test.to_owned()));
            } else if let Some(file) = line.strip_prefix("file: ") {
                mutation.files.push(PathBuf::from(file));
            }
        }
    }
    Ok(mutations)
}

/// Whether the old texts stand in these files is checked by `scripts/mutants --check`.
#[test]
fn each_mutation_is_whole_and_has_a_name_of_its_own() -> io::Result<()> {
    let mut names = BTreeSet::new();
    for Mutation { at, name, breaks, run, files, .. } in mutations("")? {
        let at = format!("{}: {name}", at.display());
        assert!(!breaks.is_empty() && run.starts_with("cargo ") && !files.is_empty(), "{at}");
        for file in files {
            assert!(top().join(&file).is_file(), "{at}: there is no {}", file.display());
        }
        assert!(names.insert(name), "{at} is there twice");
    }
    assert!(names.len() >= 390, "{} mutations", names.len());
    Ok(())
}

#[test]
fn the_evidence_counts_the_mutations_of_each_list() -> io::Result<()> {
    let page = Page::read(PathBuf::from("docs/evidence.md"))?;
    let mut counted = BTreeSet::new();
    for cells in page.rows("run against") {
        let [list, count, _] = cells.as_slice() else {
            continue;
        };
        let list = list.trim_matches('`');
        assert_eq!(*count, mutations(list)?.len().to_string(), "docs/evidence.md: {list}");
        counted.insert(list.to_owned());
    }
    for list in lists("")? {
        let name = list.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        assert!(counted.contains(&name), "docs/evidence.md does not count {}", list.display());
    }
    Ok(())
}
