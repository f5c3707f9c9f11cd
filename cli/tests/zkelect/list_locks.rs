//! `zkelect list` of what is no election.

use election_tokio::{Client, CreateMode};
use serde_json::Value;

use crate::lock::{HOLDING, contend, stand};
use crate::served::Served;
use crate::support::{Folder, LOCK, Plan, Run, SEMAPHORE, output, text};
use crate::terminal::is_fit;

fn list(servers: &str, options: &[&str]) -> String {
    let list = output(&[&["list", "--servers", servers], options].concat());
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    assert!(is_fit(&text(&list.stdout)), "{:?}", text(&list.stdout));
    text(&list.stdout)
}

fn rows(servers: &str, options: &[&str]) -> Vec<Value> {
    serde_json::from_str(&list(servers, &[options, &["--json"]].concat())).expect("a JSON array")
}

/// Returns one field of each row.
fn column<'a>(rows: &'a [Value], name: &str) -> Vec<&'a str> {
    rows.iter().map(|row| row[name].as_str().unwrap_or("-")).collect()
}

/// Returns the first words of each line, without the title and the header.
fn words(table: &str, count: usize) -> Vec<Vec<&str>> {
    let lines = table.lines().skip(2);
    lines.map(|line| line.split_whitespace().take(count).collect()).collect()
}

#[tokio::test]
async fn readers_in_front_hold_a_lock_and_others_wait_behind_which() {
    let server = Served::start("list-lock", &[]);
    let servers = server.address();
    let folder = Folder::new("list-lock-runs");
    let mut runs = Vec::new();
    for (count, (id, options)) in [
        ("a", &["--shared"][..]),
        ("b", &["--shared"]),
        ("c", &[]),
        ("d", &["--shared"]),
        ("e", &[]),
    ]
    .into_iter()
    .enumerate()
    {
        runs.push(Run::lock(&folder, &Plan { servers, id, options, script: HOLDING }));
        contend(servers, count + 1).await;
    }
    let table = list(servers, &[LOCK]);
    assert!(table.starts_with("lock, in the format curator-read-write\n#  ROLE"), "{table}");
    let expected: [&[&str]; 5] = [
        &["1", "holder", "shared", "-", "a"],
        &["2", "holder", "shared", "-", "b"],
        &["3", "waits", "exclusive", "2", "c"],
        &["4", "waits", "shared", "3", "d"],
        &["5", "waits", "exclusive", "4", "e"],
    ];
    assert_eq!(words(&table, 5), expected, "{table}");

    let rows = rows(servers, &[LOCK]);
    assert_eq!(column(&rows, "role"), ["holder", "holder", "waits", "waits", "waits"]);
    assert_eq!(column(&rows, "id"), ["a", "b", "c", "d", "e"]);
    let znodes = column(&rows, "znode");
    assert_eq!(column(&rows, "behind"), ["-", "-", znodes[1], znodes[2], znodes[3]]);
    assert!(column(&rows, "format").iter().all(|format| *format == "curator-read-write"));
    let acquired = runs[1].wait_for("acquired", 1);
    assert_eq!((&rows[1]["znode"], &rows[1]["token"]), (&acquired["znode"], &acquired["token"]));
}

