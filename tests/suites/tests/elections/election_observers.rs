//! Observers on real servers, through lost connections, expired sessions and elections made again.

use core::time::Duration;

use election_tokio::election::{
    Acknowledgement, Follow, Leadership, Observation, ObservedLeader, Observer, Verdict,
    WhenPromoted,
};
use election_tokio::format::Format;
use election_tokio::{Client, Token, Version};
use zk_test_kit::election::{Arena, ELECTION, connect, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    observers_see_one_leader_after_another,
    an_observer_costs_one_watch_and_none_when_it_is_dropped,
    nominees_that_join_wake_no_observer,
    an_observer_sees_through_lost_connections_and_an_election_made_again,
    third_parties_verify_tokens;
}

async fn sees(observer: &mut Observer, token: Token) -> Result<ObservedLeader, TestFailure> {
    let is_it = |seen: &Observation| seen.leader().is_some_and(|leader| leader.token == token);
    let observation = soon("the leader is seen", observer.wait_for(is_it)).await??;
    Ok(observation.leader().cloned().expect("it has a leader"))
}

/// In each format, also in those with names that recur.
async fn observers_see_one_leader_after_another(server: ServerKind) -> TestResult {
    for format in [Format::curator_latch(), Format::leader_election_support()] {
        let arena = Arena::new(server, "one-after-another").await?;
        let observers = arena.client().await?.election(ELECTION).format(format);
        let mut observer = observers.observe(Follow::LeaderAndAcknowledgement)?;
        let vacant = soon("it sees", observer.next()).await?;
        assert_eq!(vacant, Some(Observation::Vacant));
        for turn in 0..3 {
            let client = arena.client().await?;
            let mut nomination = client.election(ELECTION).format(format).nominate()?;
            let leadership = leads(&mut nomination).await?;
            let seen = sees(&mut observer, leadership.token()).await?;
            assert_eq!(seen.candidate, *leadership.candidate(), "{turn}");
            assert_eq!(seen.acknowledgement, Acknowledgement::Awaited, "{turn}");
            for said in ["ready", "moved on"] {
                leadership.acknowledge(said.as_bytes()).await?;
                let is_said = |seen: &Observation| {
                    seen.leader().is_some_and(|leader| {
                        leader.acknowledgement == Acknowledgement::Given(said.into())
                    })
                };
                soon("it is seen", observer.wait_for(is_said)).await??;
            }
            end(leadership).await?;
            let is_vacant = |seen: &Observation| *seen == Observation::Vacant;
            soon("it has gone", observer.wait_for(is_vacant)).await??;
        }
    }
    Ok(())
}

async fn end(leadership: Leadership) -> TestResult {
    soon("the leader has resigned", leadership.resign()).await??;
    Ok(())
}

async fn an_observer_costs_one_watch_and_none_when_it_is_dropped(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let arena = Arena::on(server.addr(), "watches").await?;
    let mut nomination = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    let watches = async |expected: usize| {
        eventually_async(SOON, "the server has so many watches", async || {
            server.watch_count().is_ok_and(|count| usize::try_from(count) == Ok(expected))
        })
        .await
    };
    watches(1).await?;
    let mut observers = Vec::new();
    for count in 1..=3 {
        let client = arena.client().await?;
        let mut observer = client.election(ELECTION).observe(Follow::Leader)?;
        sees(&mut observer, leadership.token()).await?;
        observers.push(observer);
        watches(1 + count).await?;
    }
    let client = arena.client().await?;
    let mut both = client.election(ELECTION).observe(Follow::LeaderAndAcknowledgement)?;
    sees(&mut both, leadership.token()).await?;
    watches(6).await?;
    drop((both, observers));
    watches(1).await?;
    Ok(())
}

async fn nominees_that_join_wake_no_observer(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "herd").await?;
    // A leader that wakes its heir writes to its own znode, which an observer may see or not.
    let stand =
        |client: Client| client.election(ELECTION).when_promoted(WhenPromoted::Rests).nominate();
    let mut nomination = stand(arena.client().await?)?;
    let leadership = leads(&mut nomination).await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = arena.client_by(&proxy).await?;
    let mut observer = client.election(ELECTION).observe(Follow::Leader)?;
    sees(&mut observer, leadership.token()).await?;
    let before = proxy.counters();
    let mut others = Vec::new();
    for count in 0..5 {
        others.push(stand(arena.client().await?)?);
        arena.wait_for_children(count + 2).await?;
    }
    soon("one withdraws", others.remove(2).withdraw()).await??;
    client.sync(ELECTION).await?;
    let after = proxy.counters();
    assert_eq!(after.notifications(), before.notifications());
    let lists = |counters: &zk_test_kit::proxy::Counters| {
        counters.requests(Opcode::GET_CHILDREN) + counters.requests(Opcode::GET_CHILDREN2)
    };
    assert_eq!(lists(&after), lists(&before));
    end(leadership).await?;
    let next = leads(others.first_mut().expect("four stand")).await?;
    sees(&mut observer, next.token()).await?;
    let last = proxy.counters();
    assert_eq!(last.notifications(), after.notifications() + 1);
    assert_eq!(lists(&last), lists(&after) + 1);
    Ok(())
}

async fn an_observer_sees_through_lost_connections_and_an_election_made_again(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "lost").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), Duration::from_secs(4)).await?;
    let mut observer = client.election(ELECTION).observe(Follow::Leader)?;
    let mut first = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    sees(&mut observer, leadership.token()).await?;

    proxy.cut();
    let path = format!("{ELECTION}/{}", leadership.candidate());
    arena.admin.set_data(&path, "written", Version::ANY).await?;
    let is_written =
        |seen: &Observation| seen.leader().is_some_and(|leader| leader.data == "written");
    soon("what was written is seen", observer.wait_for(is_written)).await??;

    proxy.refuse();
    proxy.cut();
    end(leadership).await?;
    arena.wait_until_empty().await?;
    arena.admin.delete(ELECTION, Version::ANY).await?;
    let mut second = arena.client().await?.election(ELECTION).nominate()?;
    let next = leads(&mut second).await?;
    // Its session expires meanwhile.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(observer.latest().leader().is_some_and(|seen| seen.token < next.token()));
    proxy.accept()?;
    sees(&mut observer, next.token()).await?;
    Ok(())
}

async fn third_parties_verify_tokens(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "verify").await?;
    let mut first = arena.client().await?.election(ELECTION).nominate()?;
    let leadership = leads(&mut first).await?;
    let mut second = arena.client().await?.election(ELECTION).nominate()?;
    arena.wait_for_children(2).await?;
    let election = arena.election();
    let follower = arena.candidates().await?.pop().expect("two stand").token;
    let token = leadership.token();
    assert_eq!(election.verify(token).await?, Verdict::Leads);
    assert_eq!(election.verify(follower).await?, Verdict::NotYet { leader: token });
    end(leadership).await?;
    leads(&mut second).await?;
    assert_eq!(election.verify(token).await?, Verdict::Over { leader: Some(follower) });
    Ok(())
}
