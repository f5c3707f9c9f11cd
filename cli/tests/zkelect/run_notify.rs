//! The messages that `zkelect run` sends to the service manager that started it: these tests play
//! systemd.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Instant;

use rustix::process::Signal;
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::unique_path;

use crate::support::{BEATING, Errors, Folder, Plan, Run, servers};

/// Listens as a service manager does.
struct Manager {
    socket: UnixDatagram,
    variable: String,
    heard: Vec<String>,
}

impl Manager {
    /// Makes one at a path of the file system.
    fn at_path() -> Self {
        // Such paths have to be short, and the folders of tests are not.
        let path = std::env::temp_dir().join(format!("zkelect-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).expect("a socket");
        Self::new(socket, format!("NOTIFY_SOCKET={}", path.display()))
    }

    /// Makes one in the abstract namespace.
    fn abstract_one() -> Self {
        let name = unique_path("notify");
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let socket = UnixDatagram::bind_addr(&address).expect("a socket");
        Self::new(socket, format!("NOTIFY_SOCKET=@{name}"))
    }

    fn new(socket: UnixDatagram, variable: String) -> Self {
        socket.set_read_timeout(Some(SOON)).expect("a bound");
        Self { socket, variable, heard: Vec::new() }
    }

    fn run(&self, folder: &Folder, plan: &Plan<'_>, more: &[&str]) -> Run {
        let wrapper = [&["env", &self.variable], more].concat();
        Run::start_by(folder, plan, &wrapper, Errors::ToFile)
    }

    /// Waits for a line of a message that begins so, and gives the message.
    fn wait_for(&mut self, start: &str) -> String {
        let deadline = Instant::now() + SOON;
        while Instant::now() < deadline {
            let mut message = [0; 4096];
            let Ok(count) = self.socket.recv(&mut message) else { break };
            let message = String::from_utf8_lossy(&message[..count]).into_owned();
            self.heard.push(message.clone());
            if message.lines().any(|line| line.starts_with(start)) {
                return message;
            }
        }
        panic!("{start:?} was not heard, but {:?}", self.heard);
    }

    fn count(&self, line: &str) -> usize {
        self.heard.iter().flat_map(|message| message.lines()).filter(|heard| *heard == line).count()
    }
}

#[test]
fn a_service_manager_hears_when_a_nominee_stands_leads_and_ends() {
    let (folder, servers) = (Folder::new("notify"), servers("notify"));
    let mut manager = Manager::at_path();
    let plan = |id| Plan { servers: &servers, id, options: &[], script: BEATING };
    let mut leader = manager.run(&folder, &plan("a"), &[]);
    manager.wait_for("READY=1");
    manager.wait_for("STATUS=leads with token");
    leader.signal(Signal::TERM);
    let stopping = manager.wait_for("STOPPING=1");
    assert!(stopping.contains("STATUS="), "{stopping}");
    leader.ended();
    assert_eq!(manager.count("READY=1"), 1, "{:?}", manager.heard);
}

/// Of several machines, all but one follow, for as long as it goes well.
#[test]
fn a_follower_is_ready_for_a_service_manager() {
    let (folder, servers) = (Folder::new("notify-two"), servers("notify-two"));
    let plan = |id| Plan { servers: &servers, id, options: &[], script: BEATING };
    let leader = Run::start(&folder, &plan("a"));
    leader.wait_for("elected", 1);
    let mut manager = Manager::abstract_one();
    let _follower = manager.run(&folder, &plan("b"), &[]);
    let ready = manager.wait_for("READY=1");
    assert!(ready.contains("STATUS=follows "), "{ready}");
}

#[test]
fn a_nominee_without_a_server_is_not_ready_and_feeds_the_watchdog() {
    let folder = Folder::new("notify-alone");
    let mut manager = Manager::abstract_one();
    let plan = Plan { servers: "127.0.0.1:1", id: "a", options: &[], script: BEATING };
    let run = manager.run(&folder, &plan, &["WATCHDOG_USEC=200000"]);
    for _ in 0..5 {
        manager.wait_for("WATCHDOG=1");
    }
    assert_eq!(manager.count("READY=1"), 0, "{:?}", manager.heard);
    // As systemd does it to what misses its watchdog, all threads stand still.
    run.signal(Signal::STOP);
    manager.socket.set_read_timeout(Some(std::time::Duration::from_secs(1))).expect("a bound");
    while manager.socket.recv(&mut [0; 4096]).is_ok() {}
    run.signal(Signal::CONT);
    manager.socket.set_read_timeout(Some(SOON)).expect("a bound");
    manager.wait_for("WATCHDOG=1");
}

#[test]
fn a_watchdog_of_another_process_is_not_fed() {
    let (folder, servers) = (Folder::new("notify-pid"), servers("notify-pid"));
    let mut manager = Manager::abstract_one();
    let plan = Plan { servers: &servers, id: "a", options: &[], script: BEATING };
    let mut run = manager.run(&folder, &plan, &["WATCHDOG_USEC=1000", "WATCHDOG_PID=1"]);
    run.wait_for_log("beat");
    run.signal(Signal::TERM);
    manager.wait_for("STOPPING=1");
    run.ended();
    assert_eq!(manager.count("WATCHDOG=1"), 0, "{:?}", manager.heard);
}

#[test]
fn a_command_does_not_speak_for_zkelect() {
    let (folder, servers) = (Folder::new("notify-hidden"), servers("notify-hidden"));
    let manager = Manager::abstract_one();
    let script = r#"echo "sees ${NOTIFY_SOCKET-nothing} ${WATCHDOG_USEC-nothing}" >>"$LOG""#;
    let plan = Plan { servers: &servers, id: "a", options: &[], script };
    let run = manager.run(&folder, &plan, &["WATCHDOG_USEC=60000000"]);
    assert_eq!(run.wait_for_log("sees "), "nothing nothing");
}

#[test]
fn a_socket_that_cannot_be_used_is_told_and_does_no_harm() {
    let (folder, servers) = (Folder::new("notify-bad"), servers("notify-bad"));
    let plan = |id| Plan { servers: &servers, id, options: &[], script: BEATING };
    let wrapper = ["env", "NOTIFY_SOCKET=relative"];
    let run = Run::start_by(&folder, &plan("a"), &wrapper, Errors::ToFile);
    run.wait_until_said("NOTIFY_SOCKET cannot be used");
    run.wait_for("elected", 1);
    let wrapper = ["env", "NOTIFY_SOCKET=/no/such/socket"];
    let run = Run::start_by(&folder, &plan("b"), &wrapper, Errors::ToFile);
    run.wait_for("following", 1);
}
