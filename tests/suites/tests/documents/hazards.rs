//! Tables of what goes wrong, of the tests that show what happens then, and of their mutations.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::mutations::{Mutation, mutations};
use crate::{Page, functions, pages_in, test_in, top};

const MUTATIONS: &str = "tests/mutations";

/// Each hazard of a page names tests that are there; the names of mutations stand elsewhere.
#[test]
fn each_hazard_names_its_test() -> io::Result<()> {
    let tests = functions()?;
    let mut rows = 0;
    for page in pages_in("docs")? {
        let at = page.path.display();
        assert_eq!(page.rows("mutation").count(), 0, "{at}: mutations stand in {MUTATIONS}");
        for cells in page.rows("test") {
            let [_, _, named] = cells.as_slice() else {
                panic!("{at}: {cells:?}; the mutation stands in {MUTATIONS}");
            };
            for test in named.split(", ") {
                let test = test_in(test).unwrap_or_else(|| panic!("{at}: {test} is no test"));
                assert_eq!(tests.get(test), Some(&1), "{at}: tests called `{test}`");
            }
            rows += 1;
        }
    }
    assert!(rows >= 140, "{rows} hazards");
    Ok(())
}

/// Each mutation of a hazard names a row of the tables of a page by its test.
#[test]
fn each_mutation_of_a_hazard_names_its_row() -> io::Result<()> {
    let mut rows = 0;
    for Mutation { name, hazards, .. } in mutations("")? {
        for (page, test) in hazards {
            let page = Page::read(PathBuf::from(format!("docs/{page}.md")))?;
            let cell = format!("`{test}`");
            let is_there = page.rows("test").any(|row| row.last().is_some_and(|it| *it == cell));
            assert!(is_there, "{name}: {} has no hazard with {test}", page.path.display());
            rows += 1;
        }
    }
    assert!(rows >= 100, "{rows} hazards");
    Ok(())
}

/// A page that names a test for something names one that exists.
#[test]
fn what_is_shown_is_shown_by_a_test() -> io::Result<()> {
    let tests = functions()?;
    let mut shown = 0;
    for page in pages_in("docs")? {
        for cells in page.rows("shown by") {
            for test in
                cells.last().into_iter().flat_map(|cell| cell.split(' ').filter_map(test_in))
            {
                shown += 1;
                let at = page.path.display();
                assert_eq!(tests.get(test), Some(&1), "{at}: tests called `{test}`");
            }
        }
    }
    assert!(shown >= 140, "{shown} rows");
    Ok(())
}

/// The page that compares features counts those that it lists, and those of this project.
#[test]
fn compared_features_are_counted() -> io::Result<()> {
    let page = fs::read_to_string(top().join("docs/comparison.md"))?;
    let tables = Page::read(PathBuf::from("docs/comparison.md"))?;
    let here: Vec<_> = tables.rows("shown by").map(|cells| cells[4].to_owned()).collect();
    let count = |answer: &str| here.iter().filter(|cell| cell.starts_with(answer)).count();
    let (yes, part) = (count("yes"), count("part"));
    assert!(page.contains(&format!("list of these {} features", here.len())), "{}", here.len());
    assert!(page.contains(&format!("| here | {yes} ({part}) | 0 |")), "{yes} ({part})");
    assert_eq!(here.len(), yes + part + count("no"), "{here:?}");
    Ok(())
}

/// The functions on the paths of a frame and of a request are where the page says.
#[test]
fn each_step_of_a_path_is_there() -> io::Result<()> {
    let page = Page::read(PathBuf::from("ARCHITECTURE.md"))?;
    let mut steps = 0;
    for cells in page.rows("function") {
        let [.., file, function] = cells.as_slice() else {
            panic!("{cells:?}");
        };
        let (file, function) = (file.trim_matches('`'), function.trim_matches('`'));
        let source = fs::read_to_string(top().join(file))?;
        let is_there = ["(", "<"].iter().any(|end| source.contains(&format!("fn {function}{end}")));
        assert!(is_there, "{function} in {file}");
        steps += 1;
    }
    assert!(steps >= 24, "{steps} steps");
    Ok(())
}

/// Each world that checks the law has its check where the page says, and the mutations that it notices are there.
#[test]
fn each_check_of_the_law_is_there() -> io::Result<()> {
    let page = Page::read(PathBuf::from("ARCHITECTURE.md"))?;
    let mutations = mutations("")?;
    let mut worlds = 0;
    for cells in page.rows("a mutation that it notices") {
        let [_, file, mutation] = cells.as_slice() else {
            panic!("{cells:?}");
        };
        assert!(top().join(file.trim_matches('`')).is_file(), "{file}");
        let mutation = mutation.trim_matches('`');
        let is_called_so = |it: &Mutation| it.name == mutation;
        assert!(mutation == "–" || mutations.iter().any(is_called_so), "{mutation}");
        worlds += 1;
    }
    assert_eq!(worlds, 6);
    Ok(())
}
