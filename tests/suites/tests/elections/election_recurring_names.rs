//! Election nodes that are removed and made anew, and count their children from 0 again.

use core::future::ready;
use core::pin::pin;
use std::collections::BTreeSet;

use election_tokio::election::{Leadership, Nomination};
use election_tokio::format::Format;
use election_tokio::session::Limits;
use election_tokio::{Client, CreateMode, TransactionError, Version};
use zk_test_kit::election::{Arena, ELECTION, LASTING, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Directions, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    no_two_candidates_of_a_nomination_have_one_name,
    a_guarded_write_that_waited_for_room_is_not_applied_after_one_with_a_newer_token,
    a_former_leader_without_an_id_neither_writes_nor_confirms_nor_deletes_the_next_leader,
    a_former_holder_without_an_id_neither_writes_nor_confirms_nor_deletes_the_next_holder,
    epochs_of_leaders_without_ids_begin_in_the_order_of_their_tokens;
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

const WITHOUT_IDS: [Format; 2] = [Format::leader_election_support(), Format::go_leaderelection()];

/// Removes the node with its only contender, which has this name.
async fn wipe(arena: &Arena, name: &str) -> TestResult {
    let removal = arena.admin.transaction().delete(&format!("{ELECTION}/{name}"), Version::ANY);
    removal.delete(ELECTION, Version::ANY).commit().await?;
    Ok(())
}

/// The former leader hears nothing, and what it sends arrives, when another candidate has its name.
async fn a_former_leader_without_an_id_neither_writes_nor_confirms_nor_deletes_the_next_leader(
    server: ServerKind,
) -> TestResult {
    for format in WITHOUT_IDS {
        let arena = Arena::new(server, "former").await?;
        arena.admin.create("/work", "", CreateMode::Persistent).await?;
        let proxy = Proxy::to(server.shared()?.addr())?;
        let former = arena.client_by(&proxy).await?;
        let mut nomination = former.election(ELECTION).format(format).nominate()?;
        let old = leads(&mut nomination).await?;
        soon("it is confirmed", old.confirm()).await??;

        proxy.black_hole(Directions::ToClient);
        wipe(&arena, &old.candidate().to_string()).await?;
        let mut next = arena.client().await?.election(ELECTION).format(format).nominate()?;
        let new = leads(&mut next).await?;
        assert_eq!(new.candidate(), old.candidate(), "the name recurs");
        assert!(new.token() > old.token());

        let write = old.transaction().set_data("/work", "old", Version::ANY);
        let refused = soon("it is refused", write.commit()).await?.map(drop);
        assert_eq!(refused, Err(TransactionError::NamesRecur), "{format:?}");
        let doubter = old.clone();
        let mut confirmed = pin!(doubter.confirm());
        let mut resigned = pin!(old.resign());
        let is_over = tokio::select! {
            biased;
            _ = &mut confirmed => true,
            _ = &mut resigned => true,
            () = ready(()) => false,
        };
        assert!(!is_over, "nothing is heard");
        proxy.heal();
        let confirmed = soon("the answer comes", confirmed).await?;
        assert_eq!(confirmed, Err(TransactionError::NotHeld), "{format:?}");
        soon("it has resigned", resigned).await??;

        soon("the next leader leads on", new.confirm()).await??;
        assert!(new.is_valid(), "{format:?}");
        let (data, _) = arena.admin.get_data("/work").await?;
        assert!(data.is_empty(), "{data:?}");
        assert_eq!(arena.children().await?, [new.candidate().to_string()]);
    }
    Ok(())
}

/// The same of a lock.
async fn a_former_holder_without_an_id_neither_writes_nor_confirms_nor_deletes_the_next_holder(
    server: ServerKind,
) -> TestResult {
    for format in WITHOUT_IDS {
        let arena = Arena::new(server, "holder").await?;
        let proxy = Proxy::to(server.shared()?.addr())?;
        let former = arena.client_by(&proxy).await?;
        let old = soon("it is held", former.lock(ELECTION).format(format).lock()).await??;
        soon("it is confirmed", old.confirm()).await??;

        proxy.black_hole(Directions::ToClient);
        wipe(&arena, &old.znode().to_string()).await?;
        let next = arena.client().await?;
        let new = soon("it is held again", next.lock(ELECTION).format(format).lock()).await??;
        assert_eq!(new.znode(), old.znode(), "the name recurs");

        let write = old.transaction().create("/work", "", CreateMode::Persistent);
        let refused = soon("it is refused", write.commit()).await?.map(drop);
        assert_eq!(refused, Err(TransactionError::NamesRecur), "{format:?}");
        let mut confirmed = Box::pin(old.confirm());
        let is_over = tokio::select! {
            biased;
            _ = &mut confirmed => true,
            () = ready(()) => false,
        };
        assert!(!is_over, "nothing is heard");
        proxy.heal();
        let confirmed = soon("the answer comes", confirmed).await?;
        assert_eq!(confirmed, Err(TransactionError::NotHeld), "{format:?}");
        let _released = soon("it has released", old.release()).await?;

        soon("the next holder holds on", new.confirm()).await??;
        assert_eq!(arena.children().await?, [new.znode().to_string()]);
    }
    Ok(())
}

/// And a leader may acknowledge by its epoch, whatever its format.
async fn epochs_of_leaders_without_ids_begin_in_the_order_of_their_tokens(
    server: ServerKind,
) -> TestResult {
    for format in WITHOUT_IDS {
        let arena = Arena::new(server, "epochs").await?;
        arena.admin.create("/work", "", CreateMode::Persistent).await?;
        let proxy = Proxy::to(server.shared()?.addr())?;
        let former = arena.client_by(&proxy).await?;
        let mut nomination = former.election(ELECTION).format(format).nominate()?;
        let old = leads(&mut nomination).await?;
        let first = soon("its epoch begins", old.epoch()).await??;
        assert_eq!(soon("it has one", old.epoch()).await??, first);
        soon("it acknowledges", old.acknowledge(b"old")).await??;

        proxy.black_hole(Directions::ToClient);
        wipe(&arena, &old.candidate().to_string()).await?;
        let mut next = arena.client().await?.election(ELECTION).format(format).nominate()?;
        let new = leads(&mut next).await?;
        let second = soon("its epoch begins", new.epoch()).await??;
        assert_eq!((first.number(), second.number()), (0, 1));
        soon("it acknowledges", new.acknowledge(b"new")).await??;

        let by = |epoch: &election_tokio::election::Epoch| {
            arena.admin.transaction().check(epoch.path(), epoch.version())
        };
        let late = by(&first).set_data("/work", "old", Version::ANY).commit().await;
        assert!(late.is_err_and(|error| error.is_bad_version()), "{format:?}");
        by(&second).set_data("/work", "new", Version::ANY).commit().await?;
        let mut acknowledged = pin!(old.acknowledge(b"late"));
        let is_over = tokio::select! {
            biased;
            _ = &mut acknowledged => true,
            () = ready(()) => false,
        };
        assert!(!is_over, "nothing is heard");
        proxy.heal();
        let late = soon("the answer comes", acknowledged).await?;
        assert_eq!(late, Err(TransactionError::NotHeld), "{format:?}");
        let (data, _) = arena.admin.get_data(&format!("{ELECTION}.acknowledged")).await?;
        assert!(data.ends_with(b"new"), "{data:?}");
    }
    Ok(())
}
