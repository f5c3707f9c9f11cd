//! The costs of elections for the servers: the clients that are woken, their requests, and the
//! silence in between.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::iter::Sum;
use core::ops::{Add, Sub};
use core::time::Duration;
use std::time::Instant;

use election_tokio::Client;
use election_tokio::election::{Nomination, Role, WhenPromoted};
use zk_test_kit::election::{
    Arena, ELECTION, LASTING, connect, follows, follows_this, leads, soon,
};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Counters, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    the_leader_and_the_next_one_commit_and_others_sync,
    a_resignation_wakes_the_successor_alone,
    the_end_of_a_session_wakes_the_successor_alone,
    a_withdrawal_wakes_the_one_behind_alone,
    after_a_look_the_heir_leads_without_a_request,
    joining_takes_three_requests;
}

/// The leader and the one that knows itself to be next prove their leases.
const PROVING: usize = 2;

/// Nominees on sessions of their own, each behind a proxy, in the order of the queue.
struct Queue {
    arena: Arena,
    members: Vec<Member>,
}

struct Member {
    client: Client,
    proxy: Proxy,
    nomination: Nomination,
    /// The candidates ahead of it when it joined.
    ahead: usize,
}

impl Queue {
    async fn new(
        server: ServerKind,
        label: &str,
        length: usize,
        session_timeout: Duration,
    ) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, label).await?;
        let mut members = Vec::new();
        for ahead in 0..length {
            let proxy = Proxy::to(server.shared()?.addr())?;
            let client = connect(&arena.servers_by(&proxy), session_timeout).await?;
            let mut nomination =
                client.election(ELECTION).when_promoted(WhenPromoted::Rests).nominate()?;
            if ahead == 0 {
                leads(&mut nomination).await?;
            } else {
                follows(&nomination).await?;
            }
            members.push(Member { client, proxy, nomination, ahead });
        }
        Ok(Self { arena, members })
    }

    /// Makes every member send and hear what it still had to, by one `sync` each.
    async fn settle(&self) -> TestResult {
        for member in &self.members {
            member.client.sync(ELECTION).await?;
        }
        Ok(())
    }

    fn traffic(&self) -> Vec<Traffic> {
        self.members.iter().map(Member::traffic).collect()
    }
}

impl Member {
    fn traffic(&self) -> Traffic {
        Traffic::of(&self.proxy.counters())
    }
}

/// The requests of a client, and the notifications that it has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traffic {
    pings: u64,
    /// Proofs of the lease: nothing else in these tests is a `multi`.
    heartbeats: u64,
    /// Each heartbeat is confirmed by one; and a pair keeps a lease ready.
    syncs: u64,
    lists: u64,
    reads: u64,
    deletes: u64,
    /// Whatever else: none of the above.
    others: u64,
    events: u64,
}

impl Traffic {
    fn of(counters: &Counters) -> Self {
        let of = |opcode| counters.requests(opcode);
        let lists = of(Opcode::GET_CHILDREN) + of(Opcode::GET_CHILDREN2);
        let named = Self {
            pings: of(Opcode::PING),
            heartbeats: of(Opcode::MULTI),
            syncs: of(Opcode::SYNC),
            lists,
            reads: of(Opcode::GET_DATA),
            deletes: of(Opcode::DELETE),
            others: 0,
            events: counters.notifications(),
        };
        Self { others: counters.all_requests() - named.requests(), ..named }
    }

    const fn requests(&self) -> u64 {
        self.pings + self.heartbeats + self.syncs + self.work()
    }

    /// Returns the requests that neither keep the session alive, nor prove the lease, nor settle.
    const fn work(&self) -> u64 {
        self.lists + self.reads + self.deletes + self.others
    }

    /// Whether one `sync` has come, beside those that keep the lease.
    const fn has_settled(&self) -> bool {
        self.syncs >= 1
    }

    fn each(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            pings: combine(self.pings, other.pings),
            heartbeats: combine(self.heartbeats, other.heartbeats),
            syncs: combine(self.syncs, other.syncs),
            lists: combine(self.lists, other.lists),
            reads: combine(self.reads, other.reads),
            deletes: combine(self.deletes, other.deletes),
            others: combine(self.others, other.others),
            events: combine(self.events, other.events),
        }
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        self.each(before, |after, before| after - before)
    }
}

impl Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |sum, one| sum.each(one, u64::add))
    }
}

fn since(before: &[Traffic], after: &[Traffic]) -> Vec<Traffic> {
    before.iter().zip(after).map(|(before, after)| *after - *before).collect()
}

