//! Elections at the end of the sequence numbers, where a server gives one number twice: it starts
//! from a snapshot in which the election node has had nearly all of its children.

use alloc::sync::Arc;

use election_tokio::election::{EndReason, Leadership, Nomination, NominationError, Role};
use election_tokio::{Client, NomineeId};
use zk_test_kit::election::{ELECTION, LASTING, connect, follows_this, leads, reaches, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::{Claim, History, Watchers};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Options, Server, Snapshot};

const LAST: i32 = i32::MAX;

async fn bench(next: i32) -> Result<(Server, Client), TestFailure> {
    let snapshot = Snapshot::new().with_next_number(ELECTION, next);
    let server = Options::new().snapshot(snapshot).start_server()?;
    let client = connect(&server.connect_string(), LASTING).await?;
    Ok((server, client))
}

/// Starts a nominee with an id of which all bytes are this one.
fn nominee(client: &Client, byte: u8) -> Result<Nomination, TestFailure> {
    Ok(client.election(ELECTION).take_over(NomineeId::from_bytes([byte; 16]))?)
}

async fn has_a_place_or_none(nomination: &Nomination) -> Result<Role, TestFailure> {
    let role = reaches(nomination, "the nominee has a place, or none", |status| {
        let role = status.role.clone();
        let settled = matches!(role, Role::Following { .. } | Role::Leading { .. });
        (settled || matches!(role, Role::Ended(_))).then_some(role)
    });
    Ok(role.await?)
}

async fn has_children(client: &Client, count: usize) -> TestResult {
    let what = format!("the election node has {count} children");
    let children =
        async || client.get_children(ELECTION).await.is_ok_and(|all| all.iter().count() == count);
    Ok(eventually_async(SOON, &what, children).await?)
}

fn has_number(leadership: &Leadership, number: i32) -> bool {
    leadership.candidate().text().ends_with(&format!("-{number:010}"))
}

fn exhausted() -> Role {
    Role::Ended(EndReason::Failed(NominationError::SequenceExhausted))
}

/// The last number that is given once is the last but one. Those with good numbers go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_after_the_last_good_number_is_told_so() -> TestResult {
    let (_server, client) = bench(LAST - 2).await?;
    let mut first = nominee(&client, 0xA0)?;
    let leadership = Arc::new(leads(&mut first).await?);
    assert!(has_number(&leadership, LAST - 2));
    let mut second = nominee(&client, 0xB0)?;
    follows_this(&second, leadership.candidate()).await?;
    let mut watchers = Watchers::new();
    watchers.watch("first", Arc::clone(&leadership));
    for byte in [0xC0, 0x10, 0xD0, 0x00] {
        let late = nominee(&client, byte)?;
        assert_eq!(has_a_place_or_none(&late).await?, exhausted());
        has_children(&client, 2).await?;
    }
    assert!(leadership.is_valid());
    follows_this(&second, leadership.candidate()).await?;

    soon("the first has resigned", first.withdraw()).await??;
    let successor = Arc::new(leads(&mut second).await?);
    assert!(has_number(&successor, LAST - 1));
    watchers.watch("second", Arc::clone(&successor));
    assert_eq!(has_a_place_or_none(&nominee(&client, 0xE0)?).await?, exhausted());
    assert!(successor.is_valid());
    assert_eq!(watchers.finish().tenures()?.len(), 2);
    soon("the second has resigned", second.withdraw()).await??;
    has_children(&client, 0).await
}

/// The number is the same for all, or wraps, and the order of the ids is the wrong one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_leads_by_a_number_that_another_can_have() -> TestResult {
    let (_server, client) = bench(LAST).await?;
    let (mut history, mut nominations, mut leaders) = (History::default(), Vec::new(), Vec::new());
    for byte in [0xF0, 0x80, 0x00] {
        let mut nomination = nominee(&client, byte)?;
        let role = has_a_place_or_none(&nomination).await?;
        println!("{byte:x}: {role:?}");
        if matches!(role, Role::Leading { .. }) {
            leaders.push((format!("{byte:x}"), leads(&mut nomination).await?));
        }
        nominations.push((nomination, role));
        for _ in 0..2 {
            history.extend(leaders.iter().filter_map(|(name, leader)| Claim::ask(name, leader)));
        }
    }
    history.tenures()?;
    for (_, role) in &nominations {
        assert_eq!(*role, exhausted());
    }
    has_children(&client, 0).await
}
