//! Groups, configuration and names among clients: joined, watched, cut off, expired and taken.

use core::time::Duration;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use election_tokio::config::{ConfigError, ConfigSet, ConfigWatch, Configured, CreateIfMissing};
use election_tokio::group::{
    Continuity, GroupMember, GroupView, GroupWatch, MemberData, Membership, MembershipError,
    MembershipState, NameOwner, WhenEvicted, WhenTaken,
};
use election_tokio::names::RegisterError;
use election_tokio::{Client, CreateMode, SessionId, Version};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zk_test_kit::connection::has_expired;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    members_come_and_go_and_change_their_data,
    a_member_that_is_cut_off_joins_again_and_its_watch_goes_on,
    a_member_that_an_operator_removes_joins_again_or_ends,
    a_taken_name_is_waited_for_or_told,
    a_hundred_members_join_at_once,
    a_configured_value_is_replaced_watched_deleted_and_made_again,
    a_watched_value_survives_an_expired_session,
    many_updates_at_once_are_all_made,
    a_name_has_one_registrar,
    a_persistent_name_is_given_back_by_its_registration_alone;
}

const GROUP: &str = "/app/workers";
const CONFIG: &str = "/app/config";
const NAMES: &str = "/app/names";

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

fn unexpected(what: &'static str) -> TestFailure {
    io::Error::other(what).into()
}

async fn view(watch: &mut GroupWatch) -> Result<GroupView, TestFailure> {
    match soon("a view", watch.next()).await? {
        Some(view) => Ok(view?),
        None => Err(unexpected("the watch is over")),
    }
}

/// Waits for the view with these members, and returns it.
async fn view_of(watch: &mut GroupWatch, names: &[&str]) -> Result<GroupView, TestFailure> {
    loop {
        let view = view(watch).await?;
        if shown(&view) == names.iter().map(|name| (*name).to_owned()).collect() {
            return Ok(view);
        }
    }
}

fn shown(view: &GroupView) -> BTreeSet<String> {
    view.members.keys().map(ToString::to_string).collect()
}

fn data(view: &GroupView, name: &str) -> Option<Bytes> {
    match &view.members.get(name)?.data {
        MemberData::Is(data) => Some(data.clone()),
        _ => None,
    }
}

async fn becomes(
    member: &Membership,
    wanted: impl Fn(&MembershipState) -> bool,
) -> Result<MembershipState, TestFailure> {
    let mut state = member.state();
    while !wanted(&state) {
        state = soon("another state", member.changed_from(&state)).await?;
    }
    Ok(state)
}

async fn members_come_and_go_and_change_their_data(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let mut watch = arena.admin.group(GROUP).watch();
    assert!(view(&mut watch).await?.members.is_empty(), "the node does not exist");
    let a = soon("it joins", one.group(GROUP).join_as("a", "1")).await??;
    let first = view_of(&mut watch, &["a"]).await?;
    assert_eq!((first.joined.len(), first.left.len(), first.changed.len()), (1, 0, 0));
    assert_eq!(data(&first, "a"), Some(Bytes::from("1")));
    let session = first.members.get("a").and_then(GroupMember::session).map(election_session_id);
    assert_eq!(session, one.session_id().map(SessionId::get));
    let b = soon("it joins", other.group(GROUP).join_as("b", "2")).await??;
    view_of(&mut watch, &["a", "b"]).await?;
    soon("it is written", a.set_data("3")).await??;
    let changed = view(&mut watch).await?;
    assert_eq!(changed.changed, [Arc::from("a")]);
    assert_eq!(changed.continuity, Continuity::Unbroken);
    assert_eq!(data(&changed, "a"), Some(Bytes::from("3")));
    soon("it leaves", a.leave()).await??;
    let left = view_of(&mut watch, &["b"]).await?;
    assert_eq!((left.joined.len(), left.left.as_slice()), (0, &[Arc::from("a")][..]));
    drop(b);
    view_of(&mut watch, &[]).await?;
    let random = soon("it joins", one.group(GROUP).join("x")).await??;
    assert_eq!(
        shown(&arena.admin.group(GROUP).members().await?),
        [random.znode().to_owned()].into()
    );
    Ok(())
}

