//! The examples of `docs/deploy`, as far as they can be run without a service manager, a cluster and images.

use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::unique_path;

use crate::run_http::http_code;
use crate::support::{Folder, output, servers, text, zkelect};

fn example(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deploy").join(name);
    let text = fs::read_to_string(&path).expect("the example");
    (path, text)
}

/// A `zkelect` of an example. Dropped: killed.
struct Service {
    child: Child,
    folder: Folder,
}

impl Service {
    /// Starts what follows the name of the program, on these servers, with a COMMAND that works on and on.
    fn start(label: &str, arguments: &[String], servers: &str, variables: &[(&str, &str)]) -> Self {
        let folder = Folder::new(label);
        let own = arguments.iter().take_while(|argument| *argument != "--");
        let own = own.map(|argument| argument.replace("zk1:2181,zk2:2181,zk3:2181", servers));
        let stderr = fs::File::create(folder.file("stderr")).expect("a file");
        let child = zkelect()
            .args(own)
            .args(["--", "sh", "-c", "while :; do sleep 0.02; done"])
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("zkelect starts");
        Self { child, folder }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.file("stderr")).unwrap_or_default()
    }

    fn wait_until_said(&self, what: &str) -> String {
        let waited = eventually(SOON, what, || self.said().contains(what));
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.said()));
        self.said()
    }

    fn terminated(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        let mut status = None;
        let waited = eventually(SOON, "it ends", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        waited.unwrap_or_else(|error| panic!("{error}\n{}", self.said()));
        status.expect("it was waited for")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the value of an option among these arguments.
fn option(arguments: &[String], name: &str) -> String {
    let at = arguments.iter().position(|argument| argument.starts_with(name)).expect(name);
    let glued = arguments[at].strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
    glued.unwrap_or_else(|| &arguments[at + 1]).to_owned()
}

/// Returns the longest time of an end: the grace, and five seconds each to let go and to end the
/// session.
fn longest_end(arguments: &[String]) -> Duration {
    humantime::parse_duration(&option(arguments, "--grace")).expect("a time")
        + Duration::from_secs(10)
}

/// Returns the value of a setting of a unit, its continued lines in one.
fn setting(unit: &str, name: &str) -> String {
    let unit = unit.replace("\\\n", " ");
    let prefix = format!("{name}=");
    let line = unit.lines().find_map(|line| line.strip_prefix(&prefix)).expect(name);
    line.trim().to_owned()
}

/// Returns the arguments behind the name of the program, with a free port.
fn arguments_of_unit(unit: &str) -> Vec<String> {
    let line = setting(unit, "ExecStart");
    let words = line.split_whitespace().skip(1).map(|word| word.replace("%H", "machine-1"));
    words.map(|word| word.replace("127.0.0.1:8080", "127.0.0.1:0")).collect()
}

#[test]
fn the_unit_of_the_example_is_started_watched_and_stopped() {
    let (_, unit) = example("reports.service");
    assert_eq!(setting(&unit, "Type"), "notify");
    let arguments = arguments_of_unit(&unit);
    let stop = humantime::parse_duration(&setting(&unit, "TimeoutStopSec")).expect("a time");
    assert!(stop > longest_end(&arguments), "SIGKILL would come before zkelect can resign");

    let name = unique_path("unit");
    let address = SocketAddr::from_abstract_name(&name).expect("an address");
    let manager = UnixDatagram::bind_addr(&address).expect("a socket");
    manager.set_read_timeout(Some(SOON)).expect("a bound");
    let watchdog = humantime::parse_duration(&setting(&unit, "WatchdogSec")).expect("a time");
    let variables = [
        ("NOTIFY_SOCKET", format!("@{name}")),
        ("WATCHDOG_USEC", watchdog.as_micros().to_string()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut service = Service::start("unit", &arguments, &servers("unit"), &variables);
    for expected in ["WATCHDOG=1", "READY=1", "STATUS=leads with token"] {
        let mut message = [0; 4096];
        loop {
            let count = manager.recv(&mut message).expect("it is told");
            if text(&message[..count]).lines().any(|line| line.starts_with(expected)) {
                break;
            }
        }
    }
    let code = service.terminated().code().expect("a code").to_string();
    assert_eq!(setting(&unit, "SuccessExitStatus"), code, "{}", service.said());
}

#[test]
fn the_unit_of_the_example_is_not_restarted_where_that_is_in_vain() {
    let (_, unit) = example("reports.service");
    let codes = setting(&unit, "RestartPreventExitStatus");
    let servers = servers("unit-codes");
    let missing = format!("{servers}/missing");
    let line = |servers: &str, command: &str| {
        let servers = format!("--servers={servers}");
        let output = output(&["run", &servers, "--election=/e", "--", command]);
        output.status.code().expect("a code").to_string()
    };
    let met = [
        line("a:x", "true"),
        line(&missing, "true"),
        line(&servers, concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
        line(&servers, "/no/such/program"),
    ];
    assert_eq!(met, ["2", "78", "126", "127"]);
    // 77 is met by `a_lack_of_permission_is_told`.
    assert_eq!(codes, "2 77 78 126 127");
}

/// Where there is systemd.
#[test]
fn systemd_finds_nothing_wrong_with_the_unit_of_the_example() {
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else {
        eprintln!("systemd-analyze is not here: the unit is not verified");
        return;
    };
    assert!(version.status.success());
    let (_, unit) = example("reports.service");
    let folder = Folder::new("unit-verify");
    let file = folder.file("reports.service");
    // It wants the programs to exist.
    let unit = unit.replace("/usr/local/bin/zkelect", "/bin/sh");
    fs::write(&file, unit).expect("it is written");
    let verified = Command::new("systemd-analyze").arg("verify").arg(&file).output();
    let verified = verified.expect("it runs");
    let said = text(&verified.stderr);
    assert!(verified.status.success() && !said.contains("reports.service"), "{said}");
}

/// Returns the value of the first line of a manifest with this key.
fn value<'a>(manifest: &'a str, key: &str) -> &'a str {
    let prefix = format!("{key}: ");
    manifest.lines().find_map(|line| line.trim_start().strip_prefix(&prefix)).expect(key)
}

#[test]
fn the_pod_of_the_example_answers_its_probes_and_ends_in_time() {
    let (_, manifest) = example("kubernetes.yaml");
    // A list in YAML's flow style is one of JSON.
    let words: Vec<String> = serde_json::from_str(value(&manifest, "command")).expect("a list");
    assert_eq!(words.first().map(String::as_str), Some("zkelect"));
    let servers = servers("pod");
    let arguments: Vec<String> = words[1..]
        .iter()
        .map(|word| word.replace("$(ZOOKEEPER)", &servers).replace("$(POD_NAME)", "reports-1"))
        .map(|word| word.replace("0.0.0.0:8080", "127.0.0.1:0"))
        .collect();
    assert!(!arguments.iter().any(|word| word.contains("$(")), "{arguments:?}");
    let grace: u64 = value(&manifest, "terminationGracePeriodSeconds").parse().expect("seconds");
    assert!(Duration::from_secs(grace) > longest_end(&arguments));

    let mut service = Service::start("pod", &arguments, &servers, &[]);
    let said = service.wait_until_said("serves http://");
    let (_, address) = said.split_once("serves http://").expect("it was said");
    let (address, _) = address.split_once('/').expect("an address");
    service.wait_until_said("is elected");
    let probes: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("httpGet: {path: "))
        .map(|rest| rest.split_once(',').expect("a port").0)
        .collect();
    assert_eq!(probes, ["/healthz", "/readyz"]);
    for path in probes {
        eventually(SOON, path, || http_code(address, path) == 200)
            .expect("it is answered with 200");
    }
    assert_eq!(service.terminated().code(), Some(143), "{}", service.said());
}

#[test]
fn the_image_of_the_example_is_built_of_what_there_is() {
    let (path, recipe) = example("Containerfile");
    let root = path.ancestors().nth(3).expect("the repository");
    assert!(root.join("Cargo.lock").exists());
    assert!(recipe.contains("RUN cargo build --locked --profile dist -p zkelect\n"));
    let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace");
    assert!(workspace.contains("[profile.dist]\n"));
    // Docker does not send the files that builds have made to the daemon that builds the image.
    let ignored = fs::read_to_string(root.join(".dockerignore")).expect("what is left out");
    assert!(["**/target", ".git"].iter().all(|path| ignored.lines().any(|line| line == *path)));
    assert!(recipe.contains("/src/target/dist/zkelect /usr/local/bin/zkelect\n"));
    let entry = recipe.lines().find_map(|line| line.strip_prefix("ENTRYPOINT "));
    let entry: Vec<String> = serde_json::from_str(entry.expect("an entry")).expect("a list");
    assert_eq!(entry, ["zkelect"]);
}
