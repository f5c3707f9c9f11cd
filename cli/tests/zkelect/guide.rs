//! The commands of the guide, as they are on its pages, on a server as they say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::served::Served;
use crate::support::text;

/// Where the server of the guide listens.
const ADDRESS: &str = "127.0.0.1:2181";

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide")
}

/// The blocks of a page that are to be run.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    page.split("```sh run\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[test]
fn the_commands_of_the_guide_do_what_it_says() {
    let server = Served::start("guide", &[]);
    let folder = Path::new(env!("CARGO_BIN_EXE_zkelect")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut run = 0;
    let pages = fs::read_dir(guide().join("src")).expect("pages");
    for page in pages.map(|entry| entry.expect("a page").path()) {
        let page = fs::read_to_string(&page).expect("a page");
        for command in commands(&page) {
            let command = command.replace(ADDRESS, server.address());
            let output = Command::new("bash")
                .args(["-euo", "pipefail", "-c", &command])
                .env("PATH", &path)
                .stdin(Stdio::null())
                .output()
                .expect("bash");
            assert!(output.status.success(), "{command}{}", text(&output.stderr));
            run += 1;
        }
    }
    assert!(run >= 2, "{run} commands");
}

#[test]
fn the_dashboard_is_json() {
    let dashboard = fs::read(guide().join("monitoring/dashboard.json")).expect("a dashboard");
    let dashboard: Value = serde_json::from_slice(&dashboard).expect("it is JSON");
    let panels = dashboard.get("panels").and_then(Value::as_array).expect("panels");
    assert!(panels.iter().all(|panel| panel.get("targets").is_some()), "{panels:?}");
}