const fn election_session_id(session: election_core::SessionId) -> i64 {
    session.get()
}

/// Cut off for less than its session, and for longer.
async fn a_member_that_is_cut_off_joins_again_and_its_watch_goes_on(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let member = soon("it joins", cut_off.group(GROUP).join_as("a", "1")).await??;
    let mut watch = cut_off.group(GROUP).watch();
    view_of(&mut watch, &["a"]).await?;
    let other = soon("it joins", arena.admin.group(GROUP).join_as("b", "1")).await??;
    view_of(&mut watch, &["a", "b"]).await?;
    // Changes meanwhile show afterwards.
    proxy.refuse();
    proxy.cut();
    soon("it is written", other.set_data("2")).await??;
    proxy.accept()?;
    let after = view(&mut watch).await?;
    assert_eq!((data(&after, "b"), after.continuity), (Some("2".into()), Continuity::Broken));
    // Its session expires.
    let mut beside = arena.admin.group(GROUP).watch();
    view_of(&mut beside, &["a", "b"]).await?;
    let joined = member.state();
    proxy.refuse();
    proxy.cut();
    view_of(&mut beside, &["b"]).await?;
    proxy.accept()?;
    soon("it is told", member.changed_from(&joined)).await?;
    becomes(&member, |state| matches!(state, MembershipState::Joined { .. })).await?;
    view_of(&mut beside, &["a", "b"]).await?;
    soon("it is written", member.set_data("new")).await??;
    loop {
        let view = view(&mut watch).await?;
        if data(&view, "a") == Some("new".into()) {
            break;
        }
    }
    soon("it leaves", member.leave()).await??;
    view_of(&mut watch, &["b"]).await?;
    Ok(())
}

async fn a_member_that_an_operator_removes_joins_again_or_ends(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let client = arena.client().await?;
    let member = soon("it joins", client.group(GROUP).join_as("a", "1")).await??;
    let MembershipState::Joined { token } = member.state() else {
        return Err(unexpected("no member"));
    };
    arena.admin.delete(&format!("{GROUP}/a"), Version::ANY).await?;
    becomes(
        &member,
        |state| matches!(state, MembershipState::Joined { token: new } if *new > token),
    )
    .await?;
    let ends = client.group(GROUP).when_evicted(WhenEvicted::End);
    let ends = soon("it joins", ends.join_as("b", "1")).await??;
    arena.admin.delete(&format!("{GROUP}/b"), Version::ANY).await?;
    let evicted = |error: &MembershipError| matches!(error, MembershipError::Evicted { .. });
    becomes(&ends, |state| matches!(state, MembershipState::Ended(error) if evicted(error)))
        .await?;
    let left = soon("an answer", ends.leave()).await?;
    assert!(left.as_ref().is_err_and(evicted), "{left:?}");
    // The member overwrites the data that another client writes there.
    arena.admin.set_data(&format!("{GROUP}/a"), "theirs", Version::ANY).await?;
    let mut watch = arena.admin.group(GROUP).watch();
    while data(&view(&mut watch).await?, "a") != Some("1".into()) {}
    Ok(())
}

async fn a_taken_name_is_waited_for_or_told(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let first = soon("it joins", one.group(GROUP).join_as("a", "1")).await??;
    let impatient = other.group(GROUP).when_taken(WhenTaken::GiveUp);
    let refused = soon("an answer", impatient.join_as("a", "2")).await?.map(drop);
    assert!(matches!(
        refused,
        Err(MembershipError::NameTaken { owner: NameOwner::Session(_), .. })
    ));
    let group = other.group(GROUP);
    let mut waiting = core::pin::pin!(group.join_as("a", "2"));
    assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    soon("it leaves", first.leave()).await??;
    let second = soon("it joins", waiting).await??;
    assert!(matches!(second.state(), MembershipState::Joined { .. }));
    let slash = one.group(GROUP).join_as("a/b", "").await.map(drop);
    assert!(matches!(slash, Err(MembershipError::InvalidPath { .. })));
    Ok(())
}

