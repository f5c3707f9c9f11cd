//! The metrics of elections, beside their leaderships.

use core::time::Duration;

use election_tokio::election::Follow;
use election_tokio::health::NomineeHealth;
use election_tokio::{Client, CreateMode, NomineeId, Version};
use zk_test_kit::election::{ELECTION, connect, follows, leads, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

use crate::client_metrics::figures::Recording;

on_both_servers! {
    #[tokio::test(flavor = "current_thread")]
    what_alerts_ask_for_begins_at_zero,
    blocked_nominees_are_counted,
    gaps_between_leaders_are_measured,
    a_lost_reply_and_a_lost_connection_are_measured,
    own_candidates_that_were_left_over_are_counted,
    elections_are_told_apart_by_a_label;
}

/// Counters that begin at 1, with their first event, have not increased for those that ask by how much.
async fn what_alerts_ask_for_begins_at_zero(server: ServerKind) -> TestResult {
    let recording = Recording::begin();
    let proxy = Proxy::to(server.shared()?.addr())?;
    proxy.refuse();
    let client = Client::builder(&proxy.connect_string()).start()?;
    let _nomination = client.election(ELECTION).metrics_label("zero").nominate()?;
    let figures = recording.figures();
    let asked = [
        "zk_client_sessions_total{}",
        "zk_client_expired_sessions_total{}",
        "zk_client_connection_losses_total{}",
        "zk_client_reconnects_total{}",
        "zk_client_connect_failures_total{}",
        "zk_election_elected_total{election=zero}",
        "zk_election_leading{election=zero}",
        "zk_election_blocked{election=zero}",
    ];
    let reasons = [
        "resigned",
        "session_expired",
        "lease_lapsed",
        "evicted",
        "stepped_down",
        "election_ended",
        "suspended",
        "failed",
        "client_closed",
    ];
    let lost =
        reasons.map(|reason| format!("zk_election_lost_total{{election=zero,reason={reason}}}"));
    for figure in asked.into_iter().chain(lost.iter().map(String::as_str)) {
        assert!(figures.has(figure), "{figure} is not there");
        figures.assert(&[(figure, 0.0)]);
    }
    Ok(())
}

async fn blocked_nominees_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    arena.create_election_node().await?;
    let forged = format!("{ELECTION}/forged-latch-0000000000");
    arena.admin.create(&forged, "", CreateMode::Persistent).await?;
    let client = arena.client().await?;
    let mut observer = arena.election().observe(Follow::Leader)?;
    let mut nomination = client.election(ELECTION).nominate()?;
    follows(&nomination).await?;
    soon("it sees the forged one", observer.wait_for(|seen| seen.leader().is_some())).await??;
    let mut figures = recording.figures();
    let blocked = [
        ("zk_election_blocked{}", 1.0),
        ("zk_election_leaderless{seen_by=nominee}", 1.0),
        ("zk_election_leaderless{seen_by=observer}", 1.0),
        ("zk_election_leading{}", 0.0),
    ];
    figures.assert(&blocked);
    let health = nomination.health();
    assert!(matches!(health.nominee, NomineeHealth::Blocked { .. }), "{health}");
    assert!(health.to_string().contains("blocked by forged-latch-0000000000"), "{health}");
    assert!(!health.is_ready_within(Duration::ZERO), "{health}");
    arena.admin.delete(&forged, Version::ANY).await?;
    leads(&mut nomination).await?;
    figures.add(recording.figures());
    figures.assert(&[
        ("zk_election_blocked{}", 0.0),
        ("zk_election_leaderless{seen_by=nominee}", 0.0),
        ("zk_election_leading{}", 1.0),
    ]);
    Ok(())
}

async fn gaps_between_leaders_are_measured(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let mut observer = arena.election().observe(Follow::Leader)?;
    soon("it sees none", observer.wait_for(|seen| seen.leader().is_none())).await??;
    let (first, second) = (arena.client().await?, arena.client().await?);
    let mut leader = first.election(ELECTION).nominate()?;
    let leadership = leads(&mut leader).await?;
    let mut heir = second.election(ELECTION).nominate()?;
    follows(&heir).await?;
    let own = heir.status().candidate;
    soon("it sees one", observer.wait_for(|seen| seen.leader().is_some())).await??;
    let mut figures = recording.figures();
    figures.assert(&[
        ("zk_election_leaderless{seen_by=observer}", 0.0),
        ("zk_election_leaderless_duration_seconds{seen_by=observer}", 1.0),
        ("zk_election_leaderless{seen_by=nominee}", 0.0),
        ("zk_election_leaderless_duration_seconds{seen_by=nominee}", 2.0),
        ("zk_election_take_over_duration_seconds{}", 0.0),
    ]);
    soon("it resigns", leadership.resign()).await??;
    let leadership = leads(&mut heir).await?;
    let is_heir =
        |leader: &election_tokio::election::ObservedLeader| Some(&leader.candidate) == own.as_ref();
    soon("it sees the heir", observer.wait_for(|seen| seen.leader().is_some_and(is_heir)))
        .await??;
    figures = recording.figures();
    figures.assert(&[
        ("zk_election_take_over_duration_seconds{}", 1.0),
        ("zk_election_leaderless_duration_seconds{seen_by=observer}", 1.0),
        ("zk_election_leaderless{seen_by=observer}", 0.0),
    ]);
    soon("it resigns", leadership.resign()).await??;
    soon("it sees none", observer.wait_for(|seen| seen.leader().is_none())).await??;
    recording.figures().assert(&[
        ("zk_election_leaderless{seen_by=observer}", 1.0),
        ("zk_election_leaderless{seen_by=nominee}", 0.0),
    ]);
    drop(observer);
    let mut gone = recording.figures();
    eventually_async(SOON, "it observes no more", async || {
        gone.add(recording.figures());
        gone.get("zk_election_leaderless{seen_by=observer}") < -0.5
    })
    .await?;
    Ok(())
}

