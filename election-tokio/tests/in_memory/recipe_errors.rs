//! Errors of recipes: each names recipe, path and step, and says each cause once. What users hold shows itself in
//! one line.

use core::error::Error;
use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::barrier::BarrierError;
use election_tokio::counter::CounterError;
use election_tokio::election::ElectionNode;
use election_tokio::group::{MembershipError, WhenTaken};
use election_tokio::lock::{LockError, LockFailure, LockLost};
use election_tokio::slots::SlotEvent;
use election_tokio::{Client, CreateMode, ErrorCode, Token, Version};
use zk_jute::OpCode;

use crate::lies::Lie;
use crate::server::Server;

const WITHIN: Duration = Duration::from_secs(60);

/// Expects that the error names all of these, and that none below it says again what it has said.
fn names(error: &dyn Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no {word:?}: {text}");
    }
    let mut above = vec![text];
    let mut below = error.source();
    while let Some(source) = below {
        let text = source.to_string();
        assert!(!above.iter().any(|above| above.contains(&text)), "twice: {text:?} in {above:?}");
        above.push(text);
        below = source.source();
    }
}

#[tokio::test(start_paused = true)]
async fn each_error_of_a_recipe_names_recipe_path_and_step() {
    let server = Server::new();
    let client = server.client().await;
    client.create("/words", "many", CreateMode::Persistent).await.unwrap();

    let counter = client.counter("/words").add(1).await.unwrap_err();
    names(&counter, &["counter /words, add", "four bytes"]);
    let CounterError::Failed { at, .. } = counter else { panic!("{counter}") };
    assert_eq!((at.recipe(), at.path(), at.step()), ("counter", "/words", "add"));

    let strict = client.lock("/none").node(ElectionNode::MustExist).lock().await.unwrap_err();
    names(&strict, &["lock /none, acquire", "does not exist", "create it"]);
    let one = core::num::NonZeroU32::MIN;
    let strict = client.semaphore("/none", one).node(ElectionNode::MustExist);
    let strict = strict.acquire().await.unwrap_err();
    names(&strict, &["semaphore /none, acquire", "does not exist"]);
    assert!(!strict.to_string().contains("lock"), "{strict}");

    let missing = client.config::<String>("/none").set(Version::new(0), &"x".into()).await;
    names(
        &missing.unwrap_err(),
        &["configuration /none", "there is no znode", "create_if_missing"],
    );

    let group = client.group("/group").when_taken(WhenTaken::GiveUp);
    let _first = group.join_as("a", "1").await.unwrap();
    let other = server.client().await;
    let group = other.group("/group").when_taken(WhenTaken::GiveUp);
    let taken = group.join_as("a", "2").await.unwrap_err();
    names(&taken, &["group /group/a, join", "taken"]);
    assert!(matches!(taken, MembershipError::NameTaken { .. }));
    let names_of = other.names("/group").register("a", "2").await.unwrap_err();
    names(&names_of, &["name /group/a, register", "taken"]);

    let closed = server.client().await;
    closed.clone().close().await.unwrap();
    let lock = closed.lock("/lock").lock().await.unwrap_err();
    names(&lock, &["lock /lock, acquire", "closed"]);
    names(&closed.queue("/queue").take().await.unwrap_err(), &["queue /queue, take", "closed"]);
    names(&closed.queue("/queue").put("x").await.unwrap_err(), &["queue /queue, put", "closed"]);
    let many = closed.queue("/queue").put_many(["x", "y"]).await.unwrap_err();
    names(&many, &["queue /queue, put", "closed"]);
    names(&closed.counter("/c").get().await.unwrap_err(), &["counter /c, get", "closed"]);
    let config = closed.config::<String>("/config");
    names(&config.get().await.unwrap_err(), &["configuration /config, get", "closed"]);
    let set = config.set(Version::new(0), &"x".into()).await.unwrap_err();
    names(&set, &["configuration /config, set", "closed"]);
    let created = config.create_if_missing(&"x".into()).await.unwrap_err();
    names(&created, &["configuration /config, create", "closed"]);
    let registered = closed.names("/group").register_persistent("b", "").await.unwrap_err();
    names(&registered, &["name /group/b, register", "closed"]);
    let id = client.names("/names").register_persistent("b", "").await.unwrap().id();
    let given_back = closed.names("/group").persistent("b", id).unregister().await.unwrap_err();
    names(&given_back, &["name /group/b, unregister", "closed"]);
    let asked = closed.lock("/lock").request_revoke_of_holders().await.unwrap_err();
    names(&asked, &["lock /lock, revoke", "closed"]);
    let slots = closed.slots("/slots", 1);
    names(&slots.drain("a").await.unwrap_err(), &["slots /slots, drain", "closed"]);
    names(&slots.admit("a").await.unwrap_err(), &["slots /slots, admit", "closed"]);
    names(&slots.table().await.unwrap_err(), &["slots /slots, table", "closed"]);
    let begun = client.two_phase_commit("/commit").begin("x", ["a"]).await.unwrap();
    client.close().await.unwrap();
    let status = begun.status().await.unwrap_err();
    names(&status, &["two-phase commit /commit, status", "closed"]);
}

