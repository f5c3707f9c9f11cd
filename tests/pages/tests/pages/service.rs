//! The service that a page of the guide shows whole: the page includes the files of the package `reports` beside this
//! one, which is compiled and run by its own tests.

use std::fs;
use std::path::Path;

use zk_pages::blocks;

const FILES: [&str; 7] = [
    "src/main.rs",
    "src/ledger.rs",
    "src/web.rs",
    "src/tests.rs",
    "Containerfile",
    "reports.service",
    "kubernetes.yaml",
];
const REPOSITORY: &str = "git = \"https://github.com/zk-election/zk-election\"";

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn file(name: &str) -> String {
    fs::read_to_string(top().join("service").join(name)).expect("a file of the service")
}

fn page() -> String {
    fs::read_to_string(top().join("../../docs/guide/src/service.md")).expect("the page")
}

/// The line by which mdbook takes a file of the service into the page.
fn included(name: &str) -> String {
    format!("{{{{#include ../../../tests/pages/service/{name}}}}}\n")
}

#[test]
fn the_page_has_the_files_that_are_run() {
    let page = page();
    let blocks = blocks(&page);
    for name in FILES {
        let include = included(name);
        assert!(blocks.iter().any(|block| block.text == include), "service.md lacks {name}");
        assert!(!file(name).is_empty(), "{name}");
        // On GitHub the line stands as it is: a reader follows the link.
        let link = format!("/blob/main/tests/pages/service/{name})");
        assert!(page.contains(&link), "service.md has no link to {name}");
    }
    // The blocks that are in no file are the page's Cargo.toml, and commands.
    let others = blocks.iter().filter(|block| !FILES.iter().any(|it| block.text == included(it)));
    let others: Vec<&str> = others.map(|block| block.info.as_str()).collect();
    assert_eq!(others, ["console", "toml", "console"]);
}

/// With the repository in place of the folders that the package takes, and without what is for its test on a server.
#[test]
fn the_page_has_the_dependencies_that_it_is_compiled_with() {
    let page = page();
    let shown = blocks(&page).into_iter().find(|block| block.info == "toml").expect("a block");
    let manifest = file("Cargo.toml");
    let (_, rest) = manifest.split_once("\n\n").expect("a package, and more");
    let (kept, _) =
        rest.split_once("# Of the test on Apache ZooKeeper").expect("what is not shown");
    let kept = kept
        .replace("path = \"../../../election-tokio\"", REPOSITORY)
        .replace("path = \"../../../embedded\"", REPOSITORY);
    assert_eq!(shown.text, kept);
}

/// Returns the seconds in the first line that begins so.
fn seconds(text: &str, before: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(before));
    let number = line.expect("a line").trim_end_matches(|c: char| !c.is_ascii_digit());
    number.parse().expect("a number")
}

#[test]
fn the_service_manager_waits_for_longer_than_the_service_takes_to_end() {
    let program = file("src/main.rs");
    let bounds = ["GRACE", "RESIGNATION", "CLOSE"];
    let longest: u64 = bounds
        .map(|name| seconds(&program, &format!("const {name}: Duration = Duration::from_secs(")))
        .iter()
        .sum();
    let unit = seconds(&file("reports.service"), "TimeoutStopSec=");
    let pod = seconds(&file("kubernetes.yaml"), "terminationGracePeriodSeconds: ");
    assert!(unit > longest && pod > longest, "{unit} s and {pod} s, for {longest} s");
}
