//! How `zkelect run` is, over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::wait::{SOON, eventually};

use crate::support::{BEATING, Folder, Plan, Run, observed, output, servers, text, token};

const HTTP: &str = "--http=127.0.0.1:0";

pub(crate) struct Answer {
    pub(crate) code: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Returns the address where it answers.
fn address(run: &Run) -> String {
    run.wait_until_said("serves http://");
    let said = run.said();
    let (_, rest) = said.split_once("serves http://").expect("it was said");
    rest.split_once('/').expect("an address").0.to_owned()
}

fn request(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(SOON)).expect("a bound");
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a code");
    Answer { code, head: head.to_owned(), body: body.to_owned() }
}

/// Returns the code of the answer to a request for this path.
pub(crate) fn http_code(address: &str, path: &str) -> u16 {
    request(address, &format!("GET {path} HTTP/1.1\r\nHost: zkelect\r\n\r\n")).code
}

pub(crate) fn get(run: &Run, path: &str) -> Answer {
    request(&address(run), &format!("GET {path} HTTP/1.1\r\nHost: zkelect\r\n\r\n"))
}

/// Waits until this is answered so.
pub(crate) fn wait_for_code(run: &Run, path: &str, code: u16) -> Answer {
    let mut last = get(run, path);
    let waited = eventually(SOON, &format!("{path} is answered with {code}"), || {
        last = get(run, path);
        last.code == code
    });
    waited.unwrap_or_else(|error| {
        panic!("{error}, but {}: {}\n{}", last.code, last.body, run.said())
    });
    last
}

#[test]
fn each_nominee_tells_who_leads() {
    let (folder, servers) = (Folder::new("http-leader"), servers("http-leader"));
    let options = [HTTP, "--session-timeout", "6s"];
    let plan = |id| Plan { servers: &servers, id, options: &options, script: BEATING };
    let leader = Run::start(&folder, &plan("a"));
    let elected = leader.wait_for("elected", 1);
    let follower = Run::start(&folder, &plan("b"));
    follower.wait_for("following", 1);
    for (run, me) in [(&leader, true), (&follower, false)] {
        let said = wait_for_code(run, "/leader", 200).json();
        assert_eq!((&said["election"], &said["id"]), (&"/leader".into(), &"a".into()), "{said}");
        assert_eq!(said["candidate"], elected["candidate"], "{said}");
        assert_eq!(token(&said), token(&elected), "{said}");
        assert_eq!((&said["me"], &said["connected"]), (&me.into(), &true.into()), "{said}");
        assert!(humantime::parse_rfc3339(said["since"].as_str().expect("a time")).is_ok());
    }
    wait_for_code(&leader, "/leading", 200);
    assert_eq!(get(&follower, "/leading").code, 503);
    wait_for_code(&follower, "/readyz", 200);

    leader.signal(Signal::KILL);
    let elected = follower.wait_for("elected", 1);
    wait_for_code(&follower, "/leading", 200);
    eventually(SOON, "the new leader is told", || {
        let said = get(&follower, "/leader");
        said.code == 200 && token(&said.json()) == token(&elected)
    })
    .expect("it is told");
    assert_eq!(get(&follower, "/leader").json()["me"], true);
}

#[test]
fn a_leader_is_ready_once_its_command_says_so() {
    let (folder, servers) = (Folder::new("http-ready"), servers("http-ready"));
    let (proxy, by_proxy) = observed(&servers);
    let script =
        r#"trap 'echo 10.0.0.5:8080 >&3' USR1; echo up >>"$LOG"; while :; do sleep 0.02; done"#;
    let options = [HTTP, "--ready-fd", "3", "--session-timeout", "20s"];
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("up");
    let unready = wait_for_code(&run, "/readyz", 503);
    assert!(unready.body.contains("has not said yet"), "{}", unready.body);
    assert_eq!(get(&run, "/leading").code, 503);
    assert_eq!(wait_for_code(&run, "/leader", 200).json()["acknowledged"], false);
    run.signal(Signal::USR1);
    wait_for_code(&run, "/readyz", 200);
    wait_for_code(&run, "/leading", 200);
    eventually(SOON, "it is seen", || get(&run, "/leader").json()["says"] == "10.0.0.5:8080")
        .expect("it is seen");
    // It may be the leader still, and has no way to know.
    proxy.refuse();
    proxy.cut();
    wait_for_code(&run, "/readyz", 503);
    assert_eq!(get(&run, "/leading").code, 503);
    assert_eq!(get(&run, "/leader").json()["connected"], false);
    assert_eq!(get(&run, "/healthz").code, 200, "another process would be no better off");
}

