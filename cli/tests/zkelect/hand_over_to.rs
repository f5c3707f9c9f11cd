//! `zkelect hand-over`.

use std::process::{Output, Stdio};
use std::time::Duration;

use election_tokio::Client;
use election_tokio::election::{Election, HandOver, Nomination, Role, WhenPromoted};
use election_tokio::format::Format;
use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Directions;
use zk_test_kit::wait::SOON;

use crate::served::Served;
use crate::support::{
    BEATING, ELECTION, Folder, Plan, Run, assert_one_at_a_time, finished, observed, output,
    servers, spawned, text, token, wait_for_replies,
};

fn line<'a>(servers: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["hand-over", "--servers", servers, "--election", ELECTION], options].concat()
}

fn hand_over(servers: &str, options: &[&str]) -> Output {
    output(&line(servers, options))
}

fn assert_is(output: &Output, code: i32, said: &[&str]) {
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{all}");
    for said in said {
        assert!(all.contains(said), "{said:?} is not in: {all}");
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

async fn client(servers: &str) -> Client {
    Client::builder(servers).connect().await.expect("a session")
}

/// Returns a nomination, once it stands.
async fn standing(client: &Client, name: &str) -> Nomination {
    standing_in(client.election(ELECTION), name).await
}

async fn standing_in(election: Election, name: &str) -> Nomination {
    let nomination = election.data(name.to_owned()).nominate().expect("a nomination");
    let mut status = nomination.updates();
    let stands = status
        .wait_for(|status| matches!(status.role, Role::Leading { .. } | Role::Following { .. }));
    drop(stands.await.expect("it stands"));
    nomination
}

/// Waits until a znode beside the candidates, or beside the election, is called so.
async fn wait_for_znode(client: &Client, folder: &str, start: &str) {
    let mut found = false;
    while !found {
        let (children, changed) = client.get_children_and_watch(folder).await.expect("a list");
        found = children.iter().any(|name| name.starts_with(start));
        if !found {
            let waited = tokio::time::timeout(SOON, changed).await;
            assert!(waited.is_ok(), "no {start} in {folder}");
        }
    }
}

async fn names(client: &Client) -> Vec<String> {
    let candidates = client.election(ELECTION).candidates().await.expect("a list");
    candidates.iter().map(|candidate| text(&candidate.data)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_third_of_three_processes_leads_once_it_was_handed_the_leadership() {
    let served = Served::start("hand-over", &[]);
    for servers in [served.address().to_owned(), servers("hand-over")] {
        let folder = Folder::new("hand-over");
        let (to_second, by_proxy) = observed(&servers);
        // No candidate goes with its session.
        let options = ["--session-timeout", "60s", "--grace", "1s"];
        let start = |id, servers| {
            Run::start(&folder, &Plan { servers, id, options: &options, script: BEATING })
        };
        let first = start("a", &servers);
        let led = token(&first.wait_for("elected", 1));
        first.wait_for_log(&format!("beat {led}"));
        let second = start("b", &by_proxy);
        second.wait_for("following", 1);
        let third = start("c", &servers);
        third.wait_for("following", 1);

        // The second one hears nothing. Until it does, and makes way, the first one leads and works on.
        to_second.black_hole(Directions::Both);
        let asks = line(&servers, &["c", "--by", "ops", "--reason", "new disks"]);
        let asking = spawned(&asks, Stdio::null());
        let client = client(&servers).await;
        wait_for_znode(&client, ELECTION, "hand-over-to-").await;
        assert_eq!((first.names(), third.count("elected")), (vec!["elected".to_owned()], 0));
        to_second.heal_by_cutting();
        let asked = tokio::task::spawn_blocking(move || finished(asking)).await.expect("no panic");
        let leads = token(&third.wait_for("elected", 1));
        assert_is(&asked, 0, &[&format!("c (token {leads}) leads\n")]);
        assert!(leads > led);
        first.wait_for("following", 1);
        assert_eq!(names(&client).await, ["c", "b", "a"]);
        let requested = first.wait_for("step_down_requested", 1);
        assert_eq!((&requested["by"], &requested["reason"]), (&"ops".into(), &"new disks".into()));
        assert_eq!((first.count("elected"), second.count("elected")), (1, 0));
        third.wait_for_log(&format!("beat {leads}"));
        assert_one_at_a_time(&third.log());
        let marks = client.get_children(ELECTION).await.expect("a list");
        assert!(marks.iter().all(|name| !name.starts_with("hand-over")), "{marks:?}");

        // The next one leads as soon as the leader's work has ended.
        let back = hand_over(&servers, &["b", "--json"]);
        assert_is(&back, 0, &[]);
        assert_eq!(json(&back)["outcome"], "handed_over");
        let leads = token(&second.wait_for("elected", 1));
        assert_eq!(json(&back)["candidate"]["token"], leads);
        third.signal(Signal::TERM);
    }
}

/// Hands the leadership to a `zkelect run` behind another one, within less than the time from one look to the next by
/// default.
async fn hand_over_past_one(label: &str, when_promoted: WhenPromoted, options: &[&str]) {
    let servers = servers(label);
    let folder = Folder::new(label);
    let client = client(&servers).await;
    let election = client.election(ELECTION).when_promoted(when_promoted);
    let mut nomination = election.nominate().expect("a nomination");
    let leadership = nomination.elected().await.expect("it is alone");
    let options = [&["--session-timeout", "60s"], options].concat();
    let runs = ["a", "b"].map(|id| {
        let plan = Plan { servers: &servers, id, options: &options, script: BEATING };
        let run = Run::start(&folder, &plan);
        run.wait_for("following", 1);
        run
    });
    let to = client.election(ELECTION).candidates().await.expect("a list")[2].token;
    let outcome = leadership.hand_over(to, Duration::from_secs(40)).await;
    assert_eq!(outcome, Ok(HandOver::To(to)));
    assert_eq!(token(&runs[1].wait_for("elected", 1)), to.get());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nominee_between_is_woken_and_makes_way() {
    hand_over_past_one("hand-over-woken", WhenPromoted::WakesNext, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nominee_between_that_looks_often_makes_way_unwoken() {
    let options = ["--look-interval", "500ms"];
    hand_over_past_one("hand-over-looks", WhenPromoted::Rests, &options).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_is_not_there_or_leads_already_is_told_apart() {
    let served = Served::start("hand-over-whom", &[]);
    for servers in [served.address().to_owned(), servers("hand-over-whom")] {
        let none = hand_over(&servers, &["host-b"]);
        assert_is(&none, 1, &["no such candidate stands at /leader", "zkelect list"]);
        let client = client(&servers).await;
        let _first = standing(&client, "host-a").await;
        let _second = standing(&client, "host-b").await;
        let _third = standing(&client, "host-b").await;
        let none = hand_over(&servers, &["--json", "--token", "1"]);
        assert_is(&none, 1, &["no such candidate"]);
        assert_eq!(text(&none.stdout), "{\"outcome\":\"none\"}\n");
        let several = hand_over(&servers, &["host-b"]);
        assert_is(&several, 2, &["several candidates are called host-b", "--token"]);
        let leads = hand_over(&servers, &["host-a", "--json"]);
        assert_is(&leads, 0, &["host-a (token", "leads already"]);
        assert_eq!(json(&leads)["outcome"], "leads_already");
        assert_eq!(names(&client).await, ["host-a", "host-b", "host-b"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_ignores_the_request_leads_on() {
    let served = Served::start("hand-over-ignored", &[]);
    for servers in [served.address().to_owned(), servers("hand-over-ignored")] {
        let folder = Folder::new("hand-over-ignored");
        let options = ["--ignore-step-down"];
        let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
        let leader = Run::start(&folder, &plan);
        let led = token(&leader.wait_for("elected", 1));
        let client = client(&servers).await;
        let _second = standing(&client, "host-b").await;
        let ignored = hand_over(&servers, &["host-b", "--within", "300ms"]);
        let ahead = format!("does not lead after 300ms: ahead of it stand a (token {led})\n");
        assert_is(&ignored, 1, &["host-b (token", &ahead, "--ignore-step-down"]);
        assert_eq!(text(&ignored.stdout), "");
        let ignored = hand_over(&servers, &["host-b", "--within", "300ms", "--json"]);
        assert_is(&ignored, 1, &[]);
        let told = json(&ignored);
        assert_eq!((&told["outcome"], &told["ahead"][0]["id"]), (&"refused".into(), &"a".into()));
        assert_eq!((&told["ahead"][0]["token"], &told["ahead"][1]), (&led.into(), &Value::Null));
        assert_eq!(leader.names(), ["elected"]);
    }
}

/// At once: `finished` waits for no hour.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_goes_meanwhile_is_told() {
    let served = Served::start("hand-over-gone", &[]);
    for servers in [served.address().to_owned(), servers("hand-over-gone")] {
        let client = client(&servers).await;
        let _first = standing(&client, "host-a").await;
        let second = standing(&client, "host-b").await;
        let candidates = client.election(ELECTION).candidates().await.expect("a list");
        let token = candidates[1].token;
        let (way, by_proxy) = observed(&servers);
        let asks = line(&by_proxy, &["host-b", "--within", "1h", "--json"]);
        let asking = spawned(&asks, Stdio::null());
        wait_for_znode(&client, "/", "leader.step-down").await;
        // It has asked whether its chroot exists, if it has one, and watches the candidate.
        wait_for_replies(&way, &[Opcode::EXISTS], 1 + u64::from(servers.contains('/')));
        // Also if it goes while the connection is lost.
        way.cut();
        second.withdraw().await.expect("it is withdrawn");
        let asked = tokio::task::spawn_blocking(move || finished(asking)).await.expect("no panic");
        let gone = format!("host-b (token {token}) has gone, and cannot lead");
        assert_is(&asked, 1, &[&gone, "the leader leads on", "zkelect list", "zkelect step-down"]);
        let told = json(&asked);
        assert_eq!(
            (&told["outcome"], &told["candidate"]["id"]),
            (&"gone".into(), &"host-b".into())
        );
        assert_eq!(names(&client).await, ["host-a"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_a_leadership_from_being_handed_over_is_told_with_what_to_do() {
    let served = Served::start("hand-over-format", &[]);
    let client = client(served.address()).await;
    let kazoo = || client.election(ELECTION).format(Format::kazoo());
    let _first = standing_in(kazoo(), "host-a").await;
    let _second = standing_in(kazoo(), "host-b").await;
    let foreign = hand_over(served.address(), &["--format", "kazoo", "host-b"]);
    assert_is(&foreign, 2, &["in this format no leadership is handed over", "zkelect step-down"]);

    let unreached = hand_over("127.0.0.1:1", &["host-b", "--timeout", "300ms"]);
    assert_is(&unreached, 69, &["check --servers"]);
    let relative = output(&["hand-over", "--servers=127.0.0.1:1", "--election=leader", "host-b"]);
    assert_is(&relative, 2, &["write --election as an absolute path"]);
    assert_is(&hand_over("127.0.0.1:1", &[]), 2, &["<ID"]);
    let both = hand_over("127.0.0.1:1", &["host-b", "--token", "1"]);
    assert_is(&both, 2, &["cannot be used with"]);
}
