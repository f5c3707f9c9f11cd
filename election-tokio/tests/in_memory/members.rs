//! Groups, configuration and names, on a server that knows watches that stay and on one that does not: at
//! every await point, and what they cost.

use bytes::Bytes;
use election_tokio::config::{ConfigError, ConfigSet, Configured, CreateIfMissing};
use election_tokio::group::{GroupView, GroupWatch, MemberData, MembershipState};
use election_tokio::names::RegisterError;
use election_tokio::{Client, CreateMode, Version};
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::lies::Lie;
use crate::server::{Server, settle, wait};

const GROUP: &str = "/deep/group";
const CONFIG: &str = "/config";
const NAMES: &str = "/deep/names";

async fn view(watch: &mut GroupWatch) -> GroupView {
    watch.next().await.expect("it goes on").expect("a view")
}

fn data(view: &GroupView, name: &str) -> Option<Bytes> {
    match &view.members.get(name)?.data {
        MemberData::Is(data) => Some(data.clone()),
        _ => None,
    }
}

/// Asserts that nothing is left, that no request follows, and that the next member joins.
async fn is_clean(server: &Server, client: &Client, context: &dyn core::fmt::Debug) {
    wait(3).await;
    assert!(server.children(GROUP).is_empty(), "{:?}: {context:?}", server.children(GROUP));
    let member = client.group(GROUP).join_as("a", "").await.unwrap();
    assert_eq!(server.children(GROUP), ["a"], "{context:?}");
    member.leave().await.unwrap();
    server.cut();
    wait(3).await;
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

/// With and without a lost connection at that moment.
#[tokio::test(start_paused = true)]
async fn a_join_that_is_dropped_anywhere_leaves_no_znode() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let group = client.group(GROUP);
            let joined = run_until(&server, end, group.join_as("a", "")).await.map(drop);
            if is_cut {
                server.cut();
            }
            is_clean(&server, &client, &(end, is_cut)).await;
            joined.is_some()
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn data_that_is_set_is_there_in_the_end_wherever_the_future_is_dropped() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let member = client.group(GROUP).join_as("a", "one").await.unwrap();
            let set = run_until(&server, end, member.set_data("two")).await;
            if is_cut {
                server.cut();
            }
            wait(3).await;
            let written = client.get_data(&format!("{GROUP}/a")).await.unwrap().0;
            assert!(written == "two" || set.is_none() && written == "one", "{end:?}: {written:?}");
            drop(member);
            is_clean(&server, &client, &(end, is_cut)).await;
            set.is_some()
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_session_joins_again_with_the_data_that_was_set_last() {
    joins_again_with_the_data_that_was_set_last(Server::new()).await;
    joins_again_with_the_data_that_was_set_last(Server::older_than_3_6()).await;
}

async fn joins_again_with_the_data_that_was_set_last(server: Server) {
    let (client, other) = (server.client().await, server.client().await);
    let member = client.group(GROUP).join_as("a", "one").await.unwrap();
    member.set_data("two").await.unwrap();
    let mut watch = other.group(GROUP).watch();
    let first = view(&mut watch).await;
    let before = member.state();
    server.cut();
    server.expire();
    let lost = member.changed_from(&before).await;
    assert_ne!(lost, before);
    wait(3).await;
    assert!(matches!(member.state(), MembershipState::Joined { .. }));
    let mut after = view(&mut watch).await;
    while data(&after, "a").is_none() {
        after = view(&mut watch).await;
    }
    assert_eq!(data(&after, "a"), Some("two".into()));
    assert!(after.members["a"].token() > first.members["a"].token());
}

#[tokio::test(start_paused = true)]
async fn what_members_and_views_cost() {
    what_it_costs(Server::new(), &[]).await;
    what_it_costs(Server::older_than_3_6(), &[OpCode::GET_CHILDREN2]).await;
}

/// Asserts the requests at a group whose node exists, by a client that has a session. Each change of the names causes
/// the requests `also`.
async fn what_it_costs(server: Server, also: &[OpCode]) {
    const LOOK: OpCode = OpCode::EXISTS;
    let (client, other) = (server.client().await, server.client().await);
    client.create("/deep", "", CreateMode::Persistent).await.unwrap();
    client.create(GROUP, "", CreateMode::Persistent).await.unwrap();
    let mut before = server.requested().len();
    let mut asked = || {
        let asked = server.requested().split_off(before);
        before += asked.len();
        asked
    };
    let member = client.group(GROUP).join_as("a", "one").await.unwrap();
    settle().await;
    assert_eq!(asked(), [OpCode::CREATE2, LOOK]);
    member.set_data("two").await.unwrap();
    settle().await;
    assert_eq!(asked(), [OpCode::SET_DATA, LOOK]);
    let mut watch = other.group(GROUP).watch();
    view(&mut watch).await;
    wait(3).await;
    let first = asked();
    let (list, read) = (OpCode::GET_CHILDREN2, OpCode::GET_DATA);
    assert_eq!(first, [OpCode::ADD_WATCH, list, read]);
    let second = other.group(GROUP).join_as("b", "").await.unwrap();
    view(&mut watch).await;
    settle().await;
    let mut joined = asked();
    joined.sort_unstable();
    let mut expected = [&[OpCode::CREATE2, LOOK, read], also].concat();
    expected.sort_unstable();
    assert_eq!(joined, expected);
    second.leave().await.unwrap();
    assert_eq!(view(&mut watch).await.left.len(), 1);
    settle().await;
    let left = asked();
    assert!(left.contains(&OpCode::DELETE), "{left:?}");
    assert_eq!(left.contains(&list), also.contains(&list), "{left:?}");
    assert!(left.len() <= 3 + also.len(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_value_whose_reply_is_lost_is_replaced_once_or_told_to_be_unknown() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let config = client.config::<String>(CONFIG);
    assert_eq!(config.create_if_missing(&"one".into()).await, Ok(CreateIfMissing::Created));
    // It is not executed.
    server.lie_about(OpCode::SET_DATA, Lie::Silence);
    let two = config.clone();
    let setting = tokio::spawn(async move { two.set(Version::new(0), &"two".into()).await });
    settle().await;
    server.cut();
    assert!(matches!(setting.await.unwrap(), Ok(ConfigSet::Set(_))));
    // Another client writes meanwhile.
    server.lie_about(OpCode::SET_DATA, Lie::Silence);
    let three = config.clone();
    let setting = tokio::spawn(async move { three.set(Version::new(1), &"three".into()).await });
    settle().await;
    other.config::<String>(CONFIG).update(|_| "four".into()).await.unwrap();
    server.cut();
    let error = setting.await.unwrap().unwrap_err();
    assert!(matches!(error, ConfigError::Unknown { .. }), "{error}");
    assert!(error.may_have_happened());
    assert_eq!(config.get().await.unwrap().value().map(String::as_str), Some("four"));
    let unusable = config.set(Version::ANY, &"five".into()).await;
    assert!(matches!(unusable, Err(ConfigError::VersionUnusable { .. })), "{unusable:?}");
}

#[tokio::test(start_paused = true)]
async fn a_value_is_watched_over_an_expired_session() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let config = client.config::<String>(CONFIG);
    let mut watch = config.watch();
    assert!(matches!(watch.next().await, Some(Ok(Configured::Missing))));
    config.create_if_missing(&"one".into()).await.unwrap();
    let value = watch.next().await.unwrap().unwrap();
    assert_eq!(value.value().map(String::as_str), Some("one"));
    server.refuse();
    server.cut();
    server.expire();
    settle().await;
    server.accept();
    wait(3).await;
    let before = server.requests(OpCode::MULTI);
    assert!(before > 0, "it reads behind what a quorum has committed");
    other.config::<String>(CONFIG).update(|_| "two".into()).await.unwrap();
    let value = watch.next().await.unwrap().unwrap();
    assert_eq!(value.value().map(String::as_str), Some("two"));
    drop(watch);
    settle().await;
    server.cut();
    wait(3).await;
    assert_eq!(server.watches(), 0, "it is not set again");
}

/// With a lost connection after it.
#[tokio::test(start_paused = true)]
async fn a_persistent_name_is_registered_once_and_given_back_once() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let names = client.names(NAMES);
        let registering = names.register_persistent("db", "here");
        let registered = run_until(&server, end, registering).await;
        server.cut();
        wait(3).await;
        let is_registered = registered.is_some();
        match registered {
            Some(Ok(registration)) => {
                let taken = names.register_persistent("db", "there").await.map(drop);
                assert!(matches!(taken, Err(RegisterError::NameTaken { .. })), "{taken:?}");
                registration.unregister().await.unwrap();
                let again = registration.unregister().await;
                assert!(matches!(again, Err(RegisterError::NotRegistered { .. })), "{again:?}");
            }
            Some(Err(error)) => panic!("{end:?}: {error}"),
            None => {}
        }
        is_registered
    })
    .await;
}