#[tokio::test]
async fn an_election_is_recognised_too() {
    let server = Served::start("list-recognised", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let mut nomination = client.election("/leader").data("a").nominate().expect("a nomination");
    let leadership = nomination.elected().await.expect("it leads");
    let by_name = list(server.address(), &["--election", "/leader"]);
    let recognised = list(server.address(), &["/leader"]);
    assert_eq!(recognised, format!("election, in the format curator-latch\n{by_name}"));
    assert!(by_name.contains(&format!("leader  a   {}", leadership.candidate())), "{by_name}");
}

/// The roles that the formats of other libraries tell.
#[tokio::test]
async fn those_of_other_libraries_and_what_is_foreign_are_told() {
    let server = Served::start("list-formats", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let uuid = "abababab-abab-abab-abab-abababababab";
    let hex = uuid.replace('-', "");
    for (label, prefixes, title, roles) in [
        (
            "kazoo",
            vec![format!("{hex}__lock__"), format!("{hex}__rlock__"), "n_".into()],
            "lock, in the format kazoo",
            &["holder", "waits", "foreign"][..],
        ),
        (
            "mutex",
            vec![
                format!("_c_{uuid}-lock-"),
                format!("_c_{uuid}-lock-"),
                format!("_c_{uuid}-latch-"),
            ],
            "lock, in the format curator-lock",
            &["holder", "waits", "foreign"],
        ),
        (
            "support",
            vec!["n_".into(), "n_".into(), format!("{hex}__lock__")],
            "election, in the format leader-election-support",
            &["leader", "follower", "foreign"],
        ),
    ] {
        let path = format!("/{label}");
        client.create(&path, "", CreateMode::Persistent).await.expect("it is created");
        client.create(&format!("{path}/config"), "", CreateMode::Persistent).await.expect("it is");
        for prefix in prefixes {
            let prefix = format!("{path}/{prefix}");
            let mode = CreateMode::EphemeralSequential;
            client.create(&prefix, label, mode).await.expect("it is created");
        }
        let table = list(server.address(), &[&path]);
        assert!(table.starts_with(title), "{table}");
        let rows = rows(server.address(), &[&path]);
        assert_eq!(column(&rows, "role"), roles, "{rows:?}");
        assert_eq!(rows[2]["format"], Value::Null);
        assert_eq!(rows[1]["behind"], rows[0]["znode"]);
    }
    // Whatever it looks like.
    let as_latches = rows(server.address(), &["/mutex", "--format", "curator-latch"]);
    assert_eq!(column(&as_latches, "role"), ["leader", "foreign", "foreign"]);
    let as_elections = rows(server.address(), &["--election", "/mutex"]);
    assert_eq!(column(&as_elections, "role"), ["leader", "foreign", "foreign"]);
}

#[tokio::test]
async fn what_blocks_a_lock_is_shown_as_that() {
    let server = Served::start("list-lock-blocked", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create(LOCK, "", CreateMode::Persistent).await.expect("it is created");
    let long = format!("{}-__READ__0000000001", "x".repeat(100));
    for (name, mode) in [
        ("a-__READ__0000000000", CreateMode::Persistent),
        (&long, CreateMode::Ephemeral),
        ("c-__WRIT__0000000002", CreateMode::Ephemeral),
    ] {
        client.create(&format!("{LOCK}/{name}"), "", mode).await.expect("it is created");
    }
    let table = list(server.address(), &[LOCK]);
    assert!(table.contains("\n1  blocks: not ephemeral        shared "), "{table}");
    assert!(table.contains("\n2  blocks: name above 64 bytes  shared "), "{table}");
    assert!(table.contains("\n3  waits                        exclusive  2 "), "{table}");
    let rows = rows(server.address(), &[LOCK]);
    assert_eq!(column(&rows, "role"), ["blocks", "blocks", "waits"]);
    assert_eq!(column(&rows, "blocks"), ["not ephemeral", "name above 64 bytes", "-"]);
    assert_eq!(rows[1]["znode"], long);
}

#[tokio::test]
async fn names_and_data_of_contenders_for_a_lock_are_escaped() {
    const FOREIGN: &str = "a\u{202e}\u{200b}\u{2028}b";
    const SHOWN: &str = r"a\u{202e}\u{200b}\u{2028}b";
    let server = Served::start("list-lock-foreign", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create(LOCK, "", CreateMode::Persistent).await.expect("it is created");
    for (label, number) in [("__READ__", 0), ("__WRIT__", 1), ("other-", 2)] {
        let path = format!("{LOCK}/{FOREIGN}{label}{number:010}");
        let data = format!("{FOREIGN}\u{9b}2J");
        client.create(&path, data, CreateMode::Ephemeral).await.expect("it is created");
    }
    let table = list(server.address(), &[LOCK]);
    assert_eq!(table.matches(SHOWN).count(), 3, "{table}");
    let rows = rows(server.address(), &[LOCK]);
    assert_eq!(column(&rows, "role"), ["holder", "waits", "foreign"]);
    assert_eq!(rows[1]["behind"], format!("{FOREIGN}__READ__0000000000"));
}

#[tokio::test]
async fn permits_are_listed_before_the_contenders_that_wait_for_one() {
    let server = Served::start("list-semaphore", &[]);
    let servers = server.address();
    let folder = Folder::new("list-semaphore-runs");
    let start = |id| {
        let plan = Plan { servers, id, options: &[], script: HOLDING };
        Run::semaphore(&folder, &plan)
    };
    let holders = ["a", "b"].map(|id| {
        let run = start(id);
        run.wait_for_log(&format!("up {id}"));
        run
    });
    // The next one has its turn, and waits by a znode of its own among the permits.
    let next = start("c");
    stand(servers, "/semaphore/leases", 3).await;
    let last = start("d");
    stand(servers, "/semaphore/locks", 2).await;
    let table = list(servers, &[SEMAPHORE]);
    assert!(table.starts_with("semaphore, in the format curator-semaphore\n#  ROLE"), "{table}");
    let expected: [&[&str]; 5] = [
        &["1", "holder", "-", "a"],
        &["2", "holder", "-", "b"],
        &["3", "next", "-", "c"],
        &["4", "next", "-", "c"],
        &["5", "waits", "4", "d"],
    ];
    assert_eq!(words(&table, 4), expected, "{table}");
    let rows = rows(servers, &[SEMAPHORE]);
    assert_eq!(column(&rows, "role"), ["holder", "holder", "next", "next", "waits"]);
    assert!(column(&rows, "format").iter().all(|format| *format == "curator-semaphore"));
    assert_eq!(rows[4]["behind"], rows[3]["znode"]);
    let acquired = holders[0].wait_for("acquired", 1);
    let znode = acquired["znode"].as_str().expect("a name");
    assert_eq!(rows[0]["znode"], format!("leases/{znode}"));
    assert_eq!(rows[0]["token"], acquired["token"]);
    drop((next, last));
}

#[tokio::test]
async fn what_is_hostile_below_a_semaphore_is_shown_as_that() {
    let server = Served::start("list-semaphore-hostile", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    for node in [SEMAPHORE, "/semaphore/leases", "/semaphore/locks"] {
        client.create(node, "", CreateMode::Persistent).await.expect("it is created");
    }
    for (name, mode) in [
        ("leases/a\u{202e}-lease-0000000000", CreateMode::Persistent),
        ("leases/b\u{202e}-other-0000000001", CreateMode::Ephemeral),
        ("locks/c\u{202e}-lock-0000000000", CreateMode::Ephemeral),
        ("locks/d\u{202e}", CreateMode::Ephemeral),
    ] {
        let path = format!("{SEMAPHORE}/{name}");
        client.create(&path, "\u{9b}2J", mode).await.expect("it is created");
    }
    list(server.address(), &[SEMAPHORE]);
    let rows = rows(server.address(), &[SEMAPHORE]);
    assert_eq!(column(&rows, "role"), ["blocks", "next", "foreign"]);
    assert_eq!(rows[2]["znode"], "leases/b\u{202e}-other-0000000001");
}
