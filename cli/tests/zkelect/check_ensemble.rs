//! `zkelect check` of an election that processes hold on an ensemble of three.

use std::process::Output;

use election_tokio::election::{Leadership, Nomination, Role};
use election_tokio::{Client, CreateMode, Version};
use rustix::process::Signal;
use serde_json::Value;
use zk_test_kit::election::soon;
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::{Ensemble, Member, Mode, Options};

use crate::served::Served;
use crate::support::{
    BEATING, ELECTION, Folder, Plan, Run, assert_one_at_a_time, is_of_release, output, servers,
    text, token,
};

fn complete(ensemble: &Ensemble) {
    let is_complete = || ensemble.leader().is_some() && ensemble.followers().len() == 2;
    eventually(SOON, "two members follow the third", is_complete).expect("they do");
}

fn check(servers: &str, options: &[&str]) -> Output {
    let line = ["check", "--servers", servers, "--election", ELECTION, "--timeout", "15s"];
    output(&[&line, options].concat())
}

/// Every line says `ok`, but for those of the release, and so does the exit code. Returns what was said.
fn assert_all_is_well(servers: &str, when: &str) -> String {
    let checked = check(servers, &[]);
    let said = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{when}: {said}{}", text(&checked.stderr));
    let is_well = |line: &str| line.starts_with("ok ") || is_of_release(line);
    assert!(said.lines().all(is_well), "{when}: {said}");
    for step in ["list", "order", "stand", "marks"] {
        assert!(said.contains(&format!("\nok       {step}: ")), "{when}: no {step}: {said}");
    }
    assert!(said.contains("3 members vote: it bears the failure of 1"), "{when}: {said}");
    said
}

/// The findings that are not `ok`, but for that of the release.
fn problems(servers: &str, options: &[&str], code: i32) -> Vec<Value> {
    let checked = check(servers, &[&["--json"], options].concat());
    assert_eq!(checked.status.code(), Some(code), "{checked:?}");
    let found: Vec<Value> = serde_json::from_slice(&checked.stdout).expect("a JSON array");
    let is_problem = |it: &Value| it["verdict"] != "ok" && it["step"] != "durability";
    found.into_iter().filter(is_problem).collect()
}

fn has(finding: &Value, field: &str, wanted: &str) -> bool {
    finding[field].as_str().is_some_and(|text| text.contains(wanted))
}

/// The problem is this one, and no other is told.
fn assert_only(problems: &[Value], (step, verdict): (&str, &str), said: &[&str]) {
    let [problem] = problems else { panic!("not one problem: {problems:?}") };
    assert_eq!(
        (&problem["step"], &problem["verdict"]),
        (&step.into(), &verdict.into()),
        "{problem}"
    );
    let all = format!("{} {}", problem["says"], problem["advice"]);
    for said in said {
        assert!(all.contains(said), "{said:?} is not in: {problem}");
    }
}

fn start(folder: &Folder, servers: &str, id: &str) -> Run {
    let options = ["--session-timeout", "15s", "--grace", "1s"];
    Run::start(folder, &Plan { servers, id, options: &options, script: BEATING })
}

/// Takes the run that works with a greater token than `before` out of `runs`, with its token.
fn leader(runs: &mut Vec<Run>, before: i64) -> (Run, i64) {
    let mut found = None;
    eventually(SOON * 2, "one is elected", || {
        found = runs.iter().enumerate().find_map(|(place, run)| {
            let token = token(&run.event("elected")?);
            (token > before).then_some((place, token))
        });
        found.is_some()
    })
    .expect("a leader");
    let (place, token) = found.expect("it was found");
    let run = runs.remove(place);
    run.wait_for_log(&format!("beat {token}"));
    (run, token)
}

