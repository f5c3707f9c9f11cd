//! Each law can be broken: a world is led to where it holds, and then changed.

use std::collections::BTreeSet;

use election_core::lock::WhenBusy;
use election_core::{SessionId, Token};

use super::contending::{Contending, Home, Name, prepared, world};
use super::settled;
use crate::lab::{Budget, Lab, Model as _, NONE, Step, Znode};

fn broken(lab: &Lab<Contending>) -> String {
    lab.check().and_then(|()| Contending::check_rest(lab)).expect_err("a law is broken")
}

/// The only znode of a contender.
fn permit(lab: &Lab<Contending>) -> (Name, Znode) {
    let is_its = |(name, _): &(&Name, &Znode)| matches!(name, Name::Contender(..));
    let (name, znode) = lab.tip().iter().find(is_its).expect("one contends");
    (*name, *znode)
}

/// Adds a znode beside the only one, of this session.
fn with_another(mut lab: Lab<Contending>, owner: Option<SessionId>) -> Lab<Contending> {
    let (_, znode) = permit(&lab);
    let another = Name::Contender(Home::Leases, Some(9), 7, 0);
    lab.server.tip_mut().insert(another, Znode { owner, ..znode });
    lab
}

#[test]
fn no_more_hold_than_there_are_permits() {
    let mut lab = settled(2, 2, NONE);
    lab.model.permits = 1;
    assert_eq!(broken(&lab), "2 hold, of 1 permits");
}

#[test]
fn a_foreign_child_takes_a_permit() {
    let mut lab = settled(2, 2, NONE);
    lab.server.tip_mut().insert(Name::Foreign, Znode::new(9, 0));
    assert_eq!(broken(&lab), "2 hold beside 1 foreign ones, of 2");
}

#[test]
fn a_holder_has_its_znode() {
    let mut lab = settled(1, 1, NONE);
    let (name, znode) = permit(&lab);
    lab.server.tip_mut().insert(name, Znode { token: Token::new(7), ..znode });
    assert_eq!(broken(&lab), "0: holds by a znode that is gone");
    lab.server.tip_mut().remove(&name);
    assert_eq!(broken(&lab), "0: holds by a znode that is gone");
    // Of an eviction the holder is to hear, sooner or later.
    lab.clients[0].notes.evicted.insert(name);
    assert_eq!(broken(&lab), "0 holds at rest, with [0, 0] znodes");
}

#[test]
fn a_session_has_one_znode_in_each_place() {
    let lab = settled(1, 1, NONE);
    let owner = Some(lab.clients[0].session);
    assert_eq!(broken(&with_another(lab, owner)), "0: several znodes in Leases");
}

#[test]
fn nothing_is_left_after_the_end() {
    let mut lab = settled(1, 1, Budget { withdrawals: 1, ..NONE });
    let (name, znode) = permit(&lab);
    lab.take(Step::Withdraw(0, 0));
    while let Some((step, _)) = lab.steps().into_iter().find(|(_, is_calm)| *is_calm) {
        lab.take(step);
    }
    lab.check().and_then(|()| Contending::check_rest(&lab)).expect("it has ended");
    lab.server.tip_mut().insert(name, znode);
    assert!(broken(&lab).ends_with("is left after the end"), "{}", broken(&lab));
}

#[test]
fn none_waits_while_a_permit_is_free() {
    let mut lab = settled(2, 1, NONE);
    lab.model.permits = 2;
    assert_eq!(broken(&lab), "2 stand, and 1 hold, of 2");
}

#[test]
fn one_that_tries_does_not_wait() {
    let mut lab = settled(2, 1, NONE);
    lab.clients[1].role = WhenBusy::GiveUp;
    assert_eq!(broken(&lab), "1 waits, and was not to");
}

#[test]
fn what_is_of_a_session_that_is_gone_is_gone() {
    let lab = with_another(settled(1, 1, NONE), Some(SessionId::new(77)));
    assert!(broken(&lab).ends_with("is left of a session that is gone"), "{}", broken(&lab));
}

/// A read of a release is one that is given up; nothing else is asked for twice.
#[test]
fn one_request_is_in_flight() {
    let mut lab = world(1, 1, prepared(), NONE);
    let mut again = lab.clone();
    lab.take(Step::Connect(0));
    again.clients[0].requests = lab.clients[0].requests.clone();
    again.take(Step::Connect(0));
    assert!(broken(&again).ends_with("is asked for beside another one"), "{}", broken(&again));
}

#[test]
fn three_watches_at_most() {
    let mut lab = settled(2, 1, NONE);
    let more = lab.clients[0].watches[0];
    lab.clients[0].watches.extend([more; 3]);
    assert!(broken(&lab).ends_with(" watches"), "{}", broken(&lab));
}

#[test]
fn a_token_is_given_once() {
    let mut lab = world(1, 1, prepared(), NONE);
    lab.model.tokens = BTreeSet::from([Token::new(1000)]);
    lab.take(Step::Connect(0));
    while let Some((step, _)) = lab.steps().into_iter().find(|(_, is_calm)| *is_calm) {
        lab.take(step);
    }
    assert!(broken(&lab).starts_with("0: token "), "{}", broken(&lab));
}