#[test]
fn without_a_server_it_is_healthy_and_not_ready() {
    let folder = Folder::new("http-alone");
    let plan = Plan { servers: "127.0.0.1:1", id: "a", options: &[HTTP], script: BEATING };
    let run = Run::start(&folder, &plan);
    assert_eq!(get(&run, "/healthz").code, 200);
    let unready = get(&run, "/readyz");
    assert_eq!(unready.code, 503);
    assert!(unready.body.contains("no connection that serves"), "{}", unready.body);
    let leader = get(&run, "/leader");
    assert_eq!((leader.code, &leader.json()["connected"]), (503, &false.into()));
}

#[test]
fn measurements_are_there_for_prometheus() {
    let (folder, servers) = (Folder::new("http-metrics"), servers("http-metrics"));
    let plan = Plan { servers: &servers, id: "a", options: &[HTTP], script: BEATING };
    let run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    let measured = wait_for_code(&run, "/metrics", 200);
    assert!(measured.head.to_ascii_lowercase().contains("content-type: text/plain; version=0.0.4"));
    for line in [
        "zk_election_leading 1",
        "zk_election_elected_total 1",
        r#"zk_client_connections{state="connected"} 1"#,
        "# HELP zk_election_elected_total Leaderships that began",
        "# TYPE zk_client_request_duration_seconds histogram",
    ] {
        assert!(measured.body.contains(line), "{line:?} is not in: {}", measured.body);
    }
}

#[test]
fn other_requests_are_answered_with_what_there_is() {
    let folder = Folder::new("http-other");
    let plan = Plan { servers: "127.0.0.1:1", id: "a", options: &[HTTP], script: BEATING };
    let run = Run::start(&folder, &plan);
    let missing = get(&run, "/nothing");
    assert_eq!(missing.code, 404);
    for path in ["/leader ", "/leading ", "/healthz ", "/readyz ", "/metrics "] {
        assert!(missing.body.contains(path), "{path:?} is not in: {}", missing.body);
        assert!(get(&run, "/").body.contains(path));
    }
    let posted =
        request(&address(&run), "POST /leader HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(posted.code, 405);
    let head = request(&address(&run), "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((head.code, &*head.body), (200, ""));
    assert_eq!(request(&address(&run), "nonsense\r\n\r\n").code, 400);
}

#[test]
fn clients_that_say_nothing_hold_nothing_up() {
    let (folder, servers) = (Folder::new("http-silent"), servers("http-silent"));
    let plan = Plan { servers: &servers, id: "a", options: &[HTTP], script: BEATING };
    let mut run = Run::start(&folder, &plan);
    run.wait_for_log("beat");
    let address = address(&run);
    // More than there is room for: the next one waits until they are dropped.
    let silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(&address).expect("the kernel takes it")).collect();
    for mut stream in &silent {
        stream.write_all(b"GET /heal").expect("the kernel takes it");
    }
    assert_eq!(get(&run, "/healthz").code, 200);
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(143), "{}", run.said());
}

#[test]
fn a_port_that_is_taken_is_told_before_anything_is_done() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let http = format!("--http={}", listener.local_addr().expect("an address"));
    let folder = Folder::new("http-taken");
    let file = folder.file("ran").display().to_string();
    let servers = servers("http-taken");
    let line = ["run", "--servers", &servers, "--election=/e", &http, "--", "touch", &file];
    let output = output(&line);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(71), "{stderr}");
    assert!(stderr.contains("another program has that port"), "{stderr}");
    assert!(!stderr.contains("connected with session"), "{stderr}");
    assert!(!folder.file("ran").exists());
    drop(listener);
}