async fn a_lost_reply_and_a_lost_connection_are_measured(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    arena.create_election_node().await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), Duration::from_secs(6)).await?;
    let lost = proxy.cut_when(Cut::instead_of_reply_to(Opcode::CREATE2));
    let mut nomination = client.election(ELECTION).nominate()?;
    leads(&mut nomination).await?;
    drop(lost);
    recording.figures().assert(&[
        ("zk_election_ambiguous_creates_total{}", 1.0),
        ("zk_election_ghosts_removed_total{}", 0.0),
        ("zk_client_suspended_duration_seconds{outcome=resumed}", 1.0),
        ("zk_election_suspended_duration_seconds{outcome=resumed}", 0.0),
    ]);
    proxy.cut();
    let mut figures = recording.figures();
    eventually_async(SOON, "it resumes, and its timers go off", async || {
        figures.add(recording.figures());
        figures.get("zk_election_suspended_duration_seconds{outcome=resumed}") > 0.5
            && figures.get("zk_client_lease_remaining_seconds{}") > 0.5
    })
    .await?;
    figures.assert(&[
        ("zk_election_suspended_duration_seconds{outcome=resumed}", 1.0),
        ("zk_client_suspended_duration_seconds{outcome=resumed}", 1.0),
        ("zk_election_ambiguous_creates_total{}", 0.0),
    ]);
    proxy.refuse();
    proxy.cut();
    eventually_async(SOON, "it is lost", async || {
        figures.add(recording.figures());
        figures.get("zk_election_suspended_duration_seconds{outcome=lost}") > 0.5
            && figures.get("zk_client_suspended_duration_seconds{outcome=expired}") > 0.5
    })
    .await?;
    figures.assert(&[("zk_election_leaderless{seen_by=nominee}", 1.0)]);
    Ok(())
}

/// Here one that another session has forged: those of a nominee's own are of a session that has ended, and
/// seldom found.
async fn own_candidates_that_were_left_over_are_counted(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    arena.create_election_node().await?;
    let id = NomineeId::from_bytes(*b"sixteen-bytes-id");
    let ghost = format!("{ELECTION}/_c_{id}-latch-");
    arena.admin.create(&ghost, "", CreateMode::EphemeralSequential).await?;
    let client = arena.client().await?;
    let mut nomination = client.election(ELECTION).take_over(id)?;
    let leadership = leads(&mut nomination).await?;
    assert_eq!(arena.children().await?.len(), 1, "the ghost is gone");
    recording.figures().assert(&[("zk_election_ghosts_removed_total{}", 1.0)]);
    soon("it resigns", leadership.resign()).await??;
    recording.figures().assert(&[
        ("zk_recipe_requests_total{step=delete,outcome=answered}", 1.0),
        ("zk_election_ghosts_removed_total{}", 0.0),
    ]);
    Ok(())
}

async fn elections_are_told_apart_by_a_label(server: ServerKind) -> TestResult {
    let (recording, arena) = Recording::with_arena(server).await?;
    let client = arena.client().await?;
    let mut jobs = client.election("/jobs").metrics_label("jobs").nominate()?;
    let mut mail = client.election("/mail").metrics_label("mail").nominate()?;
    let (jobs, mail) = (leads(&mut jobs).await?, leads(&mut mail).await?);
    let mut plain = client.election("/plain").nominate()?;
    let plain = leads(&mut plain).await?;
    let too_long = "x".repeat(65);
    let mut other = client.election("/other").metrics_label(&too_long).nominate()?;
    leads(&mut other).await?;
    for leadership in [jobs, mail, plain] {
        soon("it resigns", leadership.resign()).await??;
    }
    let figures = recording.figures();
    for labels in ["election=jobs", "election=mail", ""] {
        let comma = if labels.is_empty() { "" } else { "," };
        figures.assert(&[
            (&format!("zk_election_elected_total{{{labels}}}"), 1.0),
            (&format!("zk_election_lost_total{{{labels}{comma}reason=resigned}}"), 1.0),
            (&format!("zk_election_leading{{{labels}}}"), 0.0),
            (&format!("zk_election_leadership_duration_seconds{{{labels}}}"), 1.0),
        ]);
    }
    figures.assert(&[("zk_election_leading{election=other}", 1.0)]);
    Ok(())
}
