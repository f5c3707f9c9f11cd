//! The election node: missing, made, a container that is deleted in between, forbidden, below a
//! chroot that does not exist.

use core::time::Duration;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::election::{
    ElectionNode, EndReason, NodeKind, Nomination, NominationError, Role,
};
use election_tokio::{Client, CreateMode, ErrorCode, Version};
use zk_test_kit::election::{
    Arena, ELECTION, LASTING, connect, follows_this, leads, reaches, soon,
};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::server::{ServerKind, Settings};
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_missing_election_node_is_made_with_its_parents,
    a_missing_election_node_ends_a_strict_nomination,
    an_invalid_path_is_refused_at_once,
    an_election_that_was_never_held_has_no_candidates,
    tokens_grow_over_the_deletion_of_the_election_node,
    a_container_that_comes_and_goes_stops_nobody,
    a_nominee_without_permission_ends_with_that_error,
    a_reconnected_nominee_is_who_it_was,
    a_chroot_that_does_not_exist_ends_the_nomination;
}

async fn fails(nomination: &mut Nomination) -> Result<NominationError, TestFailure> {
    let ended = soon("the nomination ends", nomination.elected()).await?;
    let failure = match ended.map_err(|ended| ended.reason) {
        Err(EndReason::Failed(error)) => Ok(error),
        other => Err(other.map(|leadership| leadership.token())),
    };
    Ok(failure.expect("it cannot stand"))
}

/// A missing election node is made, with its parents, and none of them is ephemeral.
async fn a_missing_election_node_is_made_with_its_parents(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "made").await?;
    let client = arena.client().await?;
    let mut nomination = client.election("/some/where/below").nominate()?;
    leads(&mut nomination).await?;
    for path in ["/some", "/some/where", "/some/where/below"] {
        let stat = arena.admin.exists(path).await?.expect("it was made");
        assert_eq!((stat.ephemeral_owner.get(), stat.num_children), (0, 1), "{path}");
    }
    Ok(())
}

/// By the strict policy the nomination ends where there is no election node, and nothing is made.
async fn a_missing_election_node_ends_a_strict_nomination(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "missing").await?;
    let client = arena.client().await?;
    let election = client.election(ELECTION).election_node(ElectionNode::MustExist);
    let mut nomination = election.nominate()?;
    assert_eq!(fails(&mut nomination).await?, NominationError::NoElectionNode);
    assert_eq!(arena.admin.exists(ELECTION).await?, None);

    arena.create_election_node().await?;
    leads(&mut election.nominate()?).await?;
    Ok(())
}

/// A path that no server would take is refused before anything is sent.
async fn an_invalid_path_is_refused_at_once(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "invalid").await?;
    for path in ["", "election", "/election/", "/a//b", "/a/../b", "/a\0b"] {
        let refused = arena.admin.election(path).nominate();
        let error = refused.map(|_| ()).expect_err(path);
        assert!(error.to_string().starts_with("invalid election path"), "{error}");
    }
    Ok(())
}

/// An election without an election node has no candidates, and that is no error (CURATOR-436).
async fn an_election_that_was_never_held_has_no_candidates(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "never").await?;
    assert_eq!(arena.candidates().await?, []);
    Ok(())
}

/// All nominees leave, the election node is deleted and made again: the sequence starts anew, the
/// token grows.
async fn tokens_grow_over_the_deletion_of_the_election_node(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "token").await?;
    let client = arena.client().await?;
    let mut last = None;
    for _ in 0..3 {
        for expected in 0..3 {
            let mut nomination = client.election(ELECTION).nominate()?;
            let leadership = leads(&mut nomination).await?;
            assert_eq!(leadership.candidate().sequence().get(), expected);
            assert!(Some(leadership.token()) > last);
            last = Some(leadership.token());
            soon("the leader has resigned", leadership.resign()).await??;
        }
        arena.admin.delete(ELECTION, Version::ANY).await?;
    }
    Ok(())
}

