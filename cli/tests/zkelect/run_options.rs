//! The identity that zkelect has for the servers, the data that it writes there, and the grade of
//! its lease.

use std::fs;

use election_tokio::Client;
use election_tokio::acl::{Acl, Permissions};
use election_tokio::format::Format;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::wait::SOON;

use crate::support::{
    BEATING, ELECTION, Folder, LOCK, Plan, Run, observed, output, servers, text, wait_for_replies,
};

/// Makes a file with this content, as `--auth` wants it.
fn identity(folder: &Folder, name: &str, content: &str) -> String {
    let path = folder.file(name);
    fs::write(&path, content).expect("it is written");
    format!("digest:{}", path.display())
}

async fn client(servers: &str, user: Option<&str>) -> Client {
    let mut builder = Client::builder(servers);
    if let Some(user) = user {
        builder = builder.auth("digest", user.as_bytes());
    }
    builder.connect().await.expect("a session")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_and_an_access_list_keep_others_out_of_an_election() {
    let (folder, servers) = (Folder::new("auth"), servers("auth"));
    let auth = identity(&folder, "bob", "bob:secret\n");
    let options = ["--auth", &auth, "--acl", "creator"];
    let plan = |id| Plan { servers: &servers, id, options: &options, script: BEATING };
    let leader = Run::start(&folder, &plan("a"));
    let elected = leader.wait_for("elected", 1);
    let candidate = format!("{ELECTION}/{}", elected["candidate"].as_str().expect("a name"));

    let bob = client(&servers, Some("bob:secret")).await;
    for path in [ELECTION, &candidate] {
        let acls = bob.get_acl(path).await.expect("bob may read it").to_acls();
        let of_bob = acls.iter().all(|acl: Acl<'_>| {
            acl.scheme == "digest"
                && acl.id.starts_with("bob:")
                && acl.permissions == Permissions::ALL
        });
        assert!(of_bob && acls.len() == 1, "{path}: {acls:?}");
    }
    let stranger = client(&servers, None).await;
    assert!(stranger.get_data(&candidate).await.expect_err("it is bob's").is_no_auth());

    Run::start(&folder, &plan("b")).wait_for("following", 1);
    let other = identity(&folder, "eve", "eve:guess");
    for options in [[].as_slice(), &["--auth", &other]] {
        let line = ["run", "--servers", &servers, "--election", ELECTION];
        let run = output(&[&line, options, &["--", "true"]].concat());
        assert_eq!(run.status.code(), Some(77), "{}", text(&run.stderr));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_and_semaphores_have_an_identity_and_an_access_list_too() {
    let (folder, servers) = (Folder::new("auth-lock"), servers("auth-lock"));
    let auth = identity(&folder, "bob", "bob:secret");
    let options = ["--auth", &auth, "--acl", "world:anyone:r,auth::cdrwa"];
    let plan = |id| Plan { servers: &servers, id, options: &options, script: BEATING };
    let runs = [Run::lock(&folder, &plan("l")), Run::semaphore(&folder, &plan("s"))];
    let stranger = client(&servers, None).await;
    for (run, node) in runs.iter().zip([LOCK, "/semaphore/leases"]) {
        let acquired = run.wait_for("acquired", 1);
        let znode = format!("{node}/{}", acquired["znode"].as_str().expect("a name"));
        let acls = stranger.get_acl(&znode).await.expect("everybody may read it").to_acls();
        assert_eq!(acls.len(), 2, "{acls:?}");
        stranger.get_data(&znode).await.expect("everybody may read it");
        let refused = stranger.set_data(&znode, "", election_tokio::Version::ANY).await;
        assert!(refused.expect_err("only bob may write").is_no_auth());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_see_of_a_contender_can_be_chosen() {
    let (folder, servers) = (Folder::new("data"), servers("data"));
    let options = ["--data", "10.0.0.5:8080"];
    let plan = Plan { servers: &servers, id: "a", options: &options, script: BEATING };
    Run::start(&folder, &plan).wait_for("elected", 1);
    let lock = Run::lock(&folder, &plan);
    lock.wait_for("acquired", 1);
    let client = client(&servers, None).await;
    let seen = client.read_lock(LOCK).contenders().await.expect("they are read");
    assert_eq!(seen.first().map(|it| &*it.data), Some(b"10.0.0.5:8080".as_slice()));
}

/// An election in each format that another library has; the second nominee sees the first.
#[tokio::test(flavor = "multi_thread")]
async fn elections_are_held_in_the_formats_of_other_libraries() {
    let formats = [
        ("curator-latch", Format::curator_latch()),
        ("curator-lock", Format::curator_lock()),
        ("kazoo", Format::kazoo()),
        ("leader-election-support", Format::leader_election_support()),
        ("go-leaderelection", Format::go_leaderelection()),
        ("zk-election", Format::zk_election()),
    ];
    for (name, format) in formats {
        let (folder, servers) = (Folder::new(name), servers(name));
        let options = ["--format", name];
        let plan = |id| Plan { servers: &servers, id, options: &options, script: BEATING };
        let leader = Run::start(&folder, &plan("a"));
        let elected = leader.wait_for("elected", 1);
        let follower = Run::start(&folder, &plan("b"));
        let following = follower.wait_for("following", 1);
        assert_eq!(following["predecessor"], elected["candidate"], "{name}");
        let client = client(&servers, None).await;
        let election = client.election(ELECTION).format(format);
        assert_eq!(election.candidates().await.expect("they are read").len(), 2, "{name}");
    }
}

#[test]
fn the_lease_rests_on_what_was_asked_for() {
    let (folder, servers) = (Folder::new("lease"), servers("lease"));
    let (proxy, by_proxy) = observed(&servers);
    let options = ["--lease-grade", "contact", "--lease-margin", "50%", "--session-timeout", "4s"];
    let plan = Plan { servers: &by_proxy, id: "a", options: &options, script: BEATING };
    let run = Run::start(&folder, &plan);
    let valid_for = run.wait_for("elected", 1)["valid_for_ms"].as_u64().expect("a number");
    assert!(valid_for <= 2000, "half of the session timeout is kept back: {valid_for}");
    // Pings alone: of the other grades, each proof is a `sync` or a transaction.
    wait_for_replies(&proxy, &[Opcode::PING], 3);
    proxy
        .wait_for(SOON, "no sync", |counters| counters.replies(Opcode::SYNC) == 0)
        .expect("it does not sync");
    drop(run);

    let (proxy, by_proxy) = observed(&servers);
    let options = ["--lease-grade", "sync", "--session-timeout", "4s"];
    let plan = Plan { servers: &by_proxy, id: "b", options: &options, script: BEATING };
    let _run = Run::start(&folder, &plan);
    wait_for_replies(&proxy, &[Opcode::SYNC], 3);
}

#[test]
fn a_margin_that_heartbeats_cannot_keep_is_refused_before_anything_is_done() {
    let line =
        ["run", "--servers=127.0.0.1:1", "--election=/e", "--lease-margin=21%", "--", "true"];
    let output = output(&line);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn an_identity_that_cannot_be_read_is_named() {
    for (auth, code, said) in [
        ("digest:/no/such/file", 71, "/no/such/file"),
        ("digest", 2, "SCHEME:FILE"),
        (":x", 2, "SCHEME:FILE"),
    ] {
        let line = ["run", "--servers=127.0.0.1:1", "--election=/e", "--auth", auth, "--", "true"];
        let output = output(&line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}
