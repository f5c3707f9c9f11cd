//! Running `zkelect`, and looking at what it leaves.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Counters, Proxy};
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::{shared, unique_path};

pub(crate) fn zkelect() -> Command {
    command(&[env!("CARGO_BIN_EXE_zkelect")])
}

/// Returns a program with its first arguments, and every signal as it is by default: `nohup`, or a shell that starts
/// the tests in the background, has them ignore signals that are to end what they start.
pub(crate) fn command(line: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").args(line);
    command
}

/// Returns whether a line of `check` warns of the release, as it does of Debian's 3.8.0.
pub(crate) fn is_of_release(line: &str) -> bool {
    line.starts_with("warning  durability ") || line.trim_start().starts_with("go to 3.8.5, or to ")
}

/// Returns the shared server, with a chroot of the test's own.
pub(crate) fn servers(label: &str) -> String {
    let server = shared().expect("a server");
    let chroot = server.fresh_chroot(label).expect("a chroot");
    format!("{}{chroot}", server.connect_string())
}

/// Starts a proxy that counts a process's requests to these servers; returns it, and its connect
/// string.
pub(crate) fn observed(servers: &str) -> (Proxy, String) {
    let (address, chroot) = servers.find('/').map_or((servers, ""), |at| servers.split_at(at));
    let proxy = Proxy::to(address.parse().expect("an address")).expect("a proxy");
    let by_proxy = format!("{}{chroot}", proxy.connect_string());
    (proxy, by_proxy)
}

/// Waits until so many requests with these opcodes were answered on this way.
pub(crate) fn wait_for_replies(proxy: &Proxy, opcodes: &[Opcode], count: u64) {
    let replies = |counters: &Counters| opcodes.iter().map(|of| counters.replies(*of)).sum::<u64>();
    proxy.wait_for(SOON, "it has asked", |counters| replies(counters) >= count).expect("it asks");
}

/// How servers are asked for children.
pub(crate) const LISTS: &[Opcode] = &[Opcode::GET_CHILDREN, Opcode::GET_CHILDREN2];

/// Runs `zkelect` to its end.
pub(crate) fn output(arguments: &[&str]) -> Output {
    zkelect().args(arguments).stdin(Stdio::null()).output().expect("zkelect runs")
}

/// Runs `zkelect` to its end, with this on standard input.
pub(crate) fn output_of(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = spawned(arguments, Stdio::piped());
    child.stdin.take().expect("it is piped").write_all(input).expect("it is read");
    finished(child)
}

/// Starts `zkelect`, for [`finished`].
pub(crate) fn spawned(arguments: &[&str], input: Stdio) -> Child {
    let mut line = zkelect();
    line.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    line.spawn().expect("zkelect starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An empty folder, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(label: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique_path(label).trim_start_matches('/'));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The setting of a test: its servers, and the command that it runs.
pub(crate) struct Plan<'a> {
    pub(crate) servers: &'a str,
    pub(crate) id: &'a str,
    /// Further options of the subcommand.
    pub(crate) options: &'a [&'a str],
    /// A shell script; `$LOG` is the file of [`Run::log`], shared by all runs in a folder.
    pub(crate) script: &'a str,
}

/// Where standard error goes.
pub(crate) enum Errors {
    /// For [`Run::said`].
    ToFile,
    To(Stdio),
}

/// The kind of process that has a COMMAND.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subcommand {
    /// At [`ELECTION`].
    Run,
    /// At [`LOCK`].
    Lock,
    /// At [`SEMAPHORE`], with two permits.
    Semaphore,
    /// At [`BARRIER`], for two.
    Enter,
    /// At [`QUEUE`].
    Claim,
}

pub(crate) const ELECTION: &str = "/leader";
pub(crate) const LOCK: &str = "/lock";
pub(crate) const SEMAPHORE: &str = "/semaphore";
pub(crate) const BARRIER: &str = "/barrier";
pub(crate) const QUEUE: &str = "/queue";

