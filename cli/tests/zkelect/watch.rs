//! `zkelect watch`.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use election_tokio::{Client, CreateMode};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::wait::{SOON, eventually};

use crate::process::Process;
use crate::served::Served;
use crate::support::{ELECTION, finished, output, servers, text, zkelect};
use crate::terminal::is_fit;

fn line<'a>(servers: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["watch", "--servers", servers, "--election", ELECTION], options].concat()
}

/// Returns the next line of this kind, and passes over those with the number of candidates.
fn next(watch: &Process, event: &str) -> Value {
    loop {
        let line = watch.next_json();
        assert_eq!(line["election"], ELECTION, "{line}");
        assert!(line["at"].is_string(), "{line}");
        if line["event"] == event {
            return line;
        }
        assert_eq!(line["event"], "candidates", "{line}, and not {event}");
    }
}

async fn client(servers: &str) -> Client {
    Client::builder(servers).connect().await.expect("a session")
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_that_come_and_go_are_told_of_in_a_pipe() {
    let served = Served::start("watch", &[]);
    for servers in [served.address().to_owned(), servers("watch")] {
        let watch = Process::start(&line(&servers, &["--interval", "50ms"]));
        next(&watch, "vacant");
        let client = client(&servers).await;
        let election = client.election(ELECTION);
        let mut first = election.clone().data("host-a").nominate().expect("a nomination");
        let leadership = first.elected().await.expect("it is elected");
        let told = next(&watch, "leader");
        assert_eq!(told["token"], leadership.token().get());
        assert_eq!((&told["id"], &told["data"]), (&"host-a".into(), &"host-a".into()));
        assert_eq!(told["znode"], leadership.candidate().to_string());
        assert_eq!(told["ready"], false);
        assert!(told["since"].is_string() && told["since_before"].is_null(), "{told}");
        leadership.acknowledge(b"10.0.0.5:80").await.expect("it is told");
        let told = next(&watch, "leader");
        assert_eq!((&told["ready"], &told["says"]), (&true.into(), &"10.0.0.5:80".into()));

        let _second = election.clone().data(&b"\xff"[..]).nominate().expect("a nomination");
        while next(&watch, "candidates")["candidates"] != 2 {}
        let late = Process::start(&line(&servers, &["--interval", "0s"]));
        assert!(next(&late, "leader")["since_before"].is_string());
        leadership.resign().await.expect("it resigns");
        let told = next(&watch, "leader");
        assert_eq!((&told["data_hex"], &told["id"]), (&"ff".into(), &Value::Null));
        assert_eq!(next(&late, "leader")["data_hex"], "ff");
        for (watch, signal) in [(watch, Signal::TERM), (late, Signal::INT)] {
            watch.signal(signal);
            let ended = watch.ended();
            assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_told_and_what_follows_is_up_to_date() {
    let server = Served::start("watch-gap", &[]);
    let proxy = Proxy::to(server.address().parse().expect("an address")).expect("a proxy");
    let by_proxy = proxy.connect_string();
    let watch = Process::start(&line(&by_proxy, &[]));
    next(&watch, "vacant");
    proxy.refuse();
    proxy.cut();
    next(&watch, "disconnected");
    let client = client(server.address()).await;
    let mut nomination = client.election(ELECTION).nominate().expect("a nomination");
    let leadership = nomination.elected().await.expect("it is elected");
    proxy.accept().expect("it listens");
    next(&watch, "connected");
    assert_eq!(next(&watch, "leader")["token"], leadership.token().get());
}

#[test]
fn a_chroot_that_does_not_exist_ends_it() {
    let server = Served::start("watch-chroot", &[]);
    let nowhere = format!("{}/nowhere", server.address());
    let ended = output(&line(&nowhere, &[]));
    assert_eq!(ended.status.code(), Some(78), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("create /nowhere"), "{}", text(&ended.stderr));
}

/// A terminal with `zkelect` on it. Dropped: killed.
pub(crate) struct Terminal {
    child: Option<Child>,
    shown: Arc<Mutex<Vec<u8>>>,
    /// Ends when the program has closed the terminal and all that it wrote is in `shown`.
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    pub(crate) fn start(line: &[&str], environment: &[(&str, &str)]) -> Self {
        // Not for the programs that other tests start meanwhile: the terminal ends with this one.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).expect("a terminal");
        grantpt(&terminal).expect("it is ours");
        unlockpt(&terminal).expect("it is ours");
        let size = Winsize { ws_row: 24, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("a size");
        let name = ptsname(&terminal, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let end = open(name.as_c_str(), flags, Mode::empty());
        let end: OwnedFd = end.expect("the other end");
        let mut command: Command = zkelect();
        command.args(line).env("TERM", "xterm").env_remove("NO_COLOR");
        command.envs(environment.iter().copied());
        let child = command.stdin(Stdio::null()).stdout(end).stderr(Stdio::piped()).spawn();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&shown);
        let reader = thread::spawn(move || {
            let (mut terminal, mut bytes) = (File::from(terminal), [0; 4096]);
            while let Ok(count @ 1..) = terminal.read(&mut bytes) {
                sink.lock().expect("no panic").extend_from_slice(&bytes[..count]);
            }
        });
        // The command has the other end open, too.
        drop(command);
        Self { child: Some(child.expect("zkelect starts")), shown, reader: Some(reader) }
    }

    /// Returns what has come, but for a character of which half has.
    fn all(&self) -> String {
        let shown = self.shown.lock().expect("no panic");
        match str::from_utf8(&shown) {
            Ok(all) => all.to_owned(),
            Err(error) => {
                assert!(error.error_len().is_none(), "UTF-8: {error}");
                String::from_utf8_lossy(&shown[..error.valid_up_to()]).into_owned()
            }
        }
    }

    /// Returns the screen as a terminal shows it now.
    fn screen(&self) -> String {
        let all = self.all();
        let drawings = all.rsplit("\x1b[J").next().unwrap_or_default();
        let mut text = String::new();
        let mut rest = drawings;
        while let Some(at) = rest.find('\x1b') {
            text.push_str(&rest[..at]);
            let end = rest[at..]
                .find(|c: char| c.is_ascii_alphabetic())
                .map_or(rest.len(), |end| at + end + 1);
            rest = &rest[end..];
        }
        (text + rest).replace('\r', "")
    }

    fn wait_for(&self, shown: &str) -> String {
        let mut screen = String::new();
        let waited = eventually(SOON, shown, || {
            screen = self.screen();
            screen.contains(shown)
        });
        waited.unwrap_or_else(|error| panic!("{error}\n{screen}"));
        // The one that was found: the next may be half drawn.
        screen
    }

    /// Waits for the end, and returns all that was shown.
    pub(crate) fn ended(mut self) -> String {
        let ended = finished(self.child.take().expect("it runs"));
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        self.reader.take().expect("it reads").join().expect("no panic");
        self.all()
    }

    fn end(mut self) -> String {
        let child = self.child.take().expect("it runs");
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let ended = finished(child);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        self.reader.take().expect("it reads").join().expect("no panic");
        self.all()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_a_table_that_is_drawn_over() {
    let server = Served::start("watch-terminal", &[]);
    let servers = server.address();
    let options = line(servers, &["--interval", "100ms"]);
    let in_colour = Terminal::start(&options, &[]);
    let plain = Terminal::start(&options, &[("NO_COLOR", "1")]);
    for terminal in [&in_colour, &plain] {
        terminal.wait_for("leader      none: no candidate stands\n");
    }
    let client = client(servers).await;
    client.create(ELECTION, "", CreateMode::Persistent).await.expect("it is created");
    let long = "z".repeat(200);
    for data in ["a\u{202e}b", &long, "c"] {
        let name = format!("{ELECTION}/x-latch-");
        let mode = CreateMode::EphemeralSequential;
        client.create(&name, data.to_owned(), mode).await.expect("it is created");
    }
    for terminal in [&in_colour, &plain] {
        let screen = terminal.wait_for("candidates  3\n");
        assert!(screen.contains("leader      a\\u{202e}b\n"), "{screen}");
        assert!(screen.contains("ready       not yet\n"), "{screen}");
        assert!(screen.starts_with("/leader\n"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 60), "{screen}");
        assert!(is_fit(&screen), "{screen:?}");
    }
    assert!(in_colour.end().contains("\x1b[32m"));
    let plain = plain.end();
    assert!(!plain.contains("\x1b[32m") && !plain.contains("\x1b[1m"), "{plain:?}");
    // Each drawing goes over the one before: as many lines up as that had.
    let heights: Vec<usize> =
        plain.split("\x1b[J").skip(1).map(|drawn| drawn.matches('\n').count()).collect();
    let ups = plain.split("\x1b[").skip(1).filter_map(|code| {
        let (number, _) = code.split_once('A')?;
        number.parse::<usize>().ok()
    });
    assert_eq!(ups.collect::<Vec<_>>(), heights[..heights.len() - 1], "{plain:?}");

    let json = Terminal::start(&line(servers, &["--json"]), &[]);
    eventually(SOON, "JSON", || json.all().contains(r#""event":"leader""#)).expect("JSON");
}
