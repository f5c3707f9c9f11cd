//! A `zkelect server` at work.

use std::fs::{self, File};
use std::process::{Child, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::wait::{SOON, eventually};

use crate::support::{Folder, zkelect};

/// Dropped: killed.
pub(crate) struct Served {
    child: Child,
    folder: Folder,
    address: String,
}

impl Served {
    /// Starts on a free port of 127.0.0.1.
    pub(crate) fn start(label: &str, options: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", label, options)
    }

    /// Starts, and waits until it says where it listens.
    pub(crate) fn start_at(listen: &str, label: &str, options: &[&str]) -> Self {
        let folder = Folder::new(label);
        let file = |name| File::create(folder.file(name)).expect("a file");
        let child = zkelect()
            .args(["server", "--listen", listen])
            .args(options)
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("zkelect starts");
        let mut served = Self { child, folder, address: String::new() };
        let waited = eventually(SOON, "it listens", || served.stdout().ends_with('\n'));
        waited.unwrap_or_else(|error| panic!("{error}\n{}", served.stderr()));
        let stdout = served.stdout();
        let address = stdout.strip_prefix("listening on ").expect("where").trim_end();
        served.address = address.to_owned();
        served
    }

    /// Returns the address where it listens, which is also a connect string.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(self.folder.file("stdout")).unwrap_or_default()
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.folder.file("stderr")).unwrap_or_default()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        let waited = eventually(SOON, "the server ends", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.stderr()));
        status.expect("it was waited for")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