/// A `zkelect run`, or another subcommand with a COMMAND, at work. Dropped: killed, and what it runs with
/// it.
pub(crate) struct Run {
    child: Child,
    events: PathBuf,
    log: PathBuf,
    stderr: PathBuf,
}

impl Run {
    pub(crate) fn start(folder: &Folder, plan: &Plan<'_>) -> Self {
        Self::start_by(folder, plan, &[], Errors::ToFile)
    }

    /// Starts `zkelect lock`.
    pub(crate) fn lock(folder: &Folder, plan: &Plan<'_>) -> Self {
        Self::start_subcommand(folder, plan, Subcommand::Lock, &[], Errors::ToFile)
    }

    /// Starts `zkelect semaphore`.
    pub(crate) fn semaphore(folder: &Folder, plan: &Plan<'_>) -> Self {
        Self::start_subcommand(folder, plan, Subcommand::Semaphore, &[], Errors::ToFile)
    }

    /// Starts `zkelect barrier enter`.
    pub(crate) fn enter(folder: &Folder, plan: &Plan<'_>) -> Self {
        Self::start_subcommand(folder, plan, Subcommand::Enter, &[], Errors::ToFile)
    }

    /// Starts `zkelect queue claim`.
    pub(crate) fn claim(folder: &Folder, plan: &Plan<'_>) -> Self {
        Self::start_subcommand(folder, plan, Subcommand::Claim, &[], Errors::ToFile)
    }

    /// Starts by a program and its arguments, which are to end with `exec "$@"` or the like.
    pub(crate) fn start_by(
        folder: &Folder,
        plan: &Plan<'_>,
        wrapper: &[&str],
        errors: Errors,
    ) -> Self {
        Self::start_subcommand(folder, plan, Subcommand::Run, wrapper, errors)
    }

    pub(crate) fn start_subcommand(
        folder: &Folder,
        plan: &Plan<'_>,
        subcommand: Subcommand,
        wrapper: &[&str],
        errors: Errors,
    ) -> Self {
        let subcommand = match subcommand {
            Subcommand::Run => ["run", "--election", ELECTION].as_slice(),
            Subcommand::Lock => &["lock", LOCK],
            Subcommand::Semaphore => &["semaphore", "-n", "2", SEMAPHORE],
            Subcommand::Enter => &["barrier", "enter", "-n", "2", BARRIER],
            Subcommand::Claim => &["queue", "claim", QUEUE],
        };
        let events = folder.file(&format!("{}.events", plan.id));
        let stderr = folder.file(&format!("{}.stderr", plan.id));
        let log = folder.file("log");
        let line = [wrapper, &[env!("CARGO_BIN_EXE_zkelect")]].concat();
        let child = command(&line)
            .args(subcommand)
            .args(["--servers", plan.servers, "--id", plan.id, "--events"])
            .arg(&events)
            .args(plan.options)
            .args(["--", "sh", "-c", plan.script])
            .env("LOG", &log)
            .stdin(Stdio::null())
            // A command that survives must not keep the output of the tests open.
            .stdout(Stdio::null())
            .stderr(match errors {
                Errors::ToFile => fs::File::create(&stderr).expect("a file").into(),
                Errors::To(other) => other,
            })
            .spawn()
            .expect("zkelect starts");
        Self { child, events, log, stderr }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        lines(&self.events).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.events()
            .iter()
            .map(|event| event["event"].as_str().expect("a name").to_owned())
            .collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|event| *event == name).count()
    }

    /// Returns the latest event of this name.
    pub(crate) fn event(&self, name: &str) -> Option<Value> {
        let events = self.events();
        events.into_iter().rfind(|event| event["event"] == name)
    }

    /// Waits until there are `count` events of this name and gives the latest.
    pub(crate) fn wait_for(&self, name: &str, count: usize) -> Value {
        let waited = eventually(SOON, name, || self.count(name) >= count);
        let event = self.event(name).filter(|_| waited.is_ok());
        event.unwrap_or_else(|| panic!("no {name}: {:?}\n{}", self.events(), self.said()))
    }

    pub(crate) fn log(&self) -> Vec<String> {
        lines(&self.log)
    }

    /// Waits for a line of the log that begins so, and gives the rest of it.
    pub(crate) fn wait_for_log(&self, start: &str) -> String {
        self.wait_for_logs(start, 1).remove(0)
    }

    /// Waits for `count` lines of the log that begin so, and gives the rest of each.
    pub(crate) fn wait_for_logs(&self, start: &str, count: usize) -> Vec<String> {
        let found = || -> Vec<String> {
            let log = self.log();
            let rest = log.iter().filter_map(|line| line.strip_prefix(start));
            rest.map(|rest| rest.trim().to_owned()).collect()
        };
        let waited = eventually(SOON, start, || found().len() >= count);
        waited.unwrap_or_else(|error| panic!("{error}\n{:?}\n{}", self.log(), self.said()));
        found()
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    pub(crate) fn wait_until_said(&self, text: &str) {
        let waited = eventually(SOON, text, || self.said().contains(text));
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.said()));
    }

    /// Waits for the end of `zkelect`.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        let waited = eventually(SOON, "zkelect ends", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.said()));
        status.expect("it was waited for")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // The last line may be half written.
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().map(str::to_owned).collect()
}

