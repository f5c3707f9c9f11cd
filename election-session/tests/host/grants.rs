//! The grants that the host announces to the users of recipes.

use election_core::{Hold, Token};
use election_session::{Event, Grant, GrantChange, GrantEnd, LostReason};
use zk_session::lease::LeaseOutlook;

use crate::lab::{Lab, millis, nominee};
use crate::puppet::{Fed, Puppet};
use crate::server::Answers;

/// Nine tenths of the timeout of 6 s.
const LEASE: u64 = 5400;

#[test]
fn a_new_session_has_a_lease_to_lead_by() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    let [GrantChange::Announced { token, until }] = lab.grants()[..] else {
        unreachable!("it is announced at once")
    };
    assert_eq!(until.elapsed(), millis(LEASE));
    assert_eq!(lab.host.held(lab.now, key), Some(token));
}

#[test]
fn a_grant_is_announced_once_the_lease_is_proved() {
    let mut lab = Lab::new();
    // Nothing has needed the lease for so long that it is not even ready.
    lab.pass(120_000);
    let key = lab.stand(nominee(1));
    let waits = GrantChange::AwaitsLease(LeaseOutlook::AwaitsProof);
    assert!(lab.grants().iter().all(|change| *change == waits));
    assert!(matches!(lab.host.view(key).unwrap().grant, Grant::AwaitsLease { .. }));
    assert_eq!(lab.host.held(lab.now, key), None);

    let before = lab.now;
    lab.pass(2000 - 1);
    assert!(lab.grants().iter().all(|change| matches!(change, GrantChange::AwaitsLease(_))));
    lab.pass(2000);
    let grants = lab.grants();
    let [GrantChange::Announced { token, until }] = grants[..] else { unreachable!("{grants:?}") };
    assert!(until > before + millis(LEASE - 1), "by what was sent since");
    assert_eq!(lab.host.held(lab.now, key), Some(token));
}

#[test]
fn nothing_is_held_from_the_lease_deadline_on() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    lab.server.answers = Answers::Held;
    lab.grants();
    let deadline = lab.host.lease_deadline().unwrap();
    let token = lab.host.held(lab.now, key);
    assert!(token.is_some());

    // The driver was held up: nothing has told the host of the time.
    assert_eq!(lab.host.held(deadline, key), None);
    lab.pass(LEASE);
    let ended = lab.events().into_iter().find_map(|event| match event {
        Event::Stepped(step) if step.grant.is_some() => Some((step.grant, step.lost_reason())),
        _ => None,
    });
    let expected = GrantChange::Ended { token: token.unwrap(), by: GrantEnd::Recipe };
    assert_eq!(ended, Some((Some(expected), Some(LostReason::LeaseLapsed))));
}

#[test]
fn a_lapse_is_told_to_recipes_whose_users_were_told_of_a_grant() {
    let mut lab = Lab::new();
    let [idle, announced] = [lab.stand(Puppet::new()), lab.stand(Puppet::new())];
    lab.puppet(announced).hold = Hold::Active(Token::new(5));
    lab.nudge(announced);
    assert!(matches!(lab.grants()[..], [GrantChange::Announced { .. }]));
    // This one is promoted too late for the lease that is left.
    let late = lab.stand(Puppet::new());
    lab.pass(LEASE - 1);
    lab.puppet(late).hold = Hold::Active(Token::new(6));
    lab.nudge(late);
    assert!(matches!(lab.host.view(late).unwrap().grant, Grant::AwaitsLease { .. }));

    lab.pass(1);
    assert!(lab.events().iter().any(|event| matches!(event, Event::LeaseLapsed)));
    assert_eq!(lab.fed(announced).last(), Some(&Fed::LeaseLapsed));
    assert_eq!(lab.fed(idle), [Fed::Connected]);
    assert_eq!(lab.fed(late), [Fed::Connected, Fed::Deadline]);
}

/// Although the lease goes on: the znode is not verified on the new connection.
#[test]
fn a_grant_in_doubt_is_not_announced() {
    let mut lab = Lab::new();
    let key = lab.stand(Puppet::new());
    lab.puppet(key).hold = Hold::Suspended(Token::new(5));
    lab.nudge(key);
    assert_eq!(lab.grants(), []);
    lab.puppet(key).hold = Hold::Active(Token::new(5));
    lab.nudge(key);
    assert!(matches!(lab.grants()[..], [GrantChange::Announced { .. }]));
    // Once announced, it is held through the doubt.
    lab.puppet(key).hold = Hold::Suspended(Token::new(5));
    lab.nudge(key);
    assert_eq!(lab.host.held(lab.now, key), Some(Token::new(5)));
}
