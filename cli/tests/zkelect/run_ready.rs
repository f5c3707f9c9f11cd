//! COMMAND says that it has taken over.

use std::process::{Command, Stdio};

use election_tokio::Client;
use election_tokio::election::{Acknowledgement, Follow, Observation};
use rustix::process::Signal;
use zk_test_kit::wait::SOON;

use crate::support::{ELECTION, Errors, Folder, Plan, Run, output, servers, text, token};

/// Waits until the leader has said this.
async fn wait_until_said(client: &Client, line: &str) {
    let election = client.election(ELECTION);
    let mut observer = election.observe(Follow::LeaderAndAcknowledgement).expect("a valid path");
    let said = |seen: &Observation| {
        let given = seen.leader().map(|leader| &leader.acknowledgement);
        matches!(given, Some(Acknowledgement::Given(said)) if said == line)
    };
    let waited = tokio::time::timeout(SOON, observer.wait_for(said)).await;
    assert!(waited.is_ok(), "{line:?} is not seen, but {:?}", observer.latest());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_says_when_it_has_taken_over_is_seen_by_others() {
    let handed_on = Command::new("ls").arg("/proc/self/fd").output().expect("it runs").stdout;
    let handed_on = text(&handed_on);
    let handed_on: Vec<&str> = handed_on.split_whitespace().collect();
    for number in ["3", "4", "5", "6", "9"] {
        let (folder, servers) = (Folder::new("ready"), servers("ready"));
        let script = format!(
            r#"ls /proc/self/fd | tr '\n' ' ' >"$LOG.fds"; echo "fd $ZKELECT_READY_FD" >>"$LOG"
            trap 'echo draining >&{number}' USR1; echo 10.0.0.5:8080 >&{number}
            while :; do sleep 0.02; done"#
        );
        let options = ["--ready-fd", number];
        let plan = Plan { servers: &servers, id: "a", options: &options, script: &script };
        let run = Run::start(&folder, &plan);
        let client = Client::builder(&servers).connect().await.expect("a session");
        wait_until_said(&client, "10.0.0.5:8080").await;
        assert_eq!(run.wait_for_log("fd "), number);
        let acknowledged = run.wait_for("acknowledged", 1);
        assert_eq!(acknowledged["line"], "10.0.0.5:8080");
        assert_eq!(token(&acknowledged), token(&run.wait_for("elected", 1)));
        run.signal(Signal::USR1);
        wait_until_said(&client, "draining").await;
        // Beside what the test itself hands on, and the folder that `ls` reads.
        let open = std::fs::read_to_string(folder.file("log.fds")).expect("it is written");
        let open: Vec<&str> = open.split_whitespace().collect();
        let others = open.iter().filter(|open| !handed_on.contains(open) && **open != number);
        assert!(open.contains(&number) && others.count() <= 1, "{open:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_ready_reads_its_standard_input() {
    let (folder, servers) = (Folder::new("ready-input"), servers("ready-input"));
    let options = ["--ready-fd", "3", "--once", "--stdin"];
    let script = r#"read -r line; echo "ready with $line" >&3; while :; do sleep 0.02; done"#;
    let plan = Plan { servers: &servers, id: "a", options: &options, script };
    let wrapper = ["sh", "-c", r#"echo input | exec "$@""#, "sh"];
    let _run = Run::start_by(&folder, &plan, &wrapper, Errors::To(Stdio::null()));
    let client = Client::builder(&servers).connect().await.expect("a session");
    wait_until_said(&client, "ready with input").await;
}

/// It could fill every pipe on the way.
#[test]
fn a_command_that_says_very_much_is_stopped_all_the_same() {
    let (folder, servers) = (Folder::new("ready-flood"), servers("ready-flood"));
    let options = ["--ready-fd", "3"];
    let script = r#"echo up >>"$LOG"; exec yes 'a line that is said again and again' >&3"#;
    let plan = Plan { servers: &servers, id: "a", options: &options, script };
    let mut run = Run::start(&folder, &plan);
    run.wait_for("acknowledged", 2);
    run.signal(Signal::TERM);
    assert_eq!(run.ended().code(), Some(143), "{}", run.said());
}

#[test]
fn a_descriptor_that_a_command_cannot_have_is_refused() {
    let line = ["run", "--servers=127.0.0.1:1", "--election=/e", "--ready-fd=2", "--", "true"];
    let output = output(&line);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("from 3 to 255"), "{}", text(&output.stderr));

    let (folder, servers) = (Folder::new("ready-taken"), servers("ready-taken"));
    let plan = Plan { servers: &servers, id: "a", options: &["--ready-fd=7"], script: "true" };
    let wrapper = ["sh", "-c", r#"exec 7</dev/null; exec "$@""#, "sh"];
    let mut run = Run::start_by(&folder, &plan, &wrapper, Errors::ToFile);
    assert_eq!(run.ended().code(), Some(71), "{}", run.said());
    run.wait_until_said("descriptor 7 is in use already");
}
