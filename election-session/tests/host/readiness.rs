//! Leases that are ready when a recipe needs them.

use election_session::{GrantChange, KeepReady};
use zk_jute::OpCode;
use zk_session::lease::LeaseGrade;

use crate::lab::{Lab, nominee};
use crate::puppet::Puppet;

/// Returns how many `sync`s the server has read since the last call.
fn syncs<R: election_core::Recipe>(lab: &mut Lab<R>) -> usize {
    let requests = core::mem::take(&mut lab.server.requests);
    requests.iter().filter(|(opcode, _)| *opcode == OpCode::SYNC).count()
}

/// Whatever the age of the session, and without the passing of time.
#[test]
fn a_recipe_that_comes_late_is_granted_at_once() {
    for age in (0..60_000).step_by(700) {
        let mut lab = Lab::new();
        lab.pass(age);
        let key = lab.stand(nominee(1));
        let grants = lab.grants();
        assert!(matches!(grants.last(), Some(GrantChange::Announced { .. })), "{age}: {grants:?}");
        assert!(lab.host.held(lab.now, key).is_some());
    }
}

/// A follower that was not the next to lead does not beat; it is promoted all the same.
#[test]
fn a_recipe_that_needs_no_lease_is_granted_at_once_when_it_does() {
    let mut lab = Lab::new();
    let key = lab.stand(Puppet::new());
    lab.pass(600_123);
    assert_eq!(lab.checked(), [""; 0], "nothing was committed for it");
    lab.server.put("/e/own", "");
    lab.puppet(key).heartbeat = Some("own");
    lab.puppet(key).hold = election_core::Hold::Active(election_core::Token::new(5));
    lab.nudge(key);
    assert_eq!(lab.checked(), ["/e/own"]);
    assert!(matches!(lab.grants().last(), Some(GrantChange::Announced { .. })));
}

#[test]
fn a_lease_that_nothing_has_needed_for_a_minute_is_not_kept_ready() {
    let mut lab = Lab::<Puppet>::new();
    lab.pass(59_000);
    assert!(syncs(&mut lab) > 50);
    lab.pass(60_000);
    assert!(syncs(&mut lab) <= 2);
    lab.pass(60_000);
    assert_eq!(syncs(&mut lab), 0);
}

#[test]
fn a_lease_stays_ready_while_a_recipe_stands_and_a_minute_longer() {
    let mut lab = Lab::new();
    let key = lab.stand(Puppet::new());
    lab.pass(600_000);
    syncs(&mut lab);
    lab.pass(2000);
    assert_eq!(syncs(&mut lab), 2);

    lab.puppet(key).phase = election_core::Phase::Over;
    lab.nudge(key);
    assert!(lab.host.recipe(key).is_none());
    syncs(&mut lab);
    lab.pass(50_000);
    assert!(syncs(&mut lab) >= 48);
    lab.pass(20_000);
    syncs(&mut lab);
    lab.pass(20_000);
    assert_eq!(syncs(&mut lab), 0);

    // The next one makes it ready again.
    lab.stand(Puppet::new());
    assert_eq!(syncs(&mut lab), 2);
}

#[test]
fn a_lease_is_always_ready_where_it_is_asked_for() {
    let mut lab = Lab::<Puppet>::with(|settings| settings.keep_ready = KeepReady::Always);
    lab.pass(600_000);
    syncs(&mut lab);
    lab.pass(2000);
    assert_eq!(syncs(&mut lab), 2);
}

#[test]
fn a_session_in_the_place_of_another_is_kept_ready_too() {
    let mut lab = Lab::<Puppet>::new();
    lab.pass(120_000);
    lab.server.expire_all();
    lab.disconnect();
    lab.pass(1000);
    assert!(lab.host.is_connected());
    syncs(&mut lab);
    lab.pass(30_000);
    assert!(syncs(&mut lab) >= 26);
}

#[test]
fn contact_takes_no_syncs() {
    let mut lab = Lab::<Puppet>::with(|settings| settings.session.grade = LeaseGrade::Contact);
    lab.stand(Puppet::new());
    lab.pass(20_000);
    assert_eq!(syncs(&mut lab), 0);
}