/// Of ten clients; each of three watchers sees all of them in the end.
async fn a_hundred_members_join_at_once(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let mut watchers = Vec::new();
    for _ in 0..3 {
        watchers.push(arena.client().await?.group(GROUP).watch());
    }
    let mut joining = JoinSet::new();
    for _ in 0..10 {
        let client = arena.client().await?;
        for _ in 0..10 {
            let client = client.clone();
            joining.spawn(async move { client.group(GROUP).join("").await });
        }
    }
    let mut members = Vec::new();
    while let Some(joined) = soon("they join", joining.join_next()).await? {
        members.push(joined??);
    }
    for watch in &mut watchers {
        while view(watch).await?.members.len() < 100 {}
    }
    drop(members);
    for watch in &mut watchers {
        while !view(watch).await?.members.is_empty() {}
    }
    Ok(())
}

async fn configured(watch: &mut ConfigWatch<String>) -> Result<Configured<String>, TestFailure> {
    match soon("a value", watch.next()).await? {
        Some(value) => Ok(value?),
        None => Err(unexpected("the watch is over")),
    }
}

async fn a_configured_value_is_replaced_watched_deleted_and_made_again(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let client = arena.client().await?;
    let config = client.config::<String>(CONFIG);
    let mut watch = config.watch();
    assert!(matches!(configured(&mut watch).await?, Configured::Missing));
    assert_eq!(config.create_if_missing(&"one".into()).await?, CreateIfMissing::Created);
    assert_eq!(config.create_if_missing(&"two".into()).await?, CreateIfMissing::Existed);
    assert_eq!(configured(&mut watch).await?.value().map(String::as_str), Some("one"));
    let ConfigSet::Set(stat) = config.set(Version::new(0), &"two".into()).await? else {
        return Err(unexpected("it was not faster"));
    };
    assert_eq!(configured(&mut watch).await?.value().map(String::as_str), Some("two"));
    assert_eq!(config.set(Version::new(0), &"three".into()).await?, ConfigSet::Differs);
    // No text, which does not end the watch.
    arena.admin.set_data(CONFIG, vec![0xff], stat.version).await?;
    let Configured::Undecodable { data, .. } = configured(&mut watch).await? else {
        return Err(unexpected("it is no text"));
    };
    assert_eq!(data, Bytes::from(vec![0xff]));
    arena.admin.delete(CONFIG, Version::ANY).await?;
    assert!(matches!(configured(&mut watch).await?, Configured::Missing));
    let missing = config.update(|_| "x".into()).await;
    assert!(matches!(missing, Err(ConfigError::Missing { .. })), "{missing:?}");
    arena.admin.create(CONFIG, "again", CreateMode::Persistent).await?;
    assert_eq!(configured(&mut watch).await?.value().map(String::as_str), Some("again"));
    Ok(())
}

async fn a_watched_value_survives_an_expired_session(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let config = arena.admin.config::<String>(CONFIG);
    config.create_if_missing(&"one".into()).await?;
    let mut watch = cut_off.config::<String>(CONFIG).watch();
    assert_eq!(configured(&mut watch).await?.value().map(String::as_str), Some("one"));
    let session = cut_off.session_id();
    proxy.refuse();
    proxy.cut();
    config.update(|_| "two".into()).await?;
    let mut connection = cut_off.connection_updates();
    soon("the session expires", connection.wait_for(has_expired)).await??;
    proxy.accept()?;
    assert_eq!(configured(&mut watch).await?.value().map(String::as_str), Some("two"));
    assert_ne!(cut_off.session_id(), session);
    config.update(|_| "three".into()).await?;
    assert_eq!(configured(&mut watch).await?.value().map(String::as_str), Some("three"));
    Ok(())
}

