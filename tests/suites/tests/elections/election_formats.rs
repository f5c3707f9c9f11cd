//! Nominations in the formats of other libraries, with a create that is cut off before it, behind
//! it, and instead of its reply; and beside a participant of another format.

use core::time::Duration;

use election_tokio::election::{EndReason, Role};
use election_tokio::format::Format;
use election_tokio::{Client, CreateMode};
use zk_test_kit::election::{Arena, ELECTION, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Cut, FrameKind, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_create_in_doubt_leaves_one_candidate_in_every_format,
    none_leads_beside_a_participant_of_another_format,
    an_election_that_is_over_ends_its_nominations;
}

const FORMATS: [Format; 9] = [
    Format::curator_latch(),
    Format::curator_lock(),
    Format::curator_read_write(),
    Format::kazoo(),
    Format::go_zookeeper(),
    Format::leader_election_support(),
    Format::go_leaderelection(),
    Format::zk_election(),
    Format::zookeeper_write_lock(),
];

const CREATE: FrameKind = FrameKind::Request(Opcode::CREATE2);

async fn a_create_in_doubt_leaves_one_candidate_in_every_format(server: ServerKind) -> TestResult {
    for format in FORMATS {
        let arena = Arena::new(server, "formats").await?;
        let other = arena.client().await?;
        let mut rival = other.election(ELECTION).format(format).data("rival").nominate()?;
        soon("the rival leads", rival.elected()).await??;
        for cut in
            [Cut::instead_of_reply_to(Opcode::CREATE2), Cut::after(CREATE), Cut::before(CREATE)]
        {
            let proxy = Proxy::to(server.shared()?.addr())?;
            let client = arena.client_by(&proxy).await?;
            let planned = proxy.cut_when(cut);
            let nomination = client.election(ELECTION).format(format).data("own").nominate()?;
            planned.wait(SOON)?;
            let mut updates = nomination.updates();
            let follows = updates.wait_for(|status| matches!(status.role, Role::Following { .. }));
            soon("it follows", follows).await??;
            let standing = arena.children().await?;
            assert_eq!(standing.len(), 2, "{format:?}, {cut:?}: {standing:?}");
            assert!(standing.iter().all(|name| format.parse(name).is_ok()), "{standing:?}");
            soon("it withdraws", nomination.withdraw()).await??;
            assert_eq!(arena.children().await?.len(), 1, "{format:?}, {cut:?}");
        }
        soon("the rival withdraws", rival.withdraw()).await??;
        assert!(arena.children().await?.is_empty(), "{format:?}");
    }
    Ok(())
}

/// Its end is noticed.
async fn none_leads_beside_a_participant_of_another_format(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "formats").await?;
    let (client, other) = (arena.client().await?, arena.client().await?);
    client.create(ELECTION, "", CreateMode::Persistent).await?;
    let foreign = format!("{ELECTION}/n_");
    client.create(&foreign, "", CreateMode::PersistentSequential).await?;
    other.create(&foreign, "", CreateMode::EphemeralSequential).await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let stands = async || arena.children().await.is_ok_and(|all| all.len() == 3);
    eventually_async(SOON, "it stands", stands).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(nomination.status().role, Role::Standing);
    other.close().await?;
    soon("it leads", nomination.elected()).await??;
    assert_eq!(arena.children().await?.len(), 2, "what is persistent is in the way of none");
    Ok(())
}

/// By the znode of go-leaderelection that says so.
async fn an_election_that_is_over_ends_its_nominations(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "formats").await?;
    let (client, other) = (arena.client().await?, arena.client().await?);
    let election = |client: &Client| client.election(ELECTION).format(Format::go_leaderelection());
    let mut first = election(&client).nominate()?;
    let leadership = soon("it leads", first.elected()).await??;
    let mut second = election(&other).nominate()?;
    let stands = async || arena.children().await.is_ok_and(|all| all.len() == 2);
    eventually_async(SOON, "the other one stands", stands).await?;
    client.create(&format!("{ELECTION}/DONE"), "", CreateMode::Persistent).await?;
    soon("the leadership ends", leadership.lost()).await?;
    let over = EndReason::ElectionEnded;
    for nomination in [&mut first, &mut second] {
        let ended = soon("the nomination ends", nomination.elected()).await?;
        assert_eq!(ended.expect_err("it cannot lead").reason, over);
    }
    let is_over = async || arena.children().await.is_ok_and(|all| all == ["DONE"]);
    Ok(eventually_async(SOON, "nothing but the sign is left", is_over).await?)
}
