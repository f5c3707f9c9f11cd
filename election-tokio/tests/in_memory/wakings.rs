//! New leaders that wake the candidate behind them.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::election::{HandOver, Leadership, Nomination, WhenPromoted};
use election_tokio::{Client, Token};
use tokio::time::Instant;
use zk_jute::OpCode;

use crate::frames::narrow_client;
use crate::server::{Server, settle, wait};

const ELECTION: &str = "/election";

/// Returns nominees in their order, each by a client of its own, and the first one's leadership.
async fn queue(
    server: &Server,
    nominees: usize,
    when_promoted: WhenPromoted,
) -> (Vec<(Client, Nomination)>, Leadership) {
    let mut queue = Vec::new();
    for _ in 0..nominees {
        let client = server.client().await;
        let election = client.election(ELECTION).when_promoted(when_promoted).data("host-7");
        queue.push((client.clone(), election.nominate().unwrap()));
        settle().await;
    }
    let leadership = queue[0].1.elected().await.unwrap();
    (queue, leadership)
}

fn ahead(nomination: &Nomination) -> Option<u32> {
    nomination.position().map(|position| position.ahead)
}

/// And each leader in turn wakes the next one, with no look between.
#[tokio::test(start_paused = true)]
async fn the_next_to_lead_knows_it_at_once() {
    let server = Server::new();
    let (mut queue, leadership) = queue(&server, 6, WhenPromoted::WakesNext).await;
    let mut leading = leadership;
    while queue.len() > 2 {
        drop(leading);
        let (_, former) = queue.remove(0);
        former.withdraw().await.unwrap();
        leading = queue[0].1.elected().await.unwrap();
        wait(1).await;
        assert_eq!(ahead(&queue[1].1), Some(1), "it has looked");
        let paths = server.children(ELECTION).into_iter().map(|name| format!("{ELECTION}/{name}"));
        let data: Vec<_> = paths.map(|path| server.data(&path).unwrap()).collect();
        assert!(data.iter().all(|data| data == b"host-7"), "{data:?}");
    }
}

/// Of each promotion, the herd left out: two lists, a write, and three reads; the last write proves the lease of
/// the one that is next now.
#[tokio::test(start_paused = true)]
async fn what_a_waking_costs() {
    let (list, read) = (OpCode::GET_CHILDREN, OpCode::GET_DATA);
    let waking = [OpCode::DELETE, list, OpCode::MULTI, read, read, list, read, OpCode::MULTI];
    for (when_promoted, cost) in
        [(WhenPromoted::WakesNext, &waking[..]), (WhenPromoted::Rests, &waking[..1])]
    {
        let server = Server::new();
        let (mut queue, _leadership) = queue(&server, 20, when_promoted).await;
        wait(1).await;
        let (before, watches) = (server.requested().len(), server.watches());
        queue.remove(0).1.withdraw().await.unwrap();
        queue[0].1.elected().await.unwrap();
        settle().await;
        assert_eq!(server.requested()[before..], *cost, "{when_promoted:?}");
        assert!(server.watches() <= watches, "no watch more");
    }
}

/// Eight stand between. With looks alone it takes a minute.
#[tokio::test(start_paused = true)]
async fn a_leadership_is_handed_over_past_others_without_a_look() {
    for (when_promoted, bounds) in
        [(WhenPromoted::WakesNext, (0, 1)), (WhenPromoted::Rests, (30, 80 * 8))]
    {
        let server = Server::new();
        let (mut queue, leadership) = queue(&server, 10, when_promoted).await;
        let candidates = queue[0].0.election(ELECTION).candidates().await.unwrap();
        let to: Token = candidates[9].token;
        let start = Instant::now();
        let within = Duration::from_secs(3600);
        assert_eq!(leadership.hand_over(to, within).await, Ok(HandOver::To(to)));
        let next = queue[9].1.elected().await.unwrap();
        assert_eq!(next.token(), to);
        let took = start.elapsed();
        let (least, most) = bounds;
        let (least, most) = (Duration::from_secs(least), Duration::from_secs(most));
        assert!(least <= took && took < most, "{when_promoted:?}: {took:?}");
    }
}

/// It lists, to wake the one behind it; the write is a system call that wakes the server.
#[tokio::test(start_paused = true)]
async fn a_leader_is_at_work_before_its_client_writes() {
    let (server, second, counts) = narrow_client(usize::MAX).await;
    let (first, third) = (server.client().await, server.client().await);
    let mut queue = Vec::new();
    for client in [&first, &second, &third] {
        queue.push(client.election(ELECTION).nominate().unwrap());
        settle().await;
    }
    // It knows that it is next: nothing but the event stands before its work.
    wait(1).await;
    let before = counts.writes();
    let (former, mut next) = (queue.remove(0), queue.remove(0));
    let leads = tokio::spawn({
        let counts = Arc::clone(&counts);
        async move { (next.elected().await.unwrap(), counts.writes()) }
    });
    former.withdraw().await.unwrap();
    let (_leadership, then) = leads.await.unwrap();
    assert_eq!(then, before);
    settle().await;
    assert!(counts.writes() > then, "it wakes the next one");
}