/// Clients that lose their connections again and again make each update once, or report it as in doubt.
async fn many_updates_at_once_are_all_made(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let config = arena.admin.config::<String>(CONFIG);
    config.create_if_missing(&String::new()).await?;
    let mut updating = JoinSet::new();
    let proxy = Proxy::to(server.shared()?.addr())?;
    for _ in 0..4 {
        let client = arena.client_by(&proxy).await?;
        updating.spawn(async move {
            let config = client.config::<String>(CONFIG);
            let (mut made, mut unknown) = (0_usize, 0_usize);
            for _ in 0..25 {
                let longer = |present: &Configured<String>| {
                    format!("{}x", present.value().map_or("", String::as_str))
                };
                match config.update(longer).await {
                    Ok(_) => made += 1,
                    Err(ConfigError::Unknown { .. }) => unknown += 1,
                    Err(error) => return Err(error),
                }
            }
            Ok((made, unknown))
        });
    }
    let (mut made, mut unknown) = (0, 0);
    // A machine on which an update takes longer than the time between two cuts gets through, too.
    let mut cuts = 0;
    loop {
        tokio::select! {
            updated = updating.join_next() => match updated {
                Some(updated) => {
                    let (one, other) = updated??;
                    (made, unknown) = (made + one, unknown + other);
                }
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(60)), if cuts < 50 => {
                proxy.cut();
                cuts += 1;
            }
        }
    }
    let length = config.get().await?.value().map_or(0, String::len);
    assert!((made..=made + unknown).contains(&length), "{length}: {made} and {unknown}");
    Ok(())
}

async fn a_name_has_one_registrar(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let registration = soon("it is free", one.names(NAMES).register("db", "10.0.0.5")).await??;
    let refused = soon("an answer", other.names(NAMES).register("db", "10.0.0.6")).await?;
    let Err(RegisterError::NameTaken { owner: NameOwner::Session(owner), .. }) = refused else {
        return Err(unexpected("two have it"));
    };
    assert_eq!(Some(owner.get()), one.session_id().map(SessionId::get));
    let resolved = other.names(NAMES).resolve("db").await?;
    assert_eq!(resolved.map(|(data, _)| data), Some(Bytes::from("10.0.0.5")));
    let mut watch = other.names(NAMES).watch_name("db");
    let first = soon("a value", watch.next()).await?.ok_or_else(|| unexpected("over"))??;
    assert_eq!(first.value(), Some(&Bytes::from("10.0.0.5")));
    let mut all = other.names(NAMES).watch();
    view_of(&mut all, &["db"]).await?;
    soon("it is given back", registration.leave()).await??;
    assert!(matches!(soon("a value", watch.next()).await?, Some(Ok(Configured::Missing))));
    assert_eq!(other.names(NAMES).resolve("db").await?, None);
    view_of(&mut all, &[]).await?;
    let _other = soon("it is free", other.names(NAMES).register("db", "10.0.0.6")).await??;
    Ok(())
}

async fn a_persistent_name_is_given_back_by_its_registration_alone(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "members").await?;
    let register =
        async |client: &Client| client.names(NAMES).register_persistent("db", "10.0.0.5").await;
    let client = arena.client().await?;
    let first = register(&client).await?;
    client.close().await?;
    let client = arena.client().await?;
    let taken = register(&client).await.map(drop);
    let by_another = |error: &RegisterError| {
        matches!(error, RegisterError::NameTaken { owner: NameOwner::Persistent, .. })
    };
    assert!(taken.as_ref().is_err_and(by_another), "{taken:?}");
    let by_id = client.names(NAMES).persistent("db", first.id());
    by_id.unregister().await?;
    let second = register(&client).await?;
    let again = by_id.unregister().await;
    assert!(matches!(again, Err(RegisterError::NotRegistered { .. })), "{again:?}");
    assert!(client.names(NAMES).resolve("db").await?.is_some(), "it is the second one's");
    second.unregister().await?;
    assert_eq!(client.names(NAMES).resolve("db").await?, None);
    Ok(())
}
