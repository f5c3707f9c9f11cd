//! A `zkelect`, of which the test reads standard output line by line.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use zk_test_kit::wait::SOON;

use crate::support::{finished, spawned};

/// Dropped: killed.
pub(crate) struct Process {
    child: Option<Child>,
    lines: Receiver<String>,
}

impl Process {
    pub(crate) fn start(line: &[&str]) -> Self {
        let mut child = spawned(line, Stdio::null());
        let lines = lines_of(child.stdout.take().expect("it is piped"));
        Self { child: Some(child), lines }
    }

    pub(crate) fn next(&self) -> String {
        self.lines.recv_timeout(SOON).expect("a line")
    }

    pub(crate) fn next_json(&self) -> Value {
        serde_json::from_str(&self.next()).expect("JSON")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("it runs");
    }

    pub(crate) fn ended(mut self) -> Output {
        finished(self.child.take().expect("it runs"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