/// The election node is a container, and the server deletes it whenever it finds it empty, now and
/// then between the making of it and that of the candidate (CURATOR-435). Each nominee is elected
/// all the same, and tokens grow.
async fn a_container_that_comes_and_goes_stops_nobody(server: ServerKind) -> TestResult {
    let container_check_interval = Duration::from_millis(5);
    let settings = Settings { container_check_interval, ..Settings::default() };
    let server = server.start_with(&settings)?;
    let arena = Arena::on(server.addr(), "container").await?;
    let client = arena.client().await?;
    let election =
        client.election(ELECTION).election_node(ElectionNode::Create(NodeKind::Container));
    let mut last = None;
    let mut restarted = 0;
    for round in 0..100 {
        let mut nomination = election.nominate()?;
        let leadership = leads(&mut nomination).await?;
        assert!(Some(leadership.token()) > last);
        last = Some(leadership.token());
        restarted += u32::from(leadership.candidate().sequence().get() == 0);
        soon("the leader has resigned", leadership.resign()).await??;
        if round % 10 == 0 {
            eventually_async(SOON, "the container is deleted", async || {
                matches!(arena.admin.exists(ELECTION).await, Ok(None))
            })
            .await?;
        }
    }
    assert!(restarted >= 10, "{restarted}");
    Ok(())
}

async fn connect_as(servers: &str, user: &str) -> Result<Client, TestFailure> {
    Ok(Client::builder(servers)
        .session_timeout(LASTING)
        .connect_timeout(SOON)
        .auth("digest", user.as_bytes())
        .connect()
        .await?)
}

/// A nominee that may not create a candidate is told so, once, and the nomination ends
/// (CURATOR-15).
async fn a_nominee_without_permission_ends_with_that_error(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "forbidden").await?;
    let insider = connect_as(&arena.servers(), "insider:secret").await?;
    let election = insider.election(ELECTION).acls(Acls::creator_all());
    let mut leader = election.nominate()?;
    let leadership = leads(&mut leader).await?;

    let refused = NominationError::Rejected(ErrorCode::NO_AUTH.get());
    let mut outsider = arena.client().await?.election(ELECTION).nominate()?;
    assert_eq!(fails(&mut outsider).await?, refused);
    let other = connect_as(&arena.servers(), "insider:wrong").await?;
    let mut other = other.election(ELECTION).nominate()?;
    assert_eq!(fails(&mut other).await?, refused);

    // A nominee that may create a candidate, and not read those of the others, follows by looks.
    let half = "/half";
    let may_create = Acls::creator_all().world(Permissions::CREATE | Permissions::READ);
    let mode = CreateMode::Persistent;
    insider.create_with_acl(half, "", mode, &may_create).await?;
    let secret = insider.election(half).acls(Acls::creator_all());
    let mut secret = secret.nominate()?;
    let in_secret = leads(&mut secret).await?;
    let blind = arena.client().await?.election(half).nominate()?;
    follows_this(&blind, in_secret.candidate()).await?;
    assert!(leadership.is_valid());
    Ok(())
}

/// After a reconnect the identity is presented again before anything else, or neither the
/// verification nor the resignation would be allowed.
async fn a_reconnected_nominee_is_who_it_was(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "identity").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect_as(&arena.servers_by(&proxy), "insider:secret").await?;
    let election = client.election(ELECTION).acls(Acls::creator_all());
    let mut leader = election.nominate()?;
    let leadership = leads(&mut leader).await?;
    let heir = election.nominate()?;
    follows_this(&heir, leadership.candidate()).await?;
    for connections in 2..=4 {
        let before = proxy.counters().replies(Opcode::GET_DATA);
        proxy.cut();
        // The leader reads its own znode, the heir its own and then the leader's.
        proxy.wait_for(SOON, "both have read again", |counters| {
            counters.replies(Opcode::GET_DATA) >= before + 3
        })?;
        assert_eq!(proxy.counters().requests(Opcode::AUTH), connections);
        reaches(&leader, "the leader resumes", |status| {
            matches!(status.role, Role::Leading { .. }).then_some(())
        })
        .await?;
        follows_this(&heir, leadership.candidate()).await?;
    }
    soon("the leader has resigned", leadership.resign()).await??;
    soon("the heir has withdrawn", heir.withdraw()).await??;
    assert_eq!(client.get_children(ELECTION).await?.iter().count(), 0);
    Ok(())
}

/// The client does not make a chroot that does not exist: it is another user's, or mistyped.
async fn a_chroot_that_does_not_exist_ends_the_nomination(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "chroot").await?;
    let client = connect(&format!("{}/mistyped", arena.servers()), Duration::from_secs(10)).await?;
    for path in [ELECTION, "/deep/er"] {
        let mut nomination = client.election(path).nominate()?;
        assert_eq!(fails(&mut nomination).await?, NominationError::NoChroot);
    }
    assert_eq!(arena.admin.exists("/mistyped").await?, None);
    Ok(())
}
