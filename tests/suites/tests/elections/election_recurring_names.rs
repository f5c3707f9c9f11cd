//! Election nodes that are removed and made anew, and count their children from 0 again.

use core::future::ready;
use core::pin::pin;
use std::collections::BTreeSet;

use election_tokio::{
    Client, CreateMode, Leadership, Limits, Nomination, TransactionError, Version,
};
use zk_test_kit::election::{Arena, ELECTION, LASTING, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Directions, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    no_two_candidates_of_a_nomination_have_one_name,
    a_guarded_write_that_waited_for_room_is_not_applied_after_one_with_a_newer_token;
}

/// Removes the election node with its only candidate, and waits until the nominee leads again.
async fn anew(
    arena: &Arena,
    nomination: &mut Nomination,
    leadership: &Leadership,
) -> Result<Leadership, TestFailure> {
    let candidate = format!("{ELECTION}/{}", leadership.candidate());
    let removal = arena.admin.transaction().delete(&candidate, Version::ANY);
    removal.delete(ELECTION, Version::ANY).commit().await?;
    soon("the loss is told", leadership.lost()).await?;
    let next = leads(nomination).await?;
    assert!(next.token() > leadership.token());
    Ok(next)
}

async fn no_two_candidates_of_a_nomination_have_one_name(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "names").await?;
    let mut nomination = arena.client().await?.election(ELECTION).nominate()?;
    let mut leadership = leads(&mut nomination).await?;
    let mut names = BTreeSet::new();
    for _ in 0..10 {
        let name = leadership.candidate().to_string();
        assert!(names.insert(name), "{} and {names:?}", leadership.candidate());
        leadership = anew(&arena, &mut nomination, &leadership).await?;
    }
    Ok(())
}

/// The future is polled while there is no room, and then only after its leadership was lost, and
/// another one, which the same nominee won, has written.
async fn a_guarded_write_that_waited_for_room_is_not_applied_after_one_with_a_newer_token(
    server: ServerKind,
) -> TestResult {
    const WORK: &str = "/work";
    let arena = Arena::new(server, "room").await?;
    arena.admin.create(WORK, "", CreateMode::Persistent).await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&arena.servers_by(&proxy)).session_timeout(LASTING);
    let builder = builder.limits(Limits { max_in_flight: 1, ..Limits::default() });
    let client = builder.connect_timeout(SOON).connect().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let old = leads(&mut nomination).await?;

    proxy.black_hole(Directions::ToClient);
    let mut in_the_way = pin!(client.exists("/"));
    let mut late = pin!(old.transaction().set_data(WORK, "old", Version::ANY).commit());
    let no_room = tokio::select! {
        biased;
        _ = &mut in_the_way => false,
        _ = &mut late => false,
        () = ready(()) => true,
    };
    assert!(no_room);
    proxy.heal();
    soon("there is room again", in_the_way).await??;

    let new = anew(&arena, &mut nomination, &old).await?;
    new.transaction().set_data(WORK, "new", Version::ANY).commit().await?;
    let late = soon("the old write is over", late).await?;
    let (data, _) = arena.admin.get_data(WORK).await?;
    let data = String::from_utf8_lossy(&data);
    assert_eq!(data, "new", "by {} after {}: {late:?}", old.token(), new.token());
    assert_eq!(late, Err(TransactionError::NotHeld));
    Ok(())
}