#[test]
fn an_election_that_goes_on_over_failures_is_well_and_failed_members_are_told() {
    let ensemble = Options::new().start_ensemble().expect("an ensemble");
    complete(&ensemble);
    let servers = ensemble.connect_string();
    let folder = Folder::new("check-ensemble");
    let mut runs: Vec<Run> = ["a", "b", "c", "d"].map(|id| start(&folder, &servers, id)).into();
    for run in &runs {
        eventually(SOON, "all stand", || run.count("elected") + run.count("following") > 0)
            .expect("they do");
    }
    let (mut first, led) = leader(&mut runs, 0);
    let said = assert_all_is_well(&servers, "four stand");
    let leads = format!("(token {led}) is the first of 4, each created after those ahead of it");
    assert!(said.contains(&leads), "{said}");

    first.signal(Signal::TERM);
    first.ended();
    let (second, led) = leader(&mut runs, led);
    let said = assert_all_is_well(&servers, "a leader has ended");
    assert!(said.contains(&format!("(token {led}) is the first of 3")), "{said}");

    // Its candidate stands until its session has expired, which is as it should be.
    second.signal(Signal::KILL);
    assert_all_is_well(&servers, "a leader was killed");
    let (third, led) = leader(&mut runs, led);
    let said = assert_all_is_well(&servers, "the next one has taken over");
    assert!(said.contains(&format!("(token {led}) is the first of 2")), "{said}");

    for member in [ensemble.followers()[0], ensemble.leader().expect("a leader")] {
        let server = ensemble.member(member);
        server.kill().expect("it is killed");
        ensemble.wait_for_leader(SOON).expect("the others have a leader");
        let found = problems(&servers, &[], 1);
        assert_only(&found, ("connect", "failed"), &["nothing listens there"]);
        assert_eq!(found[0]["server"], server.connect_string());
        server.restart().expect("it is back");
        complete(&ensemble);
        assert_all_is_well(&servers, "the member is back");
    }
    // The sessions were kept: none of it was a reason for a take-over.
    assert_eq!(third.count("lost"), 0, "{:?}", third.names());

    for member in [ensemble.followers()[0], ensemble.followers()[1]] {
        ensemble.member(member).kill().expect("it is killed");
    }
    let is_none = || ensemble.leader().is_none() && ensemble.followers().is_empty();
    eventually(SOON, "the third one knows that it is alone", is_none).expect("it does");
    let found = problems(&servers, &[], 1);
    let is_session = |it: &&Value| it["step"] == "session" && it["verdict"] == "failed";
    assert_eq!(found.iter().filter(is_session).count(), 1, "one member runs: {found:?}");
    let said =
        |text: &str| found.iter().any(|it| it["says"].as_str().is_some_and(|it| it.contains(text)));
    assert!(said("it has no quorum"), "{found:?}");
    ensemble.start_all().expect("they are back");
    complete(&ensemble);
    assert_all_is_well(&servers, "there is a quorum again");
    assert_one_at_a_time(&third.log());
}

/// ZooKeeper's leader was left by the others, and does not know it yet.
#[test]
fn a_member_that_was_deposed_unawares_is_told() {
    // It would serve for 20 s.
    let linked = Options::new().sync_limit(100).start_linked_ensemble().expect("an ensemble");
    let ensemble = linked.ensemble();
    complete(ensemble);
    let servers = ensemble.connect_string();
    let folder = Folder::new("check-deposed");
    let run = start(&folder, &servers, "a");
    run.wait_for("elected", 1);
    assert_all_is_well(&servers, "all are together");
    let deposed = ensemble.leader().expect("a leader");
    linked.desert(deposed);
    let others_lead = || {
        ensemble.followers().len() == 1 && {
            let mut others = Member::ALL.into_iter().filter(|member| *member != deposed);
            others
                .any(|member| ensemble.member(member).mode().is_ok_and(|mode| mode == Mode::Leader))
        }
    };
    eventually(SOON, "one of the others leads", others_lead).expect("it does");

    let found = problems(&servers, &[], 1);
    let of = |step: &str| found.iter().find(|finding| finding["step"] == step);
    let of = |step| of(step).unwrap_or_else(|| panic!("no {step}: {found:?}"));
    let session = of("session");
    assert_eq!(session["server"], ensemble.member(deposed).connect_string(), "{found:?}");
    assert_eq!(session["verdict"], "failed");
    assert!(has(session, "advice", "which a quorum has to commit"), "{session}");
    let several = of("ensemble");
    assert_eq!(several["verdict"], "failed");
    assert!(has(several, "says", "left by the others"), "{several}");
    assert!(has(several, "advice", "again"), "{several}");

    linked.reunite(deposed);
    complete(ensemble);
    assert_all_is_well(&servers, "all are together again");
}

