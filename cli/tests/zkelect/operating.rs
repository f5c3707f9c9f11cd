//! `zkelect verify`, `step-down` and `evict`.

use std::process::Output;

use election_tokio::election::{Leadership, LostReason, Nomination, Role};
use election_tokio::{Client, CreateMode};
use serde_json::Value;

use crate::served::Served;
use crate::support::{ELECTION, output, servers, text};

fn line<'a>(servers: &'a str, subcommand: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&[subcommand, "--servers", servers, "--election", ELECTION], options].concat()
}

fn operate(servers: &str, subcommand: &str, options: &[&str]) -> Output {
    output(&line(servers, subcommand, options))
}

/// Runs the subcommand without blocking the runtime that a leader of this process lives on.
async fn operate_meanwhile(servers: &str, subcommand: &str, options: &[&str]) -> Output {
    let line: Vec<String> =
        line(servers, subcommand, options).into_iter().map(str::to_owned).collect();
    let run = move || output(&line.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.expect("no panic")
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

async fn led(client: &Client, name: &str) -> (Nomination, Leadership) {
    let election = client.election(ELECTION).data(name.to_owned());
    let mut nomination = election.nominate().expect("a nomination");
    let leadership = nomination.elected().await.expect("it is elected");
    (nomination, leadership)
}

/// Returns a nomination, once it waits.
async fn waiting(client: &Client, name: &str) -> Nomination {
    let election = client.election(ELECTION).data(name.to_owned());
    let nomination = election.nominate().expect("a nomination");
    let mut status = nomination.updates();
    let follows = status.wait_for(|status| matches!(status.role, Role::Following { .. }));
    drop(follows.await.expect("it follows"));
    nomination
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_verified_by_the_exit_code() {
    let served = Served::start("verify", &[]);
    for servers in [served.address().to_owned(), servers("verify")] {
        let of = |token: i64| operate(&servers, "verify", &[&token.to_string()]);
        assert_is(&of(1), 1, &["token 1 leads no more: there is no leader"]);
        let client = client(&servers).await;
        let (_nomination, leadership) = led(&client, "host-a").await;
        let token = leadership.token().get();
        assert_is(&of(token), 0, &[&format!("token {token} leads\n")]);
        assert_is(&of(token - 1), 1, &[&format!("no more: the leader has token {token}")]);
        assert_is(&of(token + 1), 1, &["does not lead yet"]);
        let answer = operate(&servers, "verify", &["--json", &(token - 1).to_string()]);
        let expected = format!(r#"{{"verdict":"over","token":{},"leader":{token}}}"#, token - 1);
        assert_eq!(text(&answer.stdout), expected + "\n");
    }
}

/// The names are no ids for this library's formats, and of another format than asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_of_another_library_is_seen_in_its_format() {
    let served = Served::start("verify-format", &[]);
    let client = client(served.address()).await;
    client.create(ELECTION, "", CreateMode::Persistent).await.expect("it is created");
    let name = format!("{ELECTION}/n_");
    let mode = CreateMode::EphemeralSequential;
    let created = client.create(&name, "java", mode).await.expect("it is created");
    let stat = client.exists(&created.path).await.expect("it is asked").expect("it is there");
    let token = stat.czxid.get().to_string();
    assert_is(&operate(served.address(), "verify", &[&token]), 1, &["there is no leader"]);
    let format = ["--format", "leader-election-support"];
    assert_is(&operate(served.address(), "verify", &[&format[..], &[&token]].concat()), 0, &[]);
    assert_is(&operate(served.address(), "evict", &format), 0, &["evicted java (token "]);
    assert_is(&operate(served.address(), "evict", &format), 1, &["no candidate stands"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_heeds_a_request_to_step_down_is_followed_by_the_next() {
    let served = Served::start("step-down", &[]);
    for servers in [served.address().to_owned(), servers("step-down")] {
        let none = operate(&servers, "step-down", &["--json"]);
        assert_is(&none, 1, &["/leader has no leader", r#"{"outcome":"no_leader"}"#]);
        let client = client(&servers).await;
        let (_nomination, leadership) = led(&client, "host-a").await;
        let mut other = waiting(&client, "host-b").await;
        let token = leadership.token();
        let heeds = async {
            let asked = leadership.step_down_requested().await.expect("it leads");
            assert_eq!((asked.by.as_str(), asked.reason.as_str()), ("ops", "new disks"));
            leadership.step_down().await.expect("it is done");
        };
        let options = ["--by", "ops", "--reason", "new disks", "--json"];
        let asked = operate_meanwhile(&servers, "step-down", &options);
        let (asked, ()) = tokio::join!(asked, heeds);
        assert_is(&asked, 0, &["host-a (token"]);
        let next = other.elected().await.expect("it is elected");
        let told = json(&asked);
        assert_eq!(told["outcome"], "stepped_down");
        assert_eq!(
            (&told["asked"]["id"], &told["asked"]["token"]),
            (&"host-a".into(), &token.get().into())
        );
        assert_eq!(told["leader"]["id"], "host-b");
        assert_eq!(told["leader"]["token"], next.token().get());
    }
}

/// It stands again at once, and no other one does.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_alone_is_told_to_lead_again() {
    let served = Served::start("step-down-alone", &[]);
    let client = client(served.address()).await;
    let (mut nomination, leadership) = led(&client, "host-a").await;
    let heeds = async {
        leadership.step_down_requested().await.expect("it leads");
        leadership.step_down().await.expect("it is done");
        nomination.elected().await.expect("it is elected").token()
    };
    let asked = operate_meanwhile(served.address(), "step-down", &[]);
    let (asked, again) = tokio::join!(asked, heeds);
    let said = format!("leads no more; host-a (token {again}) leads, the same process again");
    assert_is(&asked, 0, &[&said]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_does_not_heed_it_leads_still() {
    let served = Served::start("step-down-ignored", &[]);
    let client = client(served.address()).await;
    let (_nomination, leadership) = led(&client, "host-a").await;
    let ignored = operate(served.address(), "step-down", &["--within", "300ms"]);
    assert_is(&ignored, 1, &["host-a (token", "leads still after 300ms", "zkelect evict"]);
    assert_eq!(text(&ignored.stdout), "");
    let ignored = operate(served.address(), "step-down", &["--within", "300ms", "--json"]);
    assert_eq!(json(&ignored)["outcome"], "still_leads");
    assert!(leadership.is_valid());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_candidate_that_was_meant_is_evicted_and_no_other() {
    let served = Served::start("evict", &[]);
    for servers in [served.address().to_owned(), servers("evict")] {
        assert_is(&operate(&servers, "evict", &[]), 1, &["no candidate stands at /leader"]);
        let client = client(&servers).await;
        let (_nomination, leadership) = led(&client, "host-a").await;
        let _second = waiting(&client, "host-b").await;
        let _third = waiting(&client, "host-b").await;
        let several = operate(&servers, "evict", &["host-b"]);
        assert_is(&several, 2, &["several candidates are called host-b", "--token"]);
        assert_is(&operate(&servers, "evict", &["host"]), 1, &["no such candidate"]);
        let both = operate(&servers, "evict", &["host-a", "--token", "1"]);
        assert_is(&both, 2, &["cannot be used with"]);

        let candidates = client.election(ELECTION).candidates().await.expect("a list");
        let last = candidates.last().expect("three");
        let evicted = operate(&servers, "evict", &["--json", "--token", &last.token.to_string()]);
        assert_is(&evicted, 0, &[]);
        let told = json(&evicted);
        assert_eq!(
            (&told["outcome"], &told["candidate"]["id"]),
            (&"evicted".into(), &"host-b".into())
        );
        assert_eq!(told["candidate"]["znode"], last.name);
        assert_eq!(client.exists(&format!("{ELECTION}/{}", last.name)).await, Ok(None));
        assert!(leadership.is_valid());

        let leader = operate(&servers, "evict", &[]);
        assert_is(&leader, 0, &[&format!("evicted host-a (token {})", leadership.token())]);
        assert_eq!(leadership.lost().await, LostReason::Evicted);
        let znode = client.election(ELECTION).candidates().await.expect("a list");
        let znode = znode.first().expect("a leader").name.clone();
        assert_is(&operate(&servers, "evict", &[&znode]), 0, &["evicted host-b (token"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_an_operator_from_it_is_told_with_what_to_do() {
    for (subcommand, rest) in
        [("verify", &["1"][..]), ("step-down", &[]), ("evict", &[]), ("watch", &[])]
    {
        let relative = [&[subcommand, "--servers=127.0.0.1:1", "--election=leader"], rest].concat();
        assert_is(&output(&relative), 2, &["write --election as an absolute path"]);
    }
    for (subcommand, rest) in [("verify", &["1"][..]), ("step-down", &[]), ("evict", &[])] {
        let options = [&["--timeout=300ms"], rest].concat();
        assert_is(&operate("127.0.0.1:1", subcommand, &options), 69, &["check --servers"]);
    }
}
