//! The commands of README, guide and the command line's page, as they stand there, on a fresh server.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use zk_pages::blocks;
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::{Options, Server};

use crate::support::{Folder, command};

/// How the pages write the servers.
const SERVERS: [&str; 4] =
    ["zk1:2181,zk2:2181,zk3:2181", "zk1:2181,zk2:2181", "zk1:2181", "127.0.0.1:2181"];
/// Commands that are run elsewhere: by CI as they stand, or by the tests of the guide's programs.
const ELSEWHERE: [&str; 6] = [
    "./demo",
    "./test",
    "git clone ",
    "cargo ",
    // The guide's service: `tests/pages/service`.
    "ZOOKEEPER=127.0.0.1:2181 NAME=a ",
    "curl -fs http://127.0.0.1:8081/leader",
];
/// The programs that zkelect runs on the pages.
const PROGRAMS: [&str; 8] = [
    "backup",
    "backup.sh",
    "compute-step",
    "convert",
    "do-job",
    "make-reports",
    "nightly.sh",
    "serve",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the lines to type in the blocks of a page; those of other files, as in `toml`, are none.
fn lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks(page) {
        let typed: fn(&str) -> Option<&str> = match block.info.as_str() {
            "sh" => |line| Some(line),
            "console" => |line| line.strip_prefix("$ "),
            _ => continue,
        };
        let typed = block.text.lines().filter_map(typed).map(str::trim);
        let command = |line: &&str| !line.is_empty() && !line.starts_with('#');
        lines.extend(typed.filter(command).map(str::to_owned));
    }
    lines
}

/// A fresh server, and a folder with the programs that zkelect is to run.
struct Stage {
    server: Server,
    folder: Folder,
    /// The lines that have been started: each has a file for its output.
    started: Cell<usize>,
}

impl Stage {
    fn new(label: &str) -> Self {
        let folder = Folder::new(label);
        for program in PROGRAMS {
            let file = folder.file(program);
            fs::write(&file, "#!/bin/sh\ntrue\n").expect("a program");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it may be run");
        }
        let server = Options::new().start_server().expect("a server");
        Self { server, folder, started: Cell::new(0) }
    }

    /// Starts a line by bash, with these servers in place of the page's.
    fn start(&self, line: &str) -> Typed {
        let servers = self.server.connect_string();
        let line = SERVERS.iter().fold(line.to_owned(), |line, name| line.replace(name, &servers));
        let zkelect = Path::new(env!("CARGO_BIN_EXE_zkelect")).parent().expect("a folder");
        let path = format!("{}:{}", zkelect.display(), std::env::var("PATH").unwrap_or_default());
        let output = self.folder.file(&format!("output-{}", self.started.get()));
        self.started.set(self.started.get() + 1);
        let file = File::create(&output).expect("a file");
        let child = command(&["bash"])
            .args(["-euo", "pipefail", "-c", &format!("exec {line}")])
            .current_dir(output.parent().expect("a folder"))
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file"))
            .stderr(file)
            .spawn()
            .expect("bash");
        Typed { line, child, output }
    }

    /// Runs a line as its reader would: to its end, or until it says something and Ctrl-C ends it.
    fn run(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["zkelect", "server", ..] => {
                // Its port may be taken here.
                self.start("zkelect server --listen 127.0.0.1:0").speaks().interrupted();
            }
            ["zkelect", "watch", ..] | ["zkelect", "members", "join" | "watch", ..] => {
                self.start(line).speaks().interrupted();
            }
            ["zkelect", "barrier", "enter", "-n", "3", ..] => {
                let three = [(); 3].map(|()| self.start(line));
                three.into_iter().for_each(Typed::succeeds);
            }
            ["zkelect", "queue", "claim", ..] => {
                self.start("zkelect queue put --servers zk1:2181 /app/jobs job").succeeds();
                self.start(line).succeeds();
            }
            ["zkelect", "step-down" | "hand-over", ..] => {
                let stand = |id| {
                    let election = "--servers zk1:2181 --election /reports/leader";
                    self.start(&format!("zkelect run {election} --id {id} -- sleep 600"))
                };
                let nominees = ["host-a-1234", "host-c-1234"].map(|id| {
                    let nominee = stand(id);
                    let list = "zkelect list --servers zk1:2181 --election /reports/leader";
                    let stands = || self.start(list).output_of_success().contains(id);
                    eventually(SOON, "it stands", stands).expect("it stands");
                    nominee
                });
                self.start(line).succeeds();
                nominees.into_iter().for_each(Typed::interrupted);
            }
            ["zkelect", ..] => self.start(line).succeeds(),
            _ => assert!(ELSEWHERE.iter().any(|known| line.starts_with(known)), "{line}: run it"),
        }
    }
}

