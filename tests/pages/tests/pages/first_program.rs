//! The first program of the guide, made by the commands that its page gives, and run on a fresh server.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use zk_pages::{Block, blocks};
use zk_test_kit::zookeeper::Options;

/// The place from which the page takes the crates.
const REPOSITORY: &str = "--git https://github.com/zk-election/zk-election";

fn shell(folder: &Path, commands: &str) -> String {
    // What the workspace has built of other crates serves here, too: the same folder, lock file and profile. Of the
    // build that this test belongs to, nothing else is to be seen by cargo.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", commands])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env_remove("CARGO_MANIFEST_DIR")
        .output()
        .expect("bash");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{commands}\n{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_first_program_runs_as_its_page_says() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(top.join("docs/guide/src/first-program.md")).expect("the page");
    let blocks = blocks(&page);
    let has = |info: &str, text: &str| {
        let found = blocks.iter().find(|block| block.info == info && block.text.contains(text));
        found.map(|Block { text, .. }| text.clone()).expect("a block")
    };
    let commands: Vec<String> = has("console", "cargo new first")
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .map(|line| {
            line.replace(REPOSITORY, &format!("--path {}", top.join("election-tokio").display()))
        })
        .collect();
    assert!(commands.iter().any(|line| line.contains("--path ")), "{commands:?}");

    let folder = TempDir::new().expect("a folder");
    let (made, added) = commands.split_first().expect("`cargo new`");
    let (new, entered) = made.split_once(" && ").expect("into its folder");
    shell(folder.path(), new);
    fs::copy(top.join("Cargo.lock"), folder.path().join("first/Cargo.lock")).expect("a lock file");
    shell(folder.path(), &format!("{entered}\n{}", added.join("\n")));
    let server = Options::new().start_server().expect("a server");
    let program = has("rust,no_run", "async fn main()");
    let program = program.replace("127.0.0.1:2181", &server.connect_string());
    let crate_folder = folder.path().join("first");
    fs::write(crate_folder.join("src/main.rs"), program).expect("the program");
    let said = shell(&crate_folder, "cargo run");
    assert!(said.starts_with("leading, token "), "{said}");
    assert!(said.ends_with("step 10\n"), "{said}");
}
