//! `zkelect end`, `reopen` and `delete`.

use std::process::Output;

use election_tokio::election::EndReason;
use election_tokio::{Client, CreateMode};

use crate::process::Process;
use crate::served::Served;
use crate::support::{BEATING, ELECTION, Folder, Plan, Run, output, servers, text};

fn operate(servers: &str, subcommand: &str, options: &[&str]) -> Output {
    output(&[&[subcommand, "--servers", servers, "--election", ELECTION], options].concat())
}

fn assert_is(output: &Output, code: i32, stdout: &str, said: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(text(&output.stdout), stdout, "{stderr}");
    assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_election_is_ended_for_all_and_reopened() {
    let served = Served::start("end", &[]);
    for servers in [served.address().to_owned(), servers("end")] {
        let folder = Folder::new("end-run");
        let plan = |id| Plan { servers: &servers, id, options: &[], script: BEATING };
        let mut leader = Run::start(&folder, &plan("a"));
        leader.wait_for("elected", 1);
        let client = Client::builder(&servers).connect().await.expect("a session");
        let line = ["watch", "--servers", &servers, "--election", ELECTION, "--interval=50ms"];
        let watch = Process::start(&line);
        while watch.next_json()["candidates"] != 1 {}

        assert_is(&operate(&servers, "end", &[]), 0, "ended /leader: 1 candidate stood\n", "");
        assert_eq!(leader.ended().code(), Some(78), "{}", leader.said());
        assert!(leader.said().contains("zkelect reopen"), "{}", leader.said());
        let mut late = client.election(ELECTION).nominate().expect("a nomination");
        assert_eq!(late.elected().await.expect_err("it is ended").reason, EndReason::ElectionEnded);
        while watch.next_json()["ended"] != true {}
        let again = operate(&servers, "end", &["--json"]);
        assert_is(&again, 0, "{\"outcome\":\"ended\",\"candidates\":0}\n", "");

        assert_is(&operate(&servers, "reopen", &[]), 0, "reopened /leader\n", "");
        assert_is(&operate(&servers, "reopen", &[]), 0, "", "/leader was not ended");
        let json = operate(&servers, "reopen", &["--json"]);
        assert_is(&json, 0, "{\"outcome\":\"was_open\"}\n", "");
        let mut next = client.election(ELECTION).nominate().expect("a nomination");
        next.elected().await.expect("it is elected");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_election_is_deleted_with_what_stands_beside_it() {
    let served = Served::start("delete", &[]);
    for servers in [served.address().to_owned(), servers("delete")] {
        let client = Client::builder(&servers).connect().await.expect("a session");
        let mut nomination = client.election(ELECTION).nominate().expect("a nomination");
        let leadership = nomination.elected().await.expect("it is elected");
        leadership.acknowledge(b"").await.expect("it is told");
        let quiet = ["--quiet", "10ms"];
        let deleted = operate(&servers, "delete", &quiet);
        assert_is(&deleted, 0, "deleted /leader: 1 candidate stood\n", "");
        let left = client.get_children("/").await.expect("it is listed");
        assert!(left.iter().all(|name| !name.starts_with("leader")), "{left:?}");
        let json = operate(&servers, "delete", &[&quiet[..], &["--json"]].concat());
        assert_is(&json, 0, "{\"outcome\":\"deleted\",\"candidates\":0}\n", "");

        client.create(ELECTION, "", CreateMode::Persistent).await.expect("it is created");
        let other = format!("{ELECTION}/other");
        client.create(&other, "", CreateMode::Persistent).await.expect("it is created");
        assert_is(&operate(&servers, "delete", &quiet), 78, "", "delete that child");
    }
}

#[test]
fn what_cannot_be_ended_is_refused_with_what_to_do() {
    let server = Served::start("end-format", &[]);
    for subcommand in ["end", "reopen", "delete"] {
        let kazoo = operate(server.address(), subcommand, &["--format", "kazoo"]);
        assert_is(&kazoo, 2, "", "evict them one by one");
        let unreached = operate("127.0.0.1:1", subcommand, &["--timeout", "300ms"]);
        assert_is(&unreached, 69, "", "check --servers");
        let relative = output(&[subcommand, "--servers=127.0.0.1:1", "--election=leader"]);
        assert_is(&relative, 2, "", "absolute path");
    }
}
