//! The harness's ensemble, with hand-written protocol bytes.

use core::time::Duration;

use zk_test_kit::failure::TestResult;
use zk_test_kit::raw::{CreateMode, RawClient, RawError, RawSession};
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::{Ensemble, Member, Options};

const SESSION: Duration = Duration::from_secs(30);

/// Connects again. A session survives an election, but a server closes connections while one goes
/// on.
fn resume(ensemble: &Ensemble, on: Member, session: &RawSession) -> Result<RawClient, RawError> {
    let mut resumed = RawClient::resume(ensemble.member(on).addr(), session);
    // The outcome is judged by the caller: an expired session ends the waiting too.
    let _ = eventually(SOON, "the session is resumed", || {
        if matches!(resumed, Err(RawError::Connection(_))) {
            resumed = RawClient::resume(ensemble.member(on).addr(), session);
        }
        !matches!(resumed, Err(RawError::Connection(_)))
    });
    resumed
}

#[test]
fn an_ensemble_elects_and_survives_the_death_of_its_leader() -> TestResult {
    let ensemble = Options::new().start_ensemble()?;
    let leader = ensemble.wait_for_leader(SOON)?;
    let followers = ensemble.followers();
    assert_eq!(followers.len(), 2);
    assert!(!followers.contains(&leader));
    assert_eq!(ensemble.connect_string().split(',').count(), 3);

    let mut client = RawClient::connect(ensemble.member(leader).addr(), SESSION)?;
    client.create("/ephemeral", CreateMode::Ephemeral)?;
    let session = client.session().clone();

    ensemble.member(leader).kill()?;
    let next = ensemble.wait_for_leader(SOON)?;
    assert_ne!(next, leader);
    let mut resumed = resume(&ensemble, next, &session)?;
    assert_eq!(resumed.session().id, session.id);
    assert!(resumed.exists("/ephemeral")?);

    ensemble.member(leader).restart()?;
    assert_eq!(ensemble.followers().len(), 2);
    // A new leader's reads carry the first zxid of its epoch, which a member that joins later
    // does not reach, and so refuses this session, before the epoch's first transaction.
    resumed.create("/first-of-the-epoch", CreateMode::Persistent)?;
    let mut elsewhere = resume(&ensemble, leader, resumed.session())?;
    assert!(elsewhere.exists("/ephemeral")?);
    Ok(())
}

#[test]
fn an_ensemble_replaces_a_paused_leader_and_takes_it_back_as_a_follower() -> TestResult {
    let ensemble = Options::new().sync_limit(15).start_ensemble()?;
    let leader = ensemble.wait_for_leader(SOON)?;
    ensemble.member(leader).pause()?;
    let next = ensemble.wait_for_leader(SOON)?;
    assert_ne!(next, leader);
    ensemble.member(leader).resume()?;
    // On a busy machine there may have been another election meanwhile.
    eventually(SOON, "the old leader follows a new one", || {
        ensemble.leader().is_some_and(|now| now != leader) && ensemble.followers().contains(&leader)
    })?;
    Ok(())
}

#[test]
fn a_full_outage_ends_with_all_data() -> TestResult {
    let ensemble = Options::new().start_ensemble()?;
    let mut client = RawClient::connect(ensemble.member(Member::First).addr(), SESSION)?;
    client.create("/kept", CreateMode::Persistent)?;
    for member in Member::ALL {
        ensemble.member(member).kill()?;
    }
    assert_eq!(ensemble.leader(), None);
    ensemble.start_all()?;
    ensemble.wait_for_leader(SOON)?;
    let mut again = RawClient::connect(ensemble.member(Member::Second).addr(), SESSION)?;
    assert!(again.exists("/kept")?);
    Ok(())
}

#[test]
fn each_member_can_be_told_another_address_of_each_peer() -> TestResult {
    let mut asked = Vec::new();
    let ensemble = Options::new().start_ensemble_routed(|member, peer, address| {
        asked.push((member, peer));
        Ok(address)
    })?;
    for member in Member::ALL {
        for peer in Member::ALL {
            assert_eq!(asked.contains(&(member, peer)), member != peer, "{member:?} {peer:?}");
        }
    }
    ensemble.wait_for_leader(SOON)?;
    Ok(())
}