/// Those of an operator.
#[tokio::test(start_paused = true)]
async fn each_error_of_operating_an_election_names_its_path_and_step() {
    let server = Server::new();
    let closed = server.client().await;
    closed.clone().close().await.unwrap();
    let election = closed.election("/leader");
    names(&election.end().await.unwrap_err(), &["election /leader, end", "closed"]);
    names(&election.reopen().await.unwrap_err(), &["election /leader, reopen", "closed"]);
    names(&election.is_ended().await.unwrap_err(), &["election /leader, is_ended", "closed"]);
    let deleted = election.delete(WITHIN).await.unwrap_err();
    names(&deleted, &["election /leader, delete", "closed"]);
    let token = Token::new(1);
    let given = election.hand_over(token, "ops", "", WITHIN).await.unwrap_err();
    names(&given, &["election /leader, hand over", "closed"]);
    let asked = election.request_step_down("ops", "", WITHIN).await.unwrap_err();
    names(&asked, &["election /leader", "closed"]);
}

/// What ends with a leadership, a lock, a permit or a claim: the program that prints it holds several.
#[tokio::test(start_paused = true)]
async fn each_loss_names_recipe_path_and_step() {
    let server = Server::new();
    let client = server.client().await;
    let mut nomination = client.election("/leader").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let guard = client.lock("/a/lock").lock().await.unwrap();
    let several = client.locks(["/b", "/c"]).lock().await.unwrap();
    let permit = client.semaphore("/three", core::num::NonZeroU32::MIN).acquire().await.unwrap();
    client.queue("/queue").put("wash").await.unwrap();
    let mut claimed = client.queue("/queue").claim().await.unwrap();
    let downgraded = client.read_lock("/lock").lock().await.unwrap().downgrade().await.unwrap_err();
    names(&downgraded, &["lock /lock, downgrade"]);
    client.close().await.unwrap();

    let work = core::future::pending::<()>;
    let closed = "session closed";
    let loss = leadership.guard(work()).await.unwrap_err();
    names(&loss, &["election /leader, lead", closed]);
    assert_eq!(loss.lost, leadership.lost().await);
    names(
        &leadership.step_down_requested().await.unwrap_err(),
        &["election /leader, lead", closed],
    );
    let loss = guard.guard(work()).await.unwrap_err();
    names(&loss, &["lock /a/lock, hold", closed]);
    assert!(matches!(loss.lost, LockLost::ClientClosed(_)));
    names(&guard.revoke_requested().await.unwrap_err(), &["lock /a/lock, hold", closed]);
    names(&several.guard(work()).await.unwrap_err(), &["lock /b, hold", closed]);
    names(&permit.guard(work()).await.unwrap_err(), &["semaphore /three, hold", closed]);
    assert_eq!(claimed.lost().await.to_string(), closed);
    names(&claimed.done().await.unwrap_err(), &["queue /queue, done", closed]);
}

#[tokio::test(start_paused = true)]
async fn each_error_of_a_job_names_its_path_and_step() {
    let server = Server::new();
    let client = server.client().await;
    let period = Duration::from_secs(1);
    client.create("/words.once", "many", CreateMode::Persistent).await.unwrap();
    let foreign = client.once("/words", period).begin().await.unwrap_err();
    names(&foreign, &["/words.once is not the record of a run"]);
    let format = election_tokio::format::Format::zookeeper_write_lock();
    let unguarded = client.once("/job", period).format(format).begin().await.unwrap_err();
    names(&unguarded, &["once /job, record", "nothing was sent"]);
    client.clone().close().await.unwrap();
    let closed = client.once("/job", period).last().await.unwrap_err();
    names(&closed, &["once /job, read", "closed"]);
}

/// Whatever its depth, and however the recipe creates it.
#[tokio::test(start_paused = true)]
async fn each_recipe_names_a_chroot_that_is_missing() {
    let server = Server::new();
    let rooted = Client::builder("in-memory/none").connector(server.clone()).connect();
    let client = &rooted.await.unwrap();
    let one = core::num::NonZeroU32::MIN;
    let expected = "the client's chroot does not exist";
    for path in ["/a", "/a/b", "/a/b/c"] {
        let lock = client.lock(path).lock().await.unwrap_err();
        names(&lock, &["lock", expected]);
        let LockError::Failed { failure, .. } = lock else { panic!("{lock}") };
        assert_eq!(failure, LockFailure::NoChroot);
        names(&client.read_lock(path).lock().await.unwrap_err(), &["lock", expected]);
        names(&client.semaphore(path, one).acquire().await.unwrap_err(), &["semaphore", expected]);
        let mut nomination = client.election(path).nominate().unwrap();
        names(&nomination.elected().await.unwrap_err(), &[expected]);
        names(&client.group(path).join("").await.unwrap_err(), &["group", expected]);
        names(&client.barrier(path).set().await.unwrap_err(), &["barrier", expected]);
        let double = client.double_barrier(path, 1).enter().await.unwrap_err();
        names(&double, &["double barrier", expected]);
        let put = client.queue(path).put("x").await.unwrap_err();
        names(&put, &["create2 /none", "chroot of the client, and does not exist"]);
        names(&client.queue(path).take().await.unwrap_err(), &["queue", expected]);
        names(&client.counter(path).add(1).await.unwrap_err(), &["counter", expected]);
        names(&client.two_phase_commit(path).begin("", ["a"]).await.unwrap_err(), &[expected]);
        let period = Duration::from_secs(1);
        names(&client.once(path, period).begin().await.unwrap_err(), &[expected]);
    }
    assert!(server.children("/").is_empty(), "nothing was created");
}