/// A line at work. Dropped: killed.
struct Typed {
    line: String,
    child: Child,
    output: PathBuf,
}

impl Typed {
    fn output(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// Waits until it says something.
    fn speaks(self) -> Self {
        let spoken = eventually(SOON, "it says something", || !self.output().is_empty());
        spoken.unwrap_or_else(|error| panic!("{}: {error}", self.line));
        self
    }

    fn end(&mut self) -> ExitStatus {
        let mut status = None;
        let ended = eventually(SOON, "it ends", || {
            status = self.child.try_wait().expect("its status");
            status.is_some()
        });
        ended.unwrap_or_else(|error| panic!("{}: {error}\n{}", self.line, self.output()));
        status.expect("it has ended")
    }

    fn output_of_success(mut self) -> String {
        let status = self.end();
        assert!(status.success(), "{}: {status}\n{}", self.line, self.output());
        self.output()
    }

    fn succeeds(self) {
        self.output_of_success();
    }

    /// Presses Ctrl-C.
    fn interrupted(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
        let status = self.end();
        // 130: what it ran was ended by the interrupt.
        assert!(
            matches!(status.code(), Some(0 | 130)),
            "{}: {status}\n{}",
            self.line,
            self.output()
        );
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs all commands of a page, and says how many of zkelect there were.
fn run_page(page: &Path) -> usize {
    let lines = lines(&fs::read_to_string(page).expect("a page"));
    let zkelect = lines.iter().filter(|line| line.starts_with("zkelect ")).count();
    if zkelect > 0 {
        let stage = Stage::new("page");
        for line in &lines {
            stage.run(line);
        }
    }
    zkelect
}

#[test]
fn the_commands_of_the_first_page_do_what_it_says() {
    assert!(run_page(&top().join("README.md")) >= 5);
}

#[test]
fn the_commands_of_the_guide_do_what_it_says() {
    let pages = fs::read_dir(top().join("docs/guide/src")).expect("pages");
    let run: usize = pages.map(|entry| run_page(&entry.expect("a page").path())).sum();
    assert!(run >= 4, "{run} commands");
}

#[test]
fn the_commands_of_the_page_on_jobs_do_what_it_says() {
    assert_eq!(run_page(&top().join("docs/once.md")), 1);
}

/// The first block of its page, which shows each subcommand.
#[test]
fn the_commands_that_the_command_line_begins_with_do_what_it_says() {
    let page = fs::read_to_string(top().join("cli/README.md")).expect("a page");
    let (first, _) = page.split_once("\n```\n").expect("a block");
    let lines = lines(&format!("{first}\n```\n"));
    assert!(lines.len() >= 12, "{lines:?}");
    let stage = Stage::new("page");
    for line in &lines {
        stage.run(line);
    }
}

#[test]
fn the_dashboard_is_json() {
    let dashboard = fs::read(top().join("docs/guide/monitoring/dashboard.json"));
    let dashboard: Value =
        serde_json::from_slice(&dashboard.expect("a dashboard")).expect("it is JSON");
    let panels = dashboard.get("panels").and_then(Value::as_array).expect("panels");
    assert!(panels.iter().all(|panel| panel.get("targets").is_some()), "{panels:?}");
}
