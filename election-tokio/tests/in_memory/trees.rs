//! Whole trees: created from the root, deleted from the leaves, while others do the same.

use core::future::Future;

use election_tokio::acl::Acls;
use election_tokio::error::PathError;
use election_tokio::session::{IfGone, Limits};
use election_tokio::{Client, CreateMode, Created, Error, ErrorCode, ErrorKind};
use zk_jute::OpCode;
use zk_jute::records::CreateMode as WireMode;

use crate::lies::Lie;
use crate::server::{Server, settle, wait};

const PERSISTENT: CreateMode = CreateMode::Persistent;
/// More frames than any of these operations takes.
const MANY: usize = 64;

/// Creates a znode, as another client.
fn create(server: &Server, path: &str) {
    let created = server.raw().create(path, WireMode::PERSISTENT);
    assert!(matches!(created, Ok(()) | Err(ErrorCode::NODE_EXISTS | ErrorCode::NO_NODE)));
}

/// Deletes a znode, as another client.
fn delete(server: &Server, path: &str) {
    let deleted = server.raw().delete(path);
    assert!(matches!(deleted, Ok(()) | Err(ErrorCode::NOT_EMPTY | ErrorCode::NO_NODE)));
}

fn exists(server: &Server, path: &str) -> bool {
    server.exists(path)
}

const TREE: [&str; 6] = ["/tree", "/tree/a", "/tree/a/1", "/tree/a/2", "/tree/b", "/tree/b/1"];

async fn with_tree() -> (Server, Client) {
    let server = Server::new();
    for path in TREE {
        create(&server, path);
    }
    create(&server, "/tree-top");
    let client = server.client().await;
    (server, client)
}

async fn create_deep(client: &Client) -> Result<Created, Error> {
    client.create_with_parents("/a/b/c/d", "data", PERSISTENT, &Acls::open()).await
}

/// Runs what `operation` makes, and lets `meanwhile` happen when the server has read so many of its
/// frames; over all numbers of frames, until it needs no more.
async fn meanwhile_at_every_frame<F>(
    start: impl AsyncFn() -> (Server, Client),
    operation: impl Fn(Client) -> F,
    meanwhile: impl Fn(&Server),
    check: impl Fn(&Server, F::Output),
) where
    F: Future<Output: Send> + Send + 'static,
{
    for frames in 0..MANY {
        let (server, client) = start().await;
        server.read_only_next(frames);
        let running = tokio::spawn(operation(client));
        settle().await;
        let over = running.is_finished();
        if !over {
            meanwhile(&server);
        }
        server.read_freely();
        check(&server, running.await.unwrap());
        if over {
            return;
        }
    }
    panic!("it is not over after {MANY} frames");
}

