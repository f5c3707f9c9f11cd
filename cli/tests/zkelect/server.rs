//! `zkelect server`, with no other server around.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{RawClient, RawError};
use zk_test_kit::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, Run, output, text, token};

fn connect(server: &Served) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(SOON)).expect("it is not zero");
    stream
}

fn ask(server: &Served, word: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(word.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    answer
}

#[test]
fn nominees_elect_a_leader_on_it() {
    let server = Served::start("chain", &[]);
    let folder = Folder::new("chain-runs");
    let plan = |id| Plan { servers: server.address(), id, options: &[], script: BEATING };
    let mut leader = Run::start(&folder, &plan("a"));
    let elected = leader.wait_for("elected", 1);
    let follower = Run::start(&folder, &plan("b"));
    follower.wait_for("following", 1);

    let arguments = ["list", "--servers", server.address(), "--election", "/leader", "--json"];
    let list = output(&arguments);
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&list.stdout).expect("a JSON array");
    let ids: Vec<&Value> = rows.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["a", "b"]);

    leader.signal(Signal::TERM);
    leader.ended();
    let elected_after = follower.wait_for("elected", 1);
    assert!(token(&elected_after) > token(&elected));
}

#[test]
fn it_says_where_it_listens_and_what_it_is_for() {
    let server = Served::start("says", &[]);
    assert_eq!(server.stdout(), format!("listening on {}\n", server.address()));
    assert_eq!(ask(&server, "ruok"), "imok");
    let all = || server.stderr().contains("tokens begin anew");
    eventually(SOON, "it has said all", all).expect("it says all");
    let stderr = server.stderr();
    assert!(stderr.contains("for development and tests"), "{stderr}");
    assert!(stderr.contains("nothing on disk"), "{stderr}");
    assert!(!stderr.contains("WARN"), "{stderr}");
}

#[test]
fn a_connection_beyond_the_limit_is_named() {
    for option in ["--max-connections-per-address", "--max-connections"] {
        names_a_connection_too_many(option);
    }
}

fn names_a_connection_too_many(option: &str) {
    let server = Served::start(option.trim_start_matches('-'), &[option, "1"]);
    let mut first = connect(&server);
    // The limit counts connections that the server has accepted, in the order of their arrival.
    let mut second = connect(&server);
    assert!(!matches!(second.read(&mut [0]), Ok(1..)));
    let warned = || server.stderr().contains("WARN zkelect: closed a connection from 127.0.0.1");
    eventually(SOON, "a warning", warned).expect("it warns");
    let remedy = format!("see {option}\n");
    eventually(SOON, "a remedy", || server.stderr().contains(&remedy))
        .expect("it names the option");
    first.write_all(b"ruok").expect("it is taken");
    let mut answer = String::new();
    first.read_to_string(&mut answer).expect("it is answered");
    assert_eq!(answer, "imok");
}

#[test]
fn without_a_limit_any_number_of_connections_is_served() {
    let server = Served::start("unlimited", &["--max-connections-per-address", "0"]);
    let idle: Vec<TcpStream> = (0..70).map(|_| connect(&server)).collect();
    assert_eq!(ask(&server, "ruok"), "imok");
    drop(idle);
}

#[test]
fn times_to_live_and_a_super_user_are_what_it_is_told() {
    const SUPER: &str = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";
    const UNIMPLEMENTED: &str = "-6";
    const NO_AUTH: &str = "-102";
    for (id, options, expected) in [
        ("told", &["--extended-types", "--super-digest", SUPER][..], [Ok(()), Ok(())]),
        ("untold", &[], [Err(UNIMPLEMENTED), Err(NO_AUTH)]),
    ] {
        let server = Served::start(id, options);
        let address = server.address().parse().expect("an address");
        let mut client = RawClient::connect(address, SOON).expect("a session");
        let found = [create_ttl(&mut client), write_as_super(&mut client)];
        let found = found.each_ref().map(|found| found.as_ref().map_err(String::as_str).copied());
        assert_eq!(found, expected, "{id}");
    }
}

/// Returns the error code, or another failure.
fn code(answer: Result<Vec<u8>, RawError>) -> Result<(), String> {
    answer.map(drop).map_err(|error| match error {
        RawError::Refused { code, .. } => code.to_string(),
        other => other.to_string(),
    })
}

fn buffer(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a short one");
    [&length.to_be_bytes(), bytes].concat()
}

fn create_ttl(client: &mut RawClient) -> Result<(), String> {
    let acl = [&1_i32.to_be_bytes()[..], &31_i32.to_be_bytes(), &buffer(b"world")].concat();
    let body = [
        buffer(b"/ttl"),
        buffer(b""),
        acl,
        buffer(b"anyone"),
        5_i32.to_be_bytes().to_vec(),
        60_000_i64.to_be_bytes().to_vec(),
    ];
    code(client.request(Opcode::CREATE_TTL, &body.concat()))
}

/// Writes where no other client may.
fn write_as_super(client: &mut RawClient) -> Result<(), String> {
    let credential = [0_i32.to_be_bytes().to_vec(), buffer(b"digest"), buffer(b"super:admin")];
    code(client.request(Opcode::AUTH, &credential.concat()))?;
    let body = [buffer(b"/zookeeper/config"), buffer(b""), (-1_i32).to_be_bytes().to_vec()];
    code(client.request(Opcode::SET_DATA, &body.concat()))
}

#[test]
fn a_server_that_others_may_reach_warns_of_it() {
    let server = Served::start_at("0.0.0.0:0", "open", &[]);
    assert_eq!(ask(&server, "ruok"), "imok");
    let warns = || server.stderr().contains("any client there can read and write");
    eventually(SOON, "it warns", warns)
        .unwrap_or_else(|error| panic!("{error}\n{}", server.stderr()));
}

#[test]
fn the_tick_time_bounds_session_timeouts() {
    let server = Served::start("tick", &["--tick-time", "100ms"]);
    let folder = Folder::new("tick-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: "exit 0" };
    let mut run = Run::start(&folder, &plan);
    assert_eq!(run.ended().code(), Some(0), "{}", run.said());
    assert!(run.said().contains("from 10s to 2s"), "{}", run.said());
}

#[test]
fn a_port_in_use_is_named() {
    let server = Served::start("in-use", &[]);
    let second = output(&["server", "--listen", server.address()]);
    let stderr = text(&second.stderr);
    assert_eq!(second.status.code(), Some(71), "{stderr}");
    assert!(stderr.contains(&format!("cannot listen on {}", server.address())), "{stderr}");
    assert!(stderr.contains("--listen 127.0.0.1:0"), "{stderr}");
    assert_eq!(text(&second.stdout), "");
    assert_eq!(ask(&server, "ruok"), "imok");
}

#[test]
fn a_signal_ends_it_and_closes_its_port() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = Served::start("signal", &[]);
        let mut client = connect(&server);
        server.signal(signal);
        assert_eq!(server.ended().code(), Some(0), "{signal:?}: {}", server.stderr());
        assert!(!matches!(client.read(&mut [0]), Ok(1..)), "{signal:?}");
        assert!(TcpStream::connect(server.address()).is_err(), "{signal:?}");
    }
}

#[test]
fn its_help_has_examples() {
    let help = output(&["help", "server"]);
    assert_eq!(help.status.code(), Some(0));
    let stdout = text(&help.stdout);
    for said in ["zkelect server --tick-time 100ms", "[default: 127.0.0.1:2181]", "Exit codes"] {
        assert!(stdout.contains(said), "{said:?} is not in: {stdout}");
    }
}