/// The code with its name, and what to do.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_server_is_named_with_advice() {
    let server = Server::new();
    let client = server.client().await;
    client.barrier("/gate").set().await.unwrap();
    server.lie_about(OpCode::EXISTS, Lie::Code(ErrorCode::NO_AUTH));
    let refused = client.barrier("/gate").wait().await.unwrap_err();
    names(&refused, &["barrier /gate, wait", "NoAuth", "present an identity"]);
    assert!(matches!(refused, BarrierError::Failed { .. }));
}

#[tokio::test(start_paused = true)]
async fn what_is_invalid_is_named_once() {
    let server = Server::new();
    let client = server.client().await;
    names(&client.lock("x").lock().await.unwrap_err(), &["lock", "\"x\""]);
    names(&client.queue("x").take().await.unwrap_err(), &["queue", "\"x\""]);
    names(&client.counter("x").get().await.unwrap_err(), &["counter", "\"x\""]);
    names(&client.barrier("x").set().await.unwrap_err(), &["barrier", "\"x\""]);
    names(&client.group("x").join("1").await.unwrap_err(), &["member", "\"x\""]);
    names(&client.election("x").nominate().unwrap_err(), &["election", "\"x\""]);
    names(&client.two_phase_commit("x").begin("", ["a"]).await.unwrap_err(), &["\"x\""]);
    let nothing = Acls::new();
    let lock = client.lock("/a").acls(nothing.clone()).lock().await.unwrap_err();
    names(&lock, &["lock /a, acquire", "invalid access list"]);
    assert!(matches!(lock, LockError::InvalidAcl { .. }));
    let election = client.election("/a").acls(nothing.clone()).nominate().unwrap_err();
    names(&election, &["election /a", "invalid access list"]);
    let config = client.config::<String>("/a").acls(nothing.clone());
    let config = config.create_if_missing(&"x".into()).await.unwrap_err();
    names(&config, &["configuration /a", "invalid access list"]);
    let read = client.get_data("x").await.unwrap_err();
    names(&read, &["getData", "x"]);
}

#[tokio::test(start_paused = true)]
async fn what_users_hold_shows_itself_in_one_line() {
    let server = Server::new();
    let client = server.client().await;
    let session = client.session_id().unwrap();
    let shown = format!("{client:?}");
    assert!(shown.contains(&session.to_string()) && shown.contains("connected"), "{shown}");
    assert_eq!(format!("{session:?}"), format!("SessionId({session})"));

    let mut nomination = client.election("/leader").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let guard = client.lock("/lock").lock().await.unwrap();
    let permit = client.semaphore("/three", core::num::NonZeroU32::MIN).acquire().await.unwrap();
    let member = client.group("/group").join_as("a", "1").await.unwrap();
    client.queue("/queue").put("wash").await.unwrap();
    let claimed = client.queue("/queue").claim().await.unwrap();
    let mut slots = client.slots("/shards", 1).join("a").unwrap();
    let Some(Ok(SlotEvent::Gained(slot))) = slots.next().await else { panic!("no slot") };
    let token = |token: Token| format!("token: {token}");
    let cases = [
        (format!("{nomination:?}"), ["/leader", "Leading"].map(String::from)),
        (format!("{leadership:?}"), ["/leader/_c_".into(), token(leadership.token())]),
        (format!("{guard:?}"), ["/lock/_c_".into(), token(guard.token())]),
        (format!("{permit:?}"), ["/three/leases/".into(), token(permit.token())]),
        (format!("{member:?}"), ["/group/a", "Joined"].map(String::from)),
        (format!("{slot:?}"), ["slot: 0".into(), token(slot.token())]),
        (format!("{claimed:?}"), ["Claimed", "queue-"].map(String::from)),
    ];
    for (shown, words) in cases {
        assert!(shown.len() < 200 && !shown.contains('\n'), "{shown}");
        assert!(words.iter().all(|word| shown.contains(word)), "{words:?}: {shown}");
    }
    assert!(format!("{leadership:?}").contains("is_valid: true"), "{leadership:?}");
    client.close().await.unwrap();
    assert!(format!("{leadership:?}").contains("lost: ClientClosed"), "{leadership:?}");
}
