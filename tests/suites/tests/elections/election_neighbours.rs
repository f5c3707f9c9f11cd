//! Two elections of one client: what befalls one of them does not cost the other its leader.

use core::time::Duration;

use election_tokio::election::{Leadership, LostReason, Nomination};
use election_tokio::{Client, Version};
use zk_test_kit::election::{Arena, ELECTION, connect, leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Directions, FrameKind, Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    an_eviction_that_a_heartbeat_meets_costs_the_other_election_nothing;
}

const TIMEOUT: Duration = Duration::from_secs(9);

const OTHER: &str = "/other-election";

struct Leader {
    path: &'static str,
    nomination: Nomination,
    leadership: Leadership,
}

impl Leader {
    async fn of(client: &Client, path: &'static str) -> Result<Self, TestFailure> {
        let mut nomination = client.election(path).nominate()?;
        let leadership = leads(&mut nomination).await?;
        Ok(Self { path, nomination, leadership })
    }

    /// Deletes the candidate just after a heartbeat; the client hears of it with the refusal of the
    /// next one, if that is by this candidate.
    async fn evict(&self, arena: &Arena, proxy: &Proxy) -> TestResult {
        let beats = FrameKind::Request(Opcode::MULTI);
        let deadline = self.leadership.valid_until();
        eventually_async(SOON, "the lease is proved anew, and nothing is on its way", async || {
            let now = proxy.counters();
            let all = |opcode| now.requests(opcode) == now.replies(opcode);
            self.leadership.valid_until() > deadline && all(Opcode::MULTI) && all(Opcode::SYNC)
        })
        .await?;
        let before = proxy.counters().passed(beats);
        proxy.black_hole(Directions::ToClient);
        arena.admin.delete(&self.candidate(), Version::ANY).await?;
        proxy.wait_for(SOON, "the next heartbeat is sent", |now| now.passed(beats) > before)?;
        proxy.heal();
        let reason = soon("the eviction is told", self.leadership.lost()).await?;
        assert_eq!(reason, LostReason::Evicted);
        Ok(())
    }

    fn candidate(&self) -> String {
        format!("{}/{}", self.path, self.leadership.candidate())
    }
}

/// The heartbeats may check either of the two: each is evicted in turn.
async fn an_eviction_that_a_heartbeat_meets_costs_the_other_election_nothing(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "neighbours").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), TIMEOUT).await?;
    let mut one = Leader::of(&client, ELECTION).await?;
    let mut other = Leader::of(&client, OTHER).await?;
    for _ in 0..2 {
        one.evict(&arena, &proxy).await?;
        // The lease that the other one had by then is over.
        let renewed = tokio::time::sleep(TIMEOUT);
        tokio::select! {
            reason = other.leadership.lost() => panic!("the other election: {reason:?}"),
            () = renewed => {}
        }
        assert!(other.leadership.is_valid());
        one.leadership = leads(&mut one.nomination).await?;
        core::mem::swap(&mut one, &mut other);
    }
    Ok(())
}
