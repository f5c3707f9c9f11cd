//! The release: what the workflow runs, and the order in which crates are published.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{Page, top};

const PAGE: &str = "docs/releasing.md";
const PACKAGES: [&str; 7] = [
    "zk-jute",
    "zk-session",
    "election-core",
    "election-session",
    "election-tokio",
    "zk-embedded",
    "zkelect",
];

/// Each script that a workflow runs is there.
#[test]
fn workflows_run_scripts_that_are_there() -> io::Result<()> {
    let mut run = 0;
    for name in ["ci.yml", "release.yml"] {
        let workflow = fs::read_to_string(top().join(".github/workflows").join(name))?;
        for line in workflow.lines() {
            let Some(command) = line.trim_start().strip_prefix("- run: ") else { continue };
            let script = command.split(' ').next().unwrap_or_default();
            assert!(top().join(script).is_file(), "{name}: {command}");
            run += 1;
        }
    }
    assert!(run >= 6, "{run} scripts");
    Ok(())
}

/// The page, the script and CI name the same crates in one order; the workflow is the one that the page tells of.
#[test]
fn crates_are_published_in_one_order() -> io::Result<()> {
    let page = Page::read(PathBuf::from(PAGE))?;
    let (_, steps) = page.text.split_once("9. **Publish**").unwrap_or_default();
    let script = fs::read_to_string(top().join("scripts/publish"))?;
    let ci = fs::read_to_string(top().join(".ci/run"))?;
    for (text, at) in
        [(steps, PAGE), (script.as_str(), "scripts/publish"), (ci.as_str(), ".ci/run")]
    {
        let mut from =
            if at == ".ci/run" { text.find("published=(").unwrap_or(text.len()) } else { 0 };
        for package in PACKAGES {
            let rest = text.get(from..).unwrap_or_default();
            let found = rest.find(package);
            assert!(found.is_some(), "{at}: {package} is missing, or comes too early");
            from += found.unwrap_or_default() + package.len();
        }
    }
    let workflow = fs::read_to_string(top().join(".github/workflows/release.yml"))?;
    for word in ["environment: crates-io", "vars.FIRST_RELEASE", "secrets.CARGO_REGISTRY_TOKEN"] {
        assert!(workflow.contains(word), "release.yml: {word}");
        let name = word.rsplit([' ', '.']).next().unwrap_or_default();
        assert!(page.text.contains(&format!("`{name}`")), "{PAGE}: {name}");
    }
    Ok(())
}