/// Returns the time of an event, since the epoch.
pub(crate) fn at(event: &Value) -> Duration {
    let at = event["at"].as_str().expect("a time");
    let at = humantime::parse_rfc3339(at).expect("RFC 3339");
    at.duration_since(UNIX_EPOCH).expect("after 1970")
}

pub(crate) fn token(event: &Value) -> i64 {
    event["token"].as_i64().expect("a token")
}

pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}

/// A command that says all the time, with its token and the time in nanoseconds, that it works.
pub(crate) const BEATING: &str = r#"
    while :; do echo "beat $ZKELECT_TOKEN $(date +%s%N)" >>"$LOG"; sleep 0.02; done
"#;

/// Returns the token and the time of each beat, as they came in.
pub(crate) fn beats(log: &[String]) -> Vec<(i64, Duration)> {
    log.iter()
        .filter_map(|line| {
            let (token, time) = line.strip_prefix("beat ")?.split_once(' ')?;
            let time = Duration::from_nanos(time.parse().ok()?);
            Some((token.parse().ok()?, time))
        })
        .collect()
}

/// Asserts that no command works after one with a greater token.
pub(crate) fn assert_one_at_a_time(log: &[String]) {
    let beats = beats(log);
    assert!(beats.windows(2).all(|pair| pair[0].0 <= pair[1].0), "two worked at once: {beats:?}");
}

/// Whether a process does anything: a zombie does not.
pub(crate) fn is_alive(pid: &str) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with(['Z', 'X'])),
        Err(_) => false,
    }
}

/// Processes that are not to outlive a test, also not one that fails.
pub(crate) struct Mortals(pub(crate) Vec<String>);

impl Drop for Mortals {
    fn drop(&mut self) {
        for pid in self.0.iter().filter(|pid| is_alive(pid)) {
            if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Waits for the end of a process, which is not a child of this one.
pub(crate) fn wait_for_end(pid: &str) {
    eventually(SOON, &format!("process {pid} is gone"), || !is_alive(pid)).expect("it is gone");
}

/// Returns the guard of a `zkelect run`: its only child.
pub(crate) fn guard_of(run: &Run) -> Pid {
    let pid = run.pid().as_raw_pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.expect("the kernel lists children");
    let guard = children.trim().parse().expect("one child");
    Pid::from_raw(guard).expect("no zero")
}

/// Ends `child` if it does not end by itself soon.
pub(crate) fn finished(mut child: Child) -> Output {
    let deadline = Instant::now() + SOON * 2;
    while child.try_wait().expect("it can be waited for").is_none() {
        if Instant::now() >= deadline {
            let _ = child.kill();
            panic!("it does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended")
}

/// Writes a file at once, for tests that need one to exist.
pub(crate) fn touch(path: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?;
    Ok(())
}
