//! `zkelect barrier enter`.

use election_tokio::{Client, Version};
use rustix::process::Signal;
use zk_test_kit::proxy::Proxy;

use crate::lock::{HOLDING, stand};
use crate::served::Served;
use crate::support::{
    BARRIER, BEATING, Folder, LISTS, Mortals, Plan, Run, at, observed, output, servers, text,
    wait_for_end, wait_for_replies,
};

fn plan<'a>(servers: &'a str, id: &'a str, script: &'a str) -> Plan<'a> {
    Plan { servers, id, options: &["--session-timeout", "4s", "--grace", "1s"], script }
}

/// Works until the file of this name is there, and tells so.
const UNTIL_TOLD: &str = r#"echo "up $ZKELECT_ID" >>"$LOG"
    until grep -q "go $ZKELECT_ID" "$LOG"; do sleep 0.02; done; echo "done $ZKELECT_ID" >>"$LOG"; exit 4"#;

/// Returns how many lists were answered on this way.
fn lists(proxy: &Proxy) -> u64 {
    let counters = proxy.counters();
    LISTS.iter().map(|of| counters.replies(*of)).sum()
}

fn tell(folder: &Folder, text: &str) {
    let line = format!("echo '{text}' >>'{}'", folder.file("log").display());
    let status = std::process::Command::new("sh").args(["-c", &line]).status();
    assert!(status.expect("sh runs").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn they_begin_together_and_end_together() {
    let served = Served::start("enter", &[]);
    for (label, servers) in [("own", served.address().to_owned()), ("real", servers("enter"))] {
        let folder = Folder::new(&format!("enter-{label}"));
        let (proxy, by_proxy) = observed(&servers);
        let mut first = Run::enter(&folder, &plan(&by_proxy, "a", UNTIL_TOLD));
        stand(&servers, BARRIER, 1).await;
        assert_eq!(first.names(), Vec::<String>::new(), "one is too few");
        let mut second = Run::enter(&folder, &plan(&servers, "b", UNTIL_TOLD));
        first.wait_for_log("up a");
        first.wait_for_log("up b");
        let lists = lists(&proxy);
        tell(&folder, "go a");
        // It leaves, and waits for the other one.
        wait_for_replies(&proxy, LISTS, lists + 1);
        assert_eq!(first.names(), ["acquired"]);
        tell(&folder, "go b");
        assert_eq!(first.ended().code(), Some(4), "{}", first.said());
        assert_eq!(second.ended().code(), Some(4), "{}", second.said());
        assert_eq!(first.names(), ["acquired", "released", "ended"]);
        assert_eq!(first.wait_for("ended", 1)["reason"], "all have left");
        assert_eq!(first.wait_for("acquired", 1)["barrier"], BARRIER);
        stand(&servers, BARRIER, 0).await;
    }
}

#[test]
fn the_command_knows_what_it_is_inside_of() {
    let server = Served::start("enter-environment", &[]);
    let folder = Folder::new("enter-environment-runs");
    let script = r#"echo "env $ZKELECT_ID $ZKELECT_BARRIER $ZKELECT_ZNODE" >>"$LOG""#;
    let mut runs = ["a", "b"].map(|id| Run::enter(&folder, &plan(server.address(), id, script)));
    for run in &mut runs {
        assert_eq!(run.ended().code(), Some(0), "{}", run.said());
    }
    for (run, id) in runs.iter().zip(["a", "b"]) {
        let acquired = run.wait_for("acquired", 1);
        let znode = acquired["znode"].as_str().expect("a name");
        assert!(acquired.get("token").is_none(), "{acquired}");
        assert!(run.log().contains(&format!("env {id} /barrier {znode}")), "{:?}", run.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_gives_up_leaves_nothing_behind() {
    let server = Served::start("enter-gives-up", &[]);
    let folder = Folder::new("enter-gives-up-runs");
    let options = &["--wait", "4s", "-E", "42"];
    let in_time = Plan { options, ..plan(server.address(), "a", HOLDING) };
    let mut in_vain = Run::enter(&folder, &in_time);
    assert_eq!(in_vain.ended().code(), Some(42), "{}", in_vain.said());
    assert!(in_vain.said().contains("too few have entered /barrier"), "{}", in_vain.said());
    stand(server.address(), BARRIER, 0).await;
    let mut told = Run::enter(&folder, &plan(server.address(), "b", HOLDING));
    stand(server.address(), BARRIER, 1).await;
    told.signal(Signal::TERM);
    assert_eq!(told.ended().code(), Some(128 + 15), "{}", told.said());
    stand(server.address(), BARRIER, 0).await;
    assert_eq!((in_vain.names(), told.names()), (vec!["ended".into()], vec!["ended".into()]));
}

/// Which leaves the other one alone, that does not wait for it any more.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_told_to_end_does_not_wait_for_the_others() {
    let server = Served::start("enter-told", &[]);
    let folder = Folder::new("enter-told-runs");
    let mut told = Run::enter(&folder, &plan(server.address(), "a", HOLDING));
    let mut other = Run::enter(&folder, &plan(server.address(), "b", UNTIL_TOLD));
    told.wait_for_log("up a");
    other.wait_for_log("up b");
    told.signal(Signal::TERM);
    assert_eq!(told.ended().code(), Some(3), "{}", told.said());
    assert_eq!(told.log().iter().filter(|line| *line == "told a").count(), 1);
    stand(server.address(), BARRIER, 2).await;
    tell(&folder, "go b");
    assert_eq!(other.ended().code(), Some(4), "{}", other.said());
    stand(server.address(), BARRIER, 0).await;
}

/// Its own command has ended.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_for_the_others_to_leave_is_told_to_end() {
    let server = Served::start("enter-leaving", &[]);
    let folder = Folder::new("enter-leaving-runs");
    let (proxy, by_proxy) = observed(server.address());
    let mut leaving = Run::enter(&folder, &plan(&by_proxy, "a", UNTIL_TOLD));
    let other = Run::enter(&folder, &plan(server.address(), "b", UNTIL_TOLD));
    other.wait_for_log("up b");
    leaving.wait_for_log("up a");
    let lists = lists(&proxy);
    tell(&folder, "go a");
    wait_for_replies(&proxy, LISTS, lists + 1);
    leaving.signal(Signal::INT);
    assert_eq!(leaving.ended().code(), Some(128 + 2), "{}", leaving.said());
    stand(server.address(), BARRIER, 2).await;
    assert_eq!(other.names(), ["acquired"]);
}

#[test]
fn one_that_is_killed_does_not_keep_the_other_from_leaving() {
    let server = Served::start("enter-killed", &["--tick-time", "200ms"]);
    let folder = Folder::new("enter-killed-runs");
    let script = format!("echo \"pid $$\" >>\"$LOG\"; {BEATING}");
    let killed = Run::enter(&folder, &plan(server.address(), "a", &script));
    let mut other = Run::enter(&folder, &plan(server.address(), "b", "exit 0"));
    let command = Mortals(vec![killed.wait_for_log("pid")]);
    killed.wait_for_log("beat");
    killed.signal(Signal::KILL);
    assert_eq!(other.ended().code(), Some(0), "{}", other.said());
    // It would say for ever that it works.
    wait_for_end(&command.0[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_of_one_whose_entry_is_deleted_is_stopped() {
    let server = Served::start("enter-evicted", &[]);
    let folder = Folder::new("enter-evicted-runs");
    let mut evicted = Run::enter(&folder, &plan(server.address(), "a", HOLDING));
    let other = Run::enter(&folder, &plan(server.address(), "b", HOLDING));
    evicted.wait_for_log("up a");
    other.wait_for_log("up b");
    let znode = evicted.wait_for("acquired", 1)["znode"].as_str().expect("a name").to_owned();
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.delete(&format!("{BARRIER}/{znode}"), Version::ANY).await.expect("it is deleted");
    assert_eq!(evicted.ended().code(), Some(75), "{}", evicted.said());
    assert_eq!(evicted.names(), ["acquired", "lost", "ended"]);
    assert!(evicted.log().contains(&"told a".to_owned()), "{:?}", evicted.log());
    assert_eq!(other.names(), ["acquired"]);
}

#[test]
fn the_command_is_stopped_when_the_connection_is_lost() {
    let server = Served::start("enter-doubt", &[]);
    let proxy = Proxy::to(server.address().parse().expect("an address")).expect("a proxy");
    let folder = Folder::new("enter-doubt-runs");
    let servers = proxy.connect_string();
    // It does not heed the signal.
    let script = format!("trap '' TERM; {BEATING}");
    let stubborn = Plan {
        servers: &servers,
        id: "a",
        options: &["--session-timeout", "4s", "--grace", "60s"],
        script: &script,
    };
    let mut cut_off = Run::enter(&folder, &stubborn);
    let mut other = Run::enter(&folder, &plan(server.address(), "b", "exit 0"));
    cut_off.wait_for_log("beat");
    proxy.refuse();
    proxy.cut();
    let suspended = cut_off.wait_for("suspended", 1);
    let valid_for = suspended["valid_for_ms"].as_u64().expect("a number");
    assert!(valid_for < 1334, "a third of the timeout: {valid_for}");
    assert_eq!(cut_off.ended().code(), Some(75), "{}", cut_off.said());
    let ended = cut_off.wait_for("ended", 1);
    assert_eq!(other.ended().code(), Some(0), "{}", other.said());
    assert!(at(&ended) > at(&suspended));
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_done() {
    for (options, said) in [
        (&["/b"][..], "--participants"),
        (&["-n", "0", "/b"], "zero"),
        (&["-n", "2", "b"], "begin with a slash"),
    ] {
        let line =
            [&["barrier", "enter", "--servers=127.0.0.1:1"], options, &["--", "true"]].concat();
        let output = output(&line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}