/// Nothing happens, for several timeouts. The leader and the next one send a heartbeat that is
/// committed a third of the timeout after the answer to the last one, and confirm it; the others send
/// a `sync` in its place. That is all.
async fn the_leader_and_the_next_one_commit_and_others_sync(server: ServerKind) -> TestResult {
    const TIMEOUT: Duration = Duration::from_secs(9);
    const TIMES: u64 = 4;
    let queue = Queue::new(server, "silence", 5, TIMEOUT).await?;
    queue.settle().await?;
    let (start, before) = (Instant::now(), queue.traffic());
    eventually_async(SOON, "each has shown several times that it lives", async || {
        since(&before, &queue.traffic())
            .iter()
            .all(|sent| sent.heartbeats >= TIMES && sent.syncs >= TIMES || sent.syncs >= 2 * TIMES)
    })
    .await?;
    let sent = since(&before, &queue.traffic());
    let most = 1 + start.elapsed().as_millis() / (TIMEOUT / 3).as_millis();
    for sent in &sent {
        assert!(u128::from(sent.heartbeats + sent.syncs) <= 2 * most, "{sent:?} in {most} thirds");
        assert_eq!((sent.pings, sent.work(), sent.events), (0, 0, 0), "{sent:?}");
    }
    let (proving, others) = sent.split_at(PROVING);
    for sent in proving {
        assert!(sent.syncs.abs_diff(sent.heartbeats) <= 1, "{sent:?}");
        assert!(sent.heartbeats >= TIMES, "{sent:?}");
    }
    for sent in others {
        assert_eq!(sent.heartbeats, 0, "{sent:?}");
    }
    for member in &queue.members {
        assert_eq!(member.proxy.counters().accepted, 1);
    }
    Ok(())
}

impl Queue {
    /// Asserts that the first of the queue was woken, after the one before it has gone, and leads. It looks once
    /// (`looks`), at a list and at its own candidate, unless it knew that it was next. No other client hears
    /// anything, or does anything but to settle.
    fn assert_the_first_leads(&self, before: &[Traffic], looks: u64) {
        let sent = since(before, &self.traffic());
        let (first, rest) = sent.split_first().expect("the first");
        assert_eq!((first.lists, first.reads), (looks, looks), "{first:?}");
        assert_eq!((first.work(), first.events), (2 * looks, 1), "{first:?}");
        assert!(first.has_settled(), "{first:?}");
        for (member, sent) in self.members.iter().skip(1).zip(rest) {
            assert_eq!((sent.work(), sent.events), (0, 0), "{sent:?}");
            assert!(sent.has_settled(), "{sent:?}");
            assert!(member.ahead < PROVING || sent.heartbeats == 0, "{sent:?}");
        }
    }
}

/// A leader that wakes nobody resigns. That is one request, and one event to the successor, which leads without
/// asking anything if the leader was the only one before it when it last looked, and looks once
/// otherwise; no other client hears or says anything, however long the queue. The resigned one may
/// be sent the event of its own znode.
async fn a_resignation_wakes_the_successor_alone(server: ServerKind) -> TestResult {
    let mut queue = Queue::new(server, "herd", 12, LASTING).await?;
    queue.settle().await?;
    let mut looks = 0;
    // A client that is dropped closes its session, which would count.
    let mut gone = Vec::new();
    while queue.members.len() > 1 {
        let Member { client, proxy, nomination, .. } = queue.members.remove(0);
        let before = (Traffic::of(&proxy.counters()), queue.traffic());
        soon("the leader has resigned", nomination.withdraw()).await??;
        leads(&mut queue.members[0].nomination).await?;
        queue.settle().await?;
        client.sync(ELECTION).await?;
        let resigned = Traffic::of(&proxy.counters()) - before.0;
        assert_eq!((resigned.deletes, resigned.work()), (1, 1), "{resigned:?}");
        queue.assert_the_first_leads(&before.1, looks);
        looks = 1;
        gone.push((client, proxy));
    }
    Ok(())
}

/// The same for a leader at the end of its session.
async fn the_end_of_a_session_wakes_the_successor_alone(server: ServerKind) -> TestResult {
    let mut queue = Queue::new(server, "closing", 6, LASTING).await?;
    queue.settle().await?;
    let mut looks = 0;
    while queue.members.len() > 1 {
        let leader = queue.members.remove(0);
        let before = (leader.proxy.counters(), queue.traffic());
        soon("the session is closed", leader.client.close()).await??;
        leads(&mut queue.members[0].nomination).await?;
        queue.settle().await?;
        let closes = |counters: &Counters| counters.requests(Opcode::CLOSE_SESSION);
        let counters = leader.proxy.counters();
        assert_eq!(closes(&counters) - closes(&before.0), 1);
        let sent = Traffic::of(&counters) - Traffic::of(&before.0);
        assert_eq!((sent.others, sent.work()), (1, 1), "{sent:?}");
        queue.assert_the_first_leads(&before.1, looks);
        looks = 1;
    }
    Ok(())
}

