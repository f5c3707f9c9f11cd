//! What elections cost the servers: who is woken, who asks what, and the silence in between.
#![forbid(unsafe_code)]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::{Client, Nomination};
use zk_tests::election::{Arena, ELECTION, connect, follows, leads, soon};
use zk_tests::failure::{TestFailure, TestResult};
use zk_tests::on_both_servers;
use zk_tests::proxy::{ConnectionId, Counters, Opcode, Proxy};
use zk_tests::server::ServerKind;
use zk_tests::wait::SOON;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    nominees_that_wait_are_silent,
    a_resignation_wakes_the_successor_alone,
    the_end_of_a_session_wakes_the_successor_alone,
    a_withdrawal_wakes_the_one_behind_alone,
    joining_takes_four_requests;
}

/// Nominees on sessions of their own, all of them behind one proxy, in the order of the queue.
struct Queue {
    arena: Arena,
    proxy: Proxy,
    members: Vec<Member>,
}

struct Member {
    client: Client,
    connection: ConnectionId,
    nomination: Nomination,
}

impl Queue {
    async fn new(
        server: ServerKind,
        label: &str,
        length: usize,
        session_timeout: Duration,
    ) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, label).await?;
        let proxy = Proxy::to(server.shared()?.addr())?;
        let mut members = Vec::new();
        for index in 0..length {
            let client = connect(&arena.servers_by(&proxy), session_timeout).await?;
            let connections = proxy.connections();
            let connection = *connections.last().expect("it has just been made");
            let mut nomination = client.election(ELECTION).nominate()?;
            if index == 0 {
                leads(&mut nomination).await?;
            } else {
                follows(&nomination).await?;
            }
            members.push(Member { client, connection, nomination });
        }
        Ok(Self { arena, proxy, members })
    }

    /// Makes every member send and hear what it still had to, by one request each.
    async fn settle(&self) -> TestResult {
        for member in &self.members {
            member.client.sync(ELECTION).await?;
        }
        Ok(())
    }
}

fn work(counters: &Counters) -> u64 {
    counters.all_requests() - counters.requests(Opcode::PING)
}

fn lists(counters: &Counters) -> u64 {
    counters.requests(Opcode::GET_CHILDREN) + counters.requests(Opcode::GET_CHILDREN2)
}

fn woken(before: &Counters, after: &Counters, member: &Member) -> u64 {
    let of = |counters: &Counters| {
        let by_connection = counters.notifications_by_connection();
        by_connection.get(&member.connection).copied().unwrap_or_default()
    };
    of(after) - of(before)
}

/// C-39: nothing happens, and nobody sends anything but pings, over several of them.
async fn nominees_that_wait_are_silent(server: ServerKind) -> TestResult {
    let queue = Queue::new(server, "silence", 5, Duration::from_secs(6)).await?;
    queue.settle().await?;
    let before = queue.proxy.counters();
    let after = queue.proxy.wait_for(SOON, "four pings of each", |counters| {
        counters.requests(Opcode::PING) >= before.requests(Opcode::PING) + 4 * 5
    })?;
    assert_eq!(work(&after), work(&before));
    assert_eq!(after.notifications(), before.notifications());
    assert_eq!(after.accepted, 5);
    Ok(())
}

/// C-52, design 3.3: a leader resigns. That is one request, and one event to the successor, which
/// leads without asking anything if the leader was the only one before it when it last looked, and
/// looks once otherwise; nobody else hears or says anything, however long the queue. The resigned
/// one may be sent the event of its own znode.
async fn a_resignation_wakes_the_successor_alone(server: ServerKind) -> TestResult {
    let mut queue = Queue::new(server, "herd", 12, zk_tests::election::LASTING).await?;
    queue.settle().await?;
    let mut looks = 0;
    // A client that is dropped closes its session, which would count.
    let mut clients = Vec::new();
    while queue.members.len() > 1 {
        let leader = queue.members.remove(0);
        clients.push(leader.client);
        let before = queue.proxy.counters();
        soon("the leader has resigned", leader.nomination.resign()).await??;
        leads(&mut queue.members[0].nomination).await?;
        queue.settle().await?;
        let after = queue.proxy.counters();

        let syncs = after.requests(Opcode::SYNC) - before.requests(Opcode::SYNC);
        assert_eq!(after.requests(Opcode::DELETE) - before.requests(Opcode::DELETE), 1);
        let lists = lists(&after) - lists(&before);
        assert_eq!(lists, looks, "a list");
        assert_eq!(work(&after) - work(&before), 1 + lists + syncs);
        looks = 1;
        let events: Vec<_> =
            queue.members.iter().map(|member| woken(&before, &after, member)).collect();
        assert_eq!(events.first(), Some(&1));
        assert!(events[1..].iter().all(|events| *events == 0), "{events:?}");
    }
    Ok(())
}