async fn leads_with_the_second_number(client: &Client) -> (Nomination, Leadership) {
    let reaches = async |nomination: &Nomination, wanted: fn(&Role) -> bool| {
        let mut status = nomination.updates();
        let reached = status.wait_for(|status| wanted(&status.role));
        drop(soon("it stands", reached).await.expect("in time").expect("it goes on"));
    };
    let first = client.election(ELECTION).nominate().expect("a nomination");
    reaches(&first, |role| matches!(role, Role::Leading { .. })).await;
    let mut second = client.election(ELECTION).data("host-a").nominate().expect("a nomination");
    reaches(&second, |role| matches!(role, Role::Following { .. })).await;
    first.withdraw().await.expect("it withdraws");
    let leadership = soon("it leads", second.elected()).await.expect("in time");
    (second, leadership.expect("it is elected"))
}

/// Two programs lead at one time, and a third is kept from leading: the leader of the library does
/// not see it, so nothing else tells.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_that_may_lead_beside_the_leader_are_told_with_how_to_remove_them() {
    let served = Served::start("check-overlap", &[]);
    for servers in [served.address().to_owned(), servers("check-overlap")] {
        let client = || async { Client::builder(&servers).connect().await.expect("a session") };
        let (own, other) = (client().await, client().await);
        let (_nomination, leadership) = leads_with_the_second_number(&own).await;
        let token = leadership.token().to_string();
        assert_eq!(problems(&servers, &[], 0), Vec::<Value>::new());

        let create = async |name: &str, mode| {
            let path = format!("{ELECTION}/{name}");
            other.create(&path, "host-b", mode).await.expect("it is created")
        };
        let forged = create("forged-latch-0000000000", CreateMode::Ephemeral).await;
        let forged = forged.stat.czxid.get().to_string();
        assert!(leadership.is_valid(), "it leads on, beside the other");
        let (leader, other_leader) =
            (format!("host-a (token {token})"), format!("host-b (token {forged})"));
        let evict = format!("zkelect evict --token {forged}");
        let found = problems(&servers, &[], 1);
        assert_only(
            &found,
            ("order", "failed"),
            &[&leader, &other_leader, "both may lead", &evict],
        );
        let evicted =
            output(&["evict", "--servers", &servers, "--election", ELECTION, "--token", &forged]);
        assert!(evicted.status.success(), "{evicted:?}");
        assert_eq!(problems(&servers, &[], 0), Vec::<Value>::new());

        let of_kazoo = format!("{}__lock__", "ab".repeat(16));
        let created = create(&of_kazoo, CreateMode::EphemeralSequential).await;
        let said = ["__lock__", "format kazoo", "both may lead", "--format kazoo"];
        assert_only(&problems(&servers, &[], 1), ("strangers", "failed"), &said);
        let found = problems(&servers, &["--format", "kazoo"], 1);
        assert_only(&found, ("strangers", "failed"), &["-latch-", "--format curator-latch"]);
        other.delete(&created.path, Version::ANY).await.expect("it is deleted");
        // It goes with no session, and leads nothing.
        create(&of_kazoo, CreateMode::PersistentSequential).await;
        assert_eq!(problems(&servers, &[], 0), Vec::<Value>::new());

        let last = create("forged-latch-2147483647", CreateMode::Ephemeral).await;
        let said = ["forged-latch-2147483647 leads nothing", "another election node"];
        assert_only(&problems(&servers, &[], 1), ("exhausted", "failed"), &said);
        other.delete(&last.path, Version::ANY).await.expect("it is deleted");

        let behind = create("forged-latch-0000000077", CreateMode::Persistent).await;
        let evict = format!("zkelect evict --token {}", behind.stat.czxid.get());
        assert_only(&problems(&servers, &[], 1), ("blocked", "failed"), &["behind it", &evict]);
        assert!(leadership.is_valid());

        let operate = |subcommand: &str| {
            let done = output(&[subcommand, "--servers", &servers, "--election", ELECTION]);
            assert!(done.status.success(), "{done:?}");
        };
        operate("end");
        assert_only(&problems(&servers, &[], 1), ("ended", "failed"), &["zkelect reopen"]);
        operate("reopen");
        assert_eq!(problems(&servers, &[], 0), Vec::<Value>::new());
    }
}