/// A follower in the middle withdraws: the one behind it is woken and looks once, at a list and at
/// its new predecessor; no other client does anything.
async fn a_withdrawal_wakes_the_one_behind_alone(server: ServerKind) -> TestResult {
    let mut queue = Queue::new(server, "middle", 7, LASTING).await?;
    queue.settle().await?;
    let Member { client, proxy, nomination, .. } = queue.members.remove(2);
    let before = (Traffic::of(&proxy.counters()), queue.traffic());
    soon("the follower has withdrawn", nomination.withdraw()).await??;
    let predecessor = follows(&queue.members[1].nomination).await?.0;
    follows_this(&queue.members[2].nomination, &predecessor).await?;
    queue.settle().await?;
    client.sync(ELECTION).await?;
    let withdrawn = Traffic::of(&proxy.counters()) - before.0;
    let sent = since(&before.1, &queue.traffic());

    // The other request takes down the watch on the predecessor.
    assert_eq!((withdrawn.deletes, withdrawn.work()), (1, 2), "{withdrawn:?}");
    let woken = sent[2];
    assert_eq!((woken.lists, woken.reads, woken.work()), (1, 1, 2), "{woken:?}");
    let events: Vec<_> = sent.iter().map(|sent| sent.events).collect();
    assert_eq!(events, [0, 0, 1, 0, 0, 0]);
    assert_eq!(sent.iter().copied().sum::<Traffic>().work(), 2);
    for (member, sent) in queue.members.iter().zip(&sent) {
        assert!(sent.has_settled(), "{sent:?}");
        assert!(member.ahead < PROVING || sent.heartbeats == 0, "{sent:?}");
    }
    assert_eq!(queue.arena.children().await?.len(), 6);
    Ok(())
}

/// A follower that has become the heir since it joined learns so by its next look, and then asks for
/// nothing on its way to the lead.
async fn after_a_look_the_heir_leads_without_a_request(server: ServerKind) -> TestResult {
    // So far apart that none falls into the end of the test.
    const LOOKS: Duration = Duration::from_secs(6);
    let arena = Arena::new(server, "heir").await?;
    let first = arena.client().await?;
    let mut leaders = Vec::new();
    for _ in 0..3 {
        let nomination = first.election(ELECTION).when_promoted(WhenPromoted::Rests).nominate()?;
        in_place(&nomination).await?;
        leaders.push(nomination);
    }
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&arena.servers_by(&proxy)).session_timeout(LASTING);
    let client = builder.look_interval(LOOKS).connect_timeout(SOON).connect().await?;
    let mut nomination = client.election(ELECTION).when_promoted(WhenPromoted::Rests).nominate()?;
    follows(&nomination).await?;
    let Some(last) = leaders.pop() else { return Ok(()) };
    for leader in leaders {
        soon("it has withdrawn", leader.withdraw()).await??;
    }
    let lists = || Traffic::of(&proxy.counters()).lists;
    let before = lists();
    // One that began before the last withdrawal may come first.
    eventually_async(SOON, "it has looked twice", async || lists() >= before + 2).await?;
    client.sync(ELECTION).await?;
    let before = Traffic::of(&proxy.counters());
    soon("the leader has resigned", last.withdraw()).await??;
    leads(&mut nomination).await?;
    let sent = Traffic::of(&proxy.counters()) - before;
    assert_eq!((sent.work(), sent.events), (0, 1), "{sent:?}");
    Ok(())
}

async fn in_place(nomination: &Nomination) -> TestResult {
    let in_place = |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
    soon("it has a place", nomination.updates().wait_for(|status| in_place(&status.role)))
        .await??;
    Ok(())
}

/// The way into the queue, request by request, when the election node is there: create, list, read and
/// watch the predecessor's znode. The heir reads and watches its own, too, once it follows.
async fn joining_takes_three_requests(server: ServerKind) -> TestResult {
    let queue = Queue::new(server, "joining", 2, LASTING).await?;
    let own_proxy = Proxy::to(server.shared()?.addr())?;
    let client = queue.arena.client_by(&own_proxy).await?;
    let nomination = client.election(ELECTION).when_promoted(WhenPromoted::Rests).nominate()?;
    follows(&nomination).await?;
    client.sync(ELECTION).await?;
    let counters = own_proxy.counters();
    let creates = counters.requests(Opcode::CREATE) + counters.requests(Opcode::CREATE2);
    let Traffic { reads, lists, .. } = Traffic::of(&counters);
    assert_eq!((creates, reads, lists), (1, 1, 1));
    assert_eq!(Traffic::of(&counters).work(), 3);
    queue.settle().await?;
    let heir = queue.members[1].traffic();
    assert_eq!((heir.reads, heir.lists), (2, 1), "{heir:?}");
    Ok(())
}