#[tokio::test(start_paused = true)]
async fn a_tree_is_deleted_with_one_listing_and_one_deletion_each() {
    let (server, client) = with_tree().await;
    assert_eq!(client.delete_tree("/tree").await, Ok(6));
    assert_eq!(server.children("/"), ["tree-top"]);
    assert_eq!(server.requests(OpCode::GET_CHILDREN2), 6);
    assert_eq!(server.requests(OpCode::DELETE), 6);
    assert_eq!(client.delete_tree("/tree").await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_tree_of_more_znodes_than_are_in_flight_is_deleted_within_the_limits() {
    for max_in_flight in [1, 7, 10_000] {
        let server = Server::new();
        create(&server, "/tree");
        for index in 0..300 {
            create(&server, &format!("/tree/{index}"));
            create(&server, &format!("/tree/{index}/x"));
        }
        let limits = Limits { max_in_flight, ..Limits::default() };
        let client = server.builder().limits(limits).connect().await.unwrap();
        assert_eq!(client.delete_tree("/tree").await, Ok(601), "{max_in_flight}");
        assert!(!exists(&server, "/tree"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_vanishes_while_a_tree_is_deleted_is_no_error() {
    meanwhile_at_every_frame(
        with_tree,
        async |client: Client| client.delete_tree("/tree").await,
        |server| TREE.iter().rev().for_each(|path| delete(server, path)),
        |server, deleted| {
            assert!(deleted.is_ok_and(|deleted| deleted <= 6));
            assert_eq!(server.children("/"), ["tree-top"]);
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_created_while_a_tree_is_deleted_is_deleted_too() {
    meanwhile_at_every_frame(
        with_tree,
        async |client: Client| client.delete_tree("/tree").await,
        |server| {
            for path in ["/tree/a/3", "/tree/b/1/x", "/tree/b/1/x/y", "/tree/c"] {
                create(server, path);
            }
        },
        |server, deleted| {
            assert!(deleted.is_ok_and(|deleted| (6..=10).contains(&deleted)));
            assert_eq!(server.children("/"), ["tree-top"]);
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_goes_on_growing_is_given_up() {
    let server = Server::new();
    create(&server, "/tree");
    let client = server.client().await;
    for _ in 0..100 {
        server.lie_about(OpCode::DELETE, Lie::Code(ErrorCode::NOT_EMPTY));
    }
    let error = client.delete_tree("/tree").await.unwrap_err();
    assert_eq!(error.to_string(), "delete /tree: NotEmpty");
    assert_eq!(server.requests(OpCode::DELETE), 8);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_the_deletion_of_a_tree() {
    for (operation, name) in [(OpCode::GET_CHILDREN2, "getChildren2"), (OpCode::DELETE, "delete")] {
        let (server, client) = with_tree().await;
        server.lie_about(operation, Lie::Code(ErrorCode::NO_AUTH));
        let error = client.delete_tree("/tree").await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("{name} /tree")), "{error}");
        assert_eq!(error.code(), Some(ErrorCode::NO_AUTH));
        assert!(exists(&server, "/tree"));
        client.delete_tree("/tree").await.unwrap();
        assert!(!exists(&server, "/tree"));
    }
}

/// A cut leaves a part, and the next attempt finds it.
#[tokio::test(start_paused = true)]
async fn a_tree_whose_deletion_was_cut_off_is_deleted_by_the_next() {
    for frames in 1..12 {
        let (server, client) = with_tree().await;
        server.read_only_next(frames);
        let other = client.clone();
        let running = tokio::spawn(async move { other.delete_tree("/tree").await });
        settle().await;
        server.cut();
        server.read_freely();
        let error = running.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLoss, "{frames}");
        wait(1).await;
        let left = TREE.iter().filter(|path| exists(&server, path)).count();
        assert_eq!(client.delete_tree("/tree").await, Ok(u64::try_from(left).unwrap()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_always_has_is_not_deleted() {
    let (server, client) = with_tree().await;
    let root = ErrorKind::InvalidPath(PathError::Permanent);
    for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"] {
        assert_eq!(client.delete_tree(path).await.unwrap_err().kind(), root);
    }
    let relative = client.delete_tree("tree").await.unwrap_err();
    assert_eq!(relative.kind(), ErrorKind::InvalidPath(PathError::NotAbsolute));
    assert!(server.state().requests.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_parents_of_a_znode_are_created_only_if_they_are_missing() {
    let server = Server::new();
    let client = server.client().await;
    assert_eq!(create_deep(&client).await.unwrap().path, "/a/b/c/d");
    // An attempt, three parents, and another attempt.
    assert_eq!(server.requests(OpCode::CREATE2), 5);
    let error = create_deep(&client).await.unwrap_err();
    assert_eq!(error.to_string(), "create2 /a/b/c/d: NodeExists");
    assert_eq!(server.requests(OpCode::CREATE2), 6);
    assert_eq!(client.get_data("/a/b/c/d").await.unwrap().0, "data");
    assert_eq!(client.get_data("/a/b/c").await.unwrap().0, "");

    let numbered = CreateMode::PersistentSequential;
    let created = client.create_with_parents("/a/n/", "", numbered, &Acls::open()).await;
    assert_eq!(created.unwrap().path, "/a/n/0000000000");
}

#[tokio::test(start_paused = true)]
async fn parents_are_created_within_the_limits() {
    let server = Server::new();
    let limits = Limits { max_in_flight: 1, ..Limits::default() };
    let client = server.builder().limits(limits).connect().await.unwrap();
    create_deep(&client).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn parents_that_vanish_meanwhile_are_created_again() {
    meanwhile_at_every_frame(
        async || {
            let server = Server::new();
            let client = server.client().await;
            (server, client)
        },
        async |client: Client| create_deep(&client).await,
        |server| ["/a/b/c", "/a/b", "/a"].iter().for_each(|path| delete(server, path)),
        |server, created| {
            assert_eq!(created.map(|created| created.path).unwrap(), "/a/b/c/d");
            assert!(exists(server, "/a/b/c/d"));
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn parents_that_vanish_time_and_again_are_given_up() {
    let server = Server::new();
    let client = server.client().await;
    for _ in 0..100 {
        server.lie_about(OpCode::CREATE2, Lie::Code(ErrorCode::NO_NODE));
    }
    let error = create_deep(&client).await.unwrap_err();
    assert_eq!(error.to_string(), "create2 /a/b/c/d: NoNode");
    assert!(!error.may_have_happened());
    // Four rounds of three parents, and five attempts.
    assert_eq!(server.requests(OpCode::CREATE2), 17);
}

/// The error is about the parent that could not be created, not about the last attempt.
#[tokio::test(start_paused = true)]
async fn a_parent_that_cannot_be_created_is_named() {
    let server = Server::new();
    let client = server.client().await;
    for code in [ErrorCode::NO_NODE, ErrorCode::NO_AUTH] {
        server.lie_about(OpCode::CREATE2, Lie::Code(code));
    }
    let error = create_deep(&client).await.unwrap_err();
    assert_eq!(error.to_string(), "create2 /a: NoAuth");
    assert_eq!(server.requests(OpCode::CREATE2), 5);
}

/// Without the permission to create it, a parent that exists is refused like one that does not.
#[tokio::test(start_paused = true)]
async fn a_parent_that_exists_and_could_not_be_created_is_no_obstacle() {
    let server = Server::new();
    create(&server, "/a");
    let client = server.client().await;
    for code in [ErrorCode::NO_NODE, ErrorCode::NO_AUTH] {
        server.lie_about(OpCode::CREATE2, Lie::Code(code));
    }
    assert_eq!(create_deep(&client).await.unwrap().path, "/a/b/c/d");
}

/// Servers compare prefixes as strings: a sibling of the chroot with a name that begins like it
/// matches.
#[tokio::test(start_paused = true)]
async fn ephemeral_znodes_beside_the_chroot_are_not_listed() {
    let server = Server::new();
    create(&server, "/app");
    let whole = server.client().await;
    for path in ["/app/mine", "/apple", "/other"] {
        whole.create(path, "", CreateMode::Ephemeral).await.unwrap();
    }
    let ticket = whole.detach().unwrap();
    let builder = Client::builder("in-memory/app").connector(server.clone());
    let client = builder.resume(ticket, IfGone::Fail).connect().await.unwrap();
    assert_eq!(server.state().database().ephemerals_of(client.session_id().unwrap()).count(), 3);
    assert_eq!(client.get_ephemerals("/").await.unwrap(), ["/mine"]);
}
