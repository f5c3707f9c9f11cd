//! `zkelect lock A B C -- COMMAND`: several locks at once.

use rustix::process::Signal;

use crate::served::Served;
use crate::support::{Folder, Plan, Run, output, servers, text};

/// Notes its locks, and works for a while.
const BRIEF: &str =
    r#"echo "up $ZKELECT_ID" >>"$LOG"; sleep 0.1; echo "down $ZKELECT_ID" >>"$LOG""#;

fn run(folder: &Folder, servers: &str, id: &str, options: &[&str], script: &str) -> Run {
    Run::lock(folder, &Plan { servers, id, options, script })
}

/// Each wants `/lock` and two more, in an order of its own.
fn processes_that_want_the_same_locks(servers: &str) {
    let folder = Folder::new("several");
    let orders =
        [["/a", "/b"], ["/b", "/a"], ["/z", "/b"], ["/b", "/z"], ["/a", "/z"], ["/z", "/a"]];
    let names: Vec<String> = (0..orders.len()).map(|index| format!("host-{index}")).collect();
    let start = |(id, order): (&String, &[&str; 2])| run(&folder, servers, id, order, BRIEF);
    let mut runs: Vec<Run> = names.iter().zip(&orders).map(start).collect();
    for run in &mut runs {
        assert_eq!(run.ended().code(), Some(0), "{}", run.said());
    }
    let log = runs[0].log();
    assert_eq!(log.len(), 2 * orders.len(), "{log:?}");
    for turn in log.chunks(2) {
        assert_eq!(
            turn[0].strip_prefix("up "),
            turn[1].strip_prefix("down "),
            "two at once: {log:?}"
        );
    }
}

#[test]
fn processes_that_want_the_same_locks_in_other_orders_are_all_served() {
    processes_that_want_the_same_locks(&servers("several"));
    processes_that_want_the_same_locks(Served::start("several", &[]).address());
}

#[test]
fn the_command_knows_its_locks_and_their_tokens() {
    let server = Served::start("several-known", &[]);
    let folder = Folder::new("several-known-run");
    let script = r#"echo "$ZKELECT_LOCK" >>"$LOG"; echo "$ZKELECT_TOKEN" >>"$LOG"
        echo "$ZKELECT_ZNODE" >>"$LOG"; trap 'exit 3' TERM; echo up >>"$LOG"
        while :; do sleep 0.02; done"#;
    let mut holder = run(&folder, server.address(), "a", &["/a", "/b"], script);
    holder.wait_for_log("up");
    let acquired = holder.wait_for("acquired", 1);
    assert_eq!(acquired["locks"], serde_json::json!(["/a", "/b", "/lock"]));
    let log = holder.log();
    assert_eq!(log[..3], ["/a", "/b", "/lock"]);
    let tokens: Vec<i64> = log[3..6].iter().map(|token| token.parse().expect("a token")).collect();
    assert!(tokens.is_sorted(), "{tokens:?}");
    assert_eq!(acquired["znode"].as_str(), Some(log[6..9].join(" ").as_str()));

    let busy = output(&["lock", "--servers", server.address(), "--try", "/c", "/b", "--", "true"]);
    assert_eq!(busy.status.code(), Some(1));
    assert!(text(&busy.stderr).contains("one of /b, /c is held by others"));
    let free = output(&["lock", "--servers", server.address(), "--try", "/c", "--", "true"]);
    assert_eq!(free.status.code(), Some(0), "nothing is left of it: {}", text(&free.stderr));
    holder.signal(Signal::TERM);
    assert_eq!(holder.ended().code(), Some(3), "{}", holder.said());
    assert_eq!(holder.names(), ["acquired", "released", "ended"]);
}

/// The loss of one is that of all: COMMAND is stopped.
#[tokio::test]
async fn a_lock_that_an_operator_breaks_stops_the_command() {
    let server = Served::start("several-broken", &[]);
    let folder = Folder::new("several-broken-run");
    let script = r#"echo up >>"$LOG"; while :; do sleep 0.02; done"#;
    let mut holder = run(&folder, server.address(), "a", &["/a"], script);
    holder.wait_for_log("up");
    let client = election_tokio::Client::builder(server.address()).connect().await;
    let client = client.expect("a session");
    let children = client.get_children("/a").await.expect("it is held");
    let znode = format!("/a/{}", children.iter().next().expect("one"));
    client.delete(&znode, election_tokio::Version::ANY).await.expect("it is deleted");
    assert_eq!(holder.ended().code(), Some(75), "{}", holder.said());
    assert!(holder.said().contains("holds no more: lock /a, hold: "), "{}", holder.said());
    let left = client.get_children("/lock").await.expect("it was held");
    assert_eq!(left.iter().count(), 0);
}

#[test]
fn locks_that_cannot_be_held_at_once_are_refused() {
    for (arguments, said) in [
        (&["/a", "/b", "/a"][..], "/a is twice among the locks"),
        (&["/a", "b"], "begin with a slash"),
        (&["/a", "/b", "--once-per", "1h"], "--once-per is for one lock"),
        (&["/a", "/b", "--format", "zookeeper-write-lock"], "use a format with ids in its names"),
        (&["--try"], "PATH"),
    ] {
        let server = Served::start("several-refused", &[]);
        let line = [&["lock", "--servers", server.address()], arguments, &["--", "true"]].concat();
        let output = output(&line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}