/// The same for a leader whose session ends, C-46.
async fn the_end_of_a_session_wakes_the_successor_alone(server: ServerKind) -> TestResult {
    let mut queue = Queue::new(server, "closing", 6, zk_tests::election::LASTING).await?;
    queue.settle().await?;
    let mut looks = 0;
    while queue.members.len() > 1 {
        let leader = queue.members.remove(0);
        let before = queue.proxy.counters();
        soon("the session is closed", leader.client.close()).await??;
        leads(&mut queue.members[0].nomination).await?;
        queue.settle().await?;
        let after = queue.proxy.counters();
        let syncs = after.requests(Opcode::SYNC) - before.requests(Opcode::SYNC);
        let closes = Opcode::CLOSE_SESSION;
        assert_eq!(after.requests(closes) - before.requests(closes), 1);
        let lists = lists(&after) - lists(&before);
        assert_eq!(lists, looks, "a list");
        assert_eq!(work(&after) - work(&before), 1 + lists + syncs);
        looks = 1;
        let events: Vec<_> =
            queue.members.iter().map(|member| woken(&before, &after, member)).collect();
        assert_eq!(events.iter().sum::<u64>(), 1, "{events:?}");
        assert_eq!(events[0], 1);
    }
    Ok(())
}

/// A follower in the middle withdraws: the one behind it is woken and looks once, at a list and at
/// its new predecessor; nobody else does anything.
async fn a_withdrawal_wakes_the_one_behind_alone(server: ServerKind) -> TestResult {
    let mut queue = Queue::new(server, "middle", 6, zk_tests::election::LASTING).await?;
    queue.settle().await?;
    let leaving = queue.members.remove(2);
    let before = queue.proxy.counters();
    soon("the follower has withdrawn", leaving.nomination.withdraw()).await??;
    let predecessor = follows(&queue.members[1].nomination).await?.0;
    zk_tests::election::follows_this(&queue.members[2].nomination, &predecessor).await?;
    queue.settle().await?;
    let after = queue.proxy.counters();

    let sent = |opcode| after.requests(opcode) - before.requests(opcode);
    let lists = lists(&after) - lists(&before);
    assert_eq!((sent(Opcode::DELETE), lists, sent(Opcode::GET_DATA)), (1, 1, 1));
    assert_eq!(work(&after) - work(&before), 3 + sent(Opcode::SYNC));
    let events: Vec<_> =
        queue.members.iter().map(|member| woken(&before, &after, member)).collect();
    assert_eq!(events, [0, 0, 1, 0, 0]);
    assert_eq!(queue.arena.children().await?.len(), 5);
    Ok(())
}

/// The way into the queue, request by request, when the election node is there: create, read and
/// watch the own znode, list, read and watch the predecessor's.
async fn joining_takes_four_requests(server: ServerKind) -> TestResult {
    let queue = Queue::new(server, "joining", 2, zk_tests::election::LASTING).await?;
    let own_proxy = Proxy::to(server.shared()?.addr())?;
    let client = queue.arena.client_by(&own_proxy).await?;
    let nomination = client.election(ELECTION).nominate()?;
    follows(&nomination).await?;
    let counters = own_proxy.counters();
    let requests = (
        counters.requests(Opcode::CREATE) + counters.requests(Opcode::CREATE2),
        counters.requests(Opcode::GET_DATA),
        lists(&counters),
    );
    assert_eq!((requests, work(&counters)), ((1, 2, 1), 4));
    Ok(())
}
