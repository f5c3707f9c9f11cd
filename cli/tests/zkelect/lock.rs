//! `zkelect lock`: what flock(1) does, on a server.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use election_tokio::acl::Acls;
use election_tokio::{Client, CreateMode};
use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{
    BEATING, Errors, Folder, LOCK, Plan, Run, Subcommand, beats, finished, output, servers, text,
    token,
};

/// Holds until it is told to end.
pub(crate) const HOLDING: &str = r#"trap 'echo "told $ZKELECT_ID" >>"$LOG"; exit 3' TERM
    echo "up $ZKELECT_ID" >>"$LOG"; while :; do sleep 0.02; done"#;

/// Waits until so many contend for the lock.
pub(crate) async fn contend(servers: &str, count: usize) {
    stand(servers, LOCK, count).await;
}

/// Waits until so many znodes are below a node.
pub(crate) async fn stand(servers: &str, node: &str, count: usize) {
    let client = Client::builder(servers).connect().await.expect("a session");
    let deadline = Instant::now() + SOON;
    loop {
        let found = match client.get_children(node).await {
            Ok(children) => children.iter().count(),
            Err(error) if error.is_no_node() => 0,
            Err(error) => panic!("{error}"),
        };
        if found == count {
            break;
        }
        assert!(Instant::now() < deadline, "{found} are below {node}, and not {count}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    client.close().await.expect("it is closed");
}

fn plan<'a>(servers: &'a str, id: &'a str, options: &'a [&'a str]) -> Plan<'a> {
    Plan { servers, id, options, script: HOLDING }
}

#[test]
fn the_command_knows_its_token_and_what_it_holds() {
    let server = Served::start("lock-environment", &[]);
    let folder = Folder::new("lock-environment-run");
    let script = r#"echo "env $ZKELECT_TOKEN $ZKELECT_ID $ZKELECT_LOCK $ZKELECT_ZNODE" >>"$LOG"
        exit 7"#;
    let plan = Plan { servers: server.address(), id: "a", options: &[], script };
    let mut run = Run::lock(&folder, &plan);
    assert_eq!(run.ended().code(), Some(7), "{}", run.said());
    assert_eq!(run.names(), ["acquired", "released", "ended"]);
    let acquired = run.wait_for("acquired", 1);
    let znode = acquired["znode"].as_str().expect("a name");
    assert_eq!(run.log(), [format!("env {} a /lock {znode}", token(&acquired))]);
    assert!(znode.contains("-__WRIT__"), "{znode}");
    assert_eq!(acquired["lock"], "/lock");
    assert_eq!(run.wait_for("ended", 1)["reason"], "released");
}

#[test]
fn a_lock_that_others_hold_is_not_had_by_a_try_or_a_wait() {
    let server = Served::start("lock-busy", &[]);
    let folder = Folder::new("lock-busy-run");
    let holder = Run::lock(&folder, &plan(server.address(), "a", &[]));
    holder.wait_for_log("up a");
    for (id, options, code) in [
        ("b", &["--try"][..], 1),
        ("c", &["--wait", "4s"], 1),
        ("d", &["--wait", "0s"], 1),
        ("e", &["-w", "4s", "--shared"], 1),
        ("f", &["--try", "-E", "99"], 99),
    ] {
        let mut other = Run::lock(&folder, &plan(server.address(), id, options));
        assert_eq!(other.ended().code(), Some(code), "{options:?}: {}", other.said());
        assert_eq!(other.names(), ["ended"], "{options:?}");
        assert!(other.said().contains("/lock is held by others"), "{}", other.said());
    }
    assert_eq!(holder.names(), ["acquired"]);
    assert_eq!(holder.log(), ["up a"]);
}

#[test]
fn a_lock_that_is_free_is_had_by_a_try() {
    let server = Served::start("lock-free", &[]);
    let folder = Folder::new("lock-free-run");
    for options in [&["--try"][..], &["--wait", "0s"], &["--try", "--shared"]] {
        let plan = Plan { servers: server.address(), id: "a", options, script: "exit 0" };
        let mut run = Run::lock(&folder, &plan);
        assert_eq!(run.ended().code(), Some(0), "{options:?}: {}", run.said());
    }
}

#[tokio::test]
async fn readers_hold_together_and_a_writer_alone() {
    let server = Served::start("lock-shared", &[]);
    let folder = Folder::new("lock-shared-run");
    let shared = |id| plan(server.address(), id, &["--shared"]);
    let readers = ["a", "b", "c"].map(|id| Run::lock(&folder, &shared(id)));
    for (run, id) in readers.iter().zip(["a", "b", "c"]) {
        run.wait_for_log(&format!("up {id}"));
    }
    let writer = Run::lock(&folder, &plan(server.address(), "writer", &[]));
    contend(server.address(), 4).await;
    // A reader that comes after the writer waits behind it.
    let late = Run::lock(&folder, &shared("late"));
    contend(server.address(), 5).await;
    for mut reader in readers {
        assert_eq!((writer.names(), late.names()), (vec![], vec![]));
        reader.signal(Signal::TERM);
        assert_eq!(reader.ended().code(), Some(3), "{}", reader.said());
    }
    writer.wait_for_log("up writer");
    assert_eq!(late.names(), Vec::<String>::new());
    writer.signal(Signal::TERM);
    late.wait_for_log("up late");
    assert!(token(&late.wait_for("acquired", 1)) > token(&writer.wait_for("acquired", 1)));
    let up = writer.log().iter().position(|line| line == "up writer").expect("it held");
    let told = writer.log().iter().filter(|line| line.starts_with("told ")).count();
    assert_eq!((up, told), (6, 4), "{:?}", writer.log());
}

#[test]
fn the_command_reads_standard_input() {
    let server = Served::start("lock-stdin", &[]);
    let folder = Folder::new("lock-stdin-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: r#"cat >>"$LOG""# };
    let pipe = ["sh", "-c", r#"printf 'one\ntwo\n' | "$@""#, "sh"];
    let mut run = Run::start_subcommand(&folder, &plan, Subcommand::Lock, &pipe, Errors::ToFile);
    assert_eq!(run.ended().code(), Some(0), "{}", run.said());
    assert_eq!(run.log(), ["one", "two"]);
}

/// COMMAND runs in a process group of its own and cannot read the terminal, so its standard input is empty.
#[test]
fn the_standard_input_of_a_command_is_empty_on_a_terminal() {
    let server = Served::start("lock-terminal", &[]);
    let (zkelect, servers) = (env!("CARGO_BIN_EXE_zkelect"), server.address());
    let line = format!("exec {zkelect} lock --servers {servers} {LOCK} -- cat");
    let child = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("script runs");
    let output = finished(child);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn signals_are_passed_on() {
    let server = Served::start("lock-signals", &[]);
    let folder = Folder::new("lock-signals-run");
    let script = r#"trap 'echo one >>"$LOG"' USR1; trap 'exit 6' QUIT
        echo up >>"$LOG"; while :; do sleep 0.02; done"#;
    let plan = Plan { servers: server.address(), id: "a", options: &[], script };
    let mut run = Run::lock(&folder, &plan);
    run.wait_for_log("up");
    run.signal(Signal::USR1);
    run.wait_for_log("one");
    assert_eq!(run.names(), ["acquired"]);
    run.signal(Signal::QUIT);
    assert_eq!(run.ended().code(), Some(6), "{}", run.said());
    assert_eq!(run.names(), ["acquired", "released", "ended"]);
}

#[tokio::test]
async fn one_that_waits_and_is_told_to_end_gives_its_place_up() {
    let server = Served::start("lock-gives-up", &[]);
    let folder = Folder::new("lock-gives-up-run");
    let holder = Run::lock(&folder, &plan(server.address(), "a", &[]));
    holder.wait_for_log("up a");
    let mut waiter = Run::lock(&folder, &plan(server.address(), "b", &[]));
    contend(server.address(), 2).await;
    waiter.signal(Signal::INT);
    assert_eq!(waiter.ended().code(), Some(130), "{}", waiter.said());
    assert_eq!(waiter.names(), ["ended"]);
    contend(server.address(), 1).await;
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_done() {
    for (arguments, said) in [
        (&["lock", "lock"][..], "begin with a slash"),
        (&["/lock", "lock", "--shared", "--format", "curator-lock"], "cannot be shared"),
        (&["/lock", "lock", "--try", "--wait", "1s"], "cannot be used with"),
        (&["/lock", "lock", "--format", "none"], "curator-read-write"),
    ] {
        let (path, options) = (arguments[0], &arguments[1..]);
        let line = [options, &[path, "--servers=127.0.0.1:1", "--", "true"]].concat();
        let output = output(&line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}

#[test]
fn without_a_server_a_wait_ends_with_another_code() {
    for options in [&["--wait", "300ms"][..], &["--try", "--session-timeout", "300ms"]] {
        let line = ["lock", "--servers=127.0.0.1:1", "/lock", "--events", "-"];
        let output = output(&[&line, options, &["--", "true"]].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(69), "{stderr}");
        assert!(stderr.contains("no answer within 300ms"), "{stderr}");
        let event: Value = serde_json::from_slice(&output.stdout).expect("one event");
        assert_eq!((&event["event"], &event["lock"]), (&"ended".into(), &LOCK.into()));
    }
}

#[tokio::test]
async fn a_lack_of_permission_is_told() {
    let servers = servers("lock-permission");
    let client = Client::builder(&servers).connect().await.expect("a session");
    let closed = Acls::read_only();
    let created = client.create_with_acl("/closed", "", CreateMode::Persistent, &closed).await;
    created.expect("it is created");
    for (path, said) in [
        ("/closed", "NoAuth"),
        (
            "/closed/lock",
            "/closed/lock does not exist, and the access list (ACL) of /closed forbids",
        ),
    ] {
        let output = output(&["lock", "--servers", &servers, path, "--", "true"]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(77), "{stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}

/// Locks of this library in their own formats, beside those of the command line.
#[tokio::test]
async fn a_format_keeps_out_those_of_the_same_format() {
    let server = Served::start("lock-formats", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let folder = Folder::new("lock-formats-run");
    for (id, options, lock) in [
        ("rw", &[][..], client.write_lock(LOCK)),
        ("rw-named", &["--format", "curator-read-write"], client.read_lock(LOCK)),
        ("default", &[], client.lock(LOCK)),
        (
            "curator",
            &["--format", "curator-lock"],
            client.lock(LOCK).format(election_tokio::format::Format::curator_lock()),
        ),
        (
            "kazoo",
            &["--format", "kazoo"],
            client.lock(LOCK).format(election_tokio::format::Format::kazoo()),
        ),
        (
            "go",
            &["--format", "go-zookeeper"],
            client.lock(LOCK).format(election_tokio::format::Format::go_zookeeper()),
        ),
        (
            "java",
            &["--format", "zookeeper-write-lock"],
            client.lock(LOCK).format(election_tokio::format::Format::zookeeper_write_lock()),
        ),
    ] {
        let held = lock.lock().await.expect("it is held");
        let mut other =
            Run::lock(&folder, &plan(server.address(), id, &[options, &["--try"]].concat()));
        assert_eq!(other.ended().code(), Some(1), "{id}: {}", other.said());
        let waiter_id = format!("{id}-waits");
        let waiter = Run::lock(&folder, &plan(server.address(), &waiter_id, options));
        contend(server.address(), 2).await;
        held.release().await.expect("it is released");
        waiter.wait_for_log(&format!("up {waiter_id}"));
        let free = lock.try_lock().await.expect("it is asked");
        assert!(free.is_none(), "{id}");
        let mut waiter = waiter;
        waiter.signal(Signal::TERM);
        assert_eq!(waiter.ended().code(), Some(3));
    }
}

/// The same supervision as that of `run`: what COMMAND leaves running is stopped before the release.
#[test]
fn what_the_command_leaves_running_is_stopped_before_the_release() {
    let server = Served::start("lock-leftovers", &[]);
    let folder = Folder::new("lock-leftovers-run");
    let script = r#"(trap 'echo "child told" >>"$LOG"; exit' TERM; echo ready >>"$LOG"
         while :; do sleep 0.02; done) &
        until grep -q ready "$LOG"; do sleep 0.02; done; exit 5"#;
    let plan = Plan { servers: server.address(), id: "a", options: &[], script };
    let mut run = Run::lock(&folder, &plan);
    assert_eq!(run.ended().code(), Some(5), "{}", run.said());
    assert!(run.log().contains(&"child told".to_owned()), "{:?}", run.log());
}

#[test]
fn its_help_says_what_mixes_with_what() {
    let help = text(&output(&["help", "lock"]).stdout);
    for said in
        ["flock(1)", "InterProcessReadWriteLock", "InterProcessMutex", "curator-lock", "Exit codes"]
    {
        assert!(help.contains(said), "{said:?} is not in: {help}");
    }
}

/// A writer that works, for others to take over from.
#[test]
fn a_name_of_its_own_is_shown() {
    let server = Served::start("lock-beat", &[]);
    let folder = Folder::new("lock-beat-run");
    let plan = Plan { servers: server.address(), id: "a", options: &[], script: BEATING };
    let run = Run::lock(&folder, &plan);
    eventually(SOON, "it works", || beats(&run.log()).len() > 2).expect("it works");
    run.wait_until_said("a: holds by _c_");
}
