//! Nominations that fail, with a connection that is cut when they clear up after themselves.

use core::time::Duration;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::election::{EndReason, NominationError};
use election_tokio::{Client, CreateMode, ErrorCode};
use zk_test_kit::election::{Arena, ELECTION, LASTING, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Cut, FrameKind, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test]
    a_failed_nomination_leaves_no_candidate_however_often_the_connection_is_lost;
}

const DELETE: FrameKind = FrameKind::Request(Opcode::DELETE);

/// Longer than any test waits here: no session's end clears anything up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Makes an election node in which every client may create and delete, and only this client may
/// read.
async fn unreadable_election(arena: &Arena) -> Result<Client, TestFailure> {
    let reader = Client::builder(&arena.servers()).auth("digest", b"reader:secret");
    let reader = reader.session_timeout(LASTING).connect_timeout(SOON).connect().await?;
    let blind = Acls::creator_all().world(Permissions::CREATE | Permissions::DELETE);
    let mode = CreateMode::Persistent;
    reader.create_with_acl(ELECTION, "", mode, &blind).await?;
    Ok(reader)
}

/// The candidate is created, and then the election node may not be listed. The client, which lives
/// on, owes the deletion until it is answered.
async fn a_failed_nomination_leaves_no_candidate_however_often_the_connection_is_lost(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "cleanup").await?;
    let reader = unreadable_election(&arena).await?;
    for cut in [Cut::instead_of_reply_to(Opcode::DELETE), Cut::after(DELETE), Cut::before(DELETE)] {
        let proxy = Proxy::to(server.shared()?.addr())?;
        let servers = arena.servers_by(&proxy);
        let client = Client::builder(&servers).session_timeout(TIMEOUT).connect_timeout(SOON);
        let client = client.connect().await?;
        let planned = proxy.cut_when(cut);
        let mut nomination = client.election(ELECTION).nominate()?;
        let ended = soon("the nomination fails", nomination.elected()).await?;
        let refused = EndReason::Failed(NominationError::Rejected(ErrorCode::NO_AUTH.get()));
        assert_eq!(ended.expect_err("it cannot lead").reason, refused);
        drop(nomination);
        planned.happened(SOON).await?;
        eventually_async(SOON, &format!("no candidate stands after {cut:?}"), async || {
            reader.get_children(ELECTION).await.is_ok_and(|all| all.iter().next().is_none())
        })
        .await?;
        // And the client goes on.
        eventually_async(SOON, "the client is back", async || client.exists("/").await.is_ok())
            .await?;
    }
    Ok(())
}
