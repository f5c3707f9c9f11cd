//! How sessions follow each other, and how a host ends.

use core::num::NonZeroUsize;
use std::collections::BTreeSet;

use bytes::BytesMut;
use election_core::NomineeId;
use election_core::election::{Cause, Nominee, Notice, Policy};
use election_session::{
    Event, GrantChange, GrantEnd, Identity, IfGone, RecipeEnd, RecipeKey, Resumption, Role, Status,
};
use zk_jute::OpCode;
use zk_session::{Expiry, ReadOnlyServers, Secret, SessionEnd, TransportCommand};

use crate::lab::{Lab, millis, nominee};
use crate::puppet::{Fed, Puppet};
use crate::server::{Mode, Server};

fn role(lab: &Lab<Nominee>, key: RecipeKey) -> Role {
    let (recipe, view) = (lab.host.recipe(key), lab.host.view(key));
    Status::of(recipe.expect("it is not over"), view.expect("it is not over")).role
}

#[test]
fn recipes_go_on_after_an_expiry() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    let before = lab.host.session_id();
    let [GrantChange::Announced { token, .. }] = lab.grants()[..] else { unreachable!() };
    lab.server.expire_all();
    lab.disconnect();
    lab.pass(1000);

    let events = lab.events();
    let position = |is: &dyn Fn(&Event<Nominee, u32, u32>) -> bool| events.iter().position(is);
    let lost = position(&|event| {
        let Event::Stepped(step) = event else { return false };
        step.notice == Some(Notice::Lost(Cause::SessionExpired))
            && step.grant == Some(GrantChange::Ended { token, by: GrantEnd::Recipe })
    });
    let renewed = position(
        &|event| matches!(event, Event::Renewed { session, expiry: Expiry::Refused } if *session == before),
    );
    let leads = position(&|event| {
        let Event::Stepped(step) = event else { return false };
        matches!(step.grant, Some(GrantChange::Announced { token: new, .. }) if new > token)
    });
    assert!(lost.is_some() && lost < renewed && renewed < leads, "{lost:?} {renewed:?} {leads:?}");
    assert_ne!(lab.host.session_id(), before);
    assert!(matches!(role(&lab, key), Role::Leading { .. }));
}

#[test]
fn what_becomes_of_the_transport_of_an_expired_session_is_not_that_of_the_next() {
    let mut lab: Lab<Nominee> = Lab::new();
    lab.server.mode = Mode::Away;
    lab.disconnect();
    let is_renewed = |event: &Event<_, _, _>| {
        matches!(event, Event::Renewed { expiry: Expiry::Unreachable, .. })
    };
    // Each attempt is still under way when it is given up.
    while !core::iter::from_fn(|| lab.host.poll_event(lab.now)).any(|event| is_renewed(&event)) {
        lab.host.poll_transport();
        lab.now = lab.now.max(lab.host.poll_timeout().expect("it goes on"));
        lab.host.handle_timeout(lab.now);
    }
    // The next session wants a transport by now; this one is the former session's.
    lab.now = lab.now.max(lab.host.poll_timeout().expect("it goes on"));
    lab.host.handle_timeout(lab.now);
    lab.host.handle_opened(lab.now);
    let mut output = BytesMut::new();
    lab.host.poll_transmit(&mut output);
    assert!(output.is_empty());
    assert_eq!(lab.host.poll_transport(), Some(TransportCommand::Disconnect));

    lab.server.mode = Mode::Working;
    lab.run();
    assert!(lab.host.is_connected());
}

#[test]
fn closing_ends_grants_at_once_and_then_all_recipes() {
    let mut lab = Lab::new();
    let keys = [1, 2].map(|id| lab.stand(nominee(id)));
    let [GrantChange::Announced { token, .. }] = lab.grants()[..] else { unreachable!() };
    lab.host.close(lab.now);
    assert_eq!(lab.host.held(lab.now, keys[0]), None);
    assert_eq!(role(&lab, keys[1]), Role::Leaving);
    lab.run();

    let events = lab.events();
    let ended = |event: &Event<_, _, _>| matches!(event, Event::Stepped(step) if step.grant == Some(GrantChange::Ended { token, by: GrantEnd::Host(SessionEnd::Closed) }));
    assert!(events.iter().any(ended));
    let closed = SessionEnd::Closed;
    let over = events.iter().filter_map(|event| match event {
        Event::Over { key, end: RecipeEnd::HostEnded(end), .. } if *end == closed => Some(*key),
        _ => None,
    });
    assert_eq!(over.collect::<Vec<_>>(), keys);
    assert!(matches!(events.last(), Some(Event::Ended { end, .. }) if *end == closed));
    assert_eq!(lab.server.children("/e"), [""; 0]);
    assert_eq!((lab.host.ended(), lab.host.poll_timeout()), (Some(closed), None));

    let late = lab.stand(nominee(3));
    assert!(matches!(lab.events()[..], [Event::Over { key, .. }] if key == late));
}

/// Its end is still to be told.
#[test]
fn a_recipe_that_leaves_while_the_host_closes_ends_by_itself() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    lab.events();
    lab.host.withdraw(lab.now, key);
    lab.host.close(lab.now);
    lab.run();
    let over = lab.events().into_iter().find_map(|event| match event {
        Event::Over { end, .. } => Some(end),
        _ => None,
    });
    assert_eq!(over, Some(RecipeEnd::Finished));
}

#[test]
fn another_host_goes_on_with_a_detached_session() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    let [GrantChange::Announced { token, .. }] = lab.grants()[..] else { unreachable!() };
    let ticket = lab.host.detach(lab.now).expect("there is a session");
    assert_eq!(lab.host.held(lab.now, key), None, "the other one may hold it from now on");
    lab.run();
    let events = lab.events();
    assert!(matches!(events.last(), Some(Event::Ended { end: SessionEnd::Detached, .. })));
    assert!(events.iter().any(|event| matches!(event, Event::Over { .. })));
    assert_eq!(lab.server.children("/e").len(), 1, "the candidate stands");

    let Lab { mut server, now, .. } = lab;
    server.disconnect();
    let resumption = Resumption { ticket, if_gone: IfGone::Fail };
    let resume = |settings: &mut election_session::Settings| {
        settings.resumption = Some(Box::new(resumption));
    };
    let mut lab = Lab::on(server, now + millis(100), resume);
    let returning = Nominee::returning(NomineeId::from_bytes([1; 16]), 1, Policy::default());
    let key = lab.stand(returning);
    // An event of a session that was handed over counts once the session is confirmed.
    lab.pass(3000);
    assert_eq!(lab.host.held(lab.now, key), Some(token));
}

#[test]
fn a_session_that_is_gone_is_renewed_or_not_as_the_caller_says() {
    for (if_gone, ends) in [(IfGone::Fail, true), (IfGone::StartAnew, false)] {
        let mut lab: Lab<Nominee> = Lab::new();
        let ticket = lab.host.detach(lab.now).expect("there is a session");
        let mut server = Server::new();
        server.put("/e", "");
        let resume = |settings: &mut election_session::Settings| {
            settings.resumption = Some(Box::new(Resumption { ticket, if_gone }));
        };
        let mut lab: Lab<Nominee> = Lab::on(server, lab.now, resume);
        lab.pass(1000);
        assert_eq!((lab.host.ended().is_some(), lab.host.is_connected()), (ends, !ends));
    }
}

#[test]
fn no_recipe_stands_by_a_read_only_server() {
    let mut server = Server::new();
    server.put("/e", "");
    server.mode = Mode::ReadOnly;
    let mut lab = Lab::on(server, zk_session::Instant::ORIGIN, |settings| {
        settings.session.read_only_servers = ReadOnlyServers::Accept;
    });
    let key = lab.stand(nominee(1));
    lab.pass(500);
    assert!(lab.host.is_connected() && lab.host.is_read_only());
    assert_eq!(lab.asked(), []);
    // Neither when it is added there, nor when it comes there.
    lab.disconnect();
    lab.pass(500);
    assert!(lab.host.is_connected() && lab.host.is_read_only());
    assert_eq!(lab.asked(), []);
    assert_eq!(role(&lab, key), Role::Connecting);

    lab.server.mode = Mode::Working;
    lab.disconnect();
    lab.pass(1000);
    assert!(!lab.host.is_read_only());
    assert!(lab.asked().iter().any(|(opcode, _)| *opcode == OpCode::CREATE2));
    assert!(matches!(role(&lab, key), Role::Leading { .. }));
}

/// It closes the connection behind its answer; the next one sees `create`.
#[test]
fn a_candidate_stands_on_a_server_that_does_not_know_create2() {
    let mut lab = Lab::new();
    lab.server.unknown.push(OpCode::CREATE2);
    let key = lab.stand(nominee(1));
    assert_eq!(role(&lab, key), Role::Connecting);
    lab.disconnect();
    lab.asked();
    lab.pass(1000);
    assert!(matches!(role(&lab, key), Role::Leading { .. }));
    let asked: Vec<OpCode> = lab.asked().into_iter().map(|(opcode, _)| opcode).collect();
    let (list, read) = (OpCode::GET_CHILDREN, OpCode::GET_DATA);
    assert_eq!(asked, [list, OpCode::CREATE, read, list], "a search comes first");
}

#[test]
fn a_host_that_is_abandoned_tells_the_end_of_all() {
    let mut lab = Lab::new();
    let key = lab.stand(Puppet::new());
    lab.fed(key);
    lab.host.abandon(lab.now);
    lab.run();
    let events = lab.events();
    let fed = events.iter().find_map(|event| match event {
        Event::Over { recipe, .. } => Some(recipe.fed.clone()),
        _ => None,
    });
    assert!(fed.is_some_and(|fed| !fed.contains(&Fed::Withdrawn)));
    assert!(matches!(events.last(), Some(Event::Ended { .. })));
}

/// However the host comes to its end: that of a grant is told first.
#[test]
fn a_grant_ends_before_the_recipe_that_ends_with_the_host() {
    let ends: [fn(&mut Lab<Nominee>); 2] = [
        |lab| drop(lab.host.detach(lab.now).expect("there is a session")),
        |lab| lab.host.abandon(lab.now),
    ];
    for end in ends {
        let mut lab = Lab::new();
        lab.stand(nominee(1));
        let [GrantChange::Announced { token, .. }] = lab.grants()[..] else { unreachable!() };
        end(&mut lab);
        lab.run();
        let mut events = lab.events();
        let over = events.iter().position(|event| matches!(event, Event::Over { .. }));
        events.truncate(over.expect("it is over"));
        let ended = |event: &_| match event {
            Event::Stepped(step) => {
                matches!(step.grant, Some(GrantChange::Ended { token: ended, .. }) if ended == token)
            }
            _ => false,
        };
        assert!(events.iter().any(ended), "{events:?}");
    }
}

/// `if_gone` is for the session to continue, and not for sessions that come to their end here.
#[test]
fn a_session_that_was_gone_on_with_is_renewed_like_any_other() {
    let mut lab: Lab<Nominee> = Lab::new();
    let ticket = lab.host.detach(lab.now).expect("there is a session");
    let Lab { mut server, now, .. } = lab;
    server.disconnect();
    let mut lab: Lab<Nominee> = Lab::on(server, now, |settings| {
        settings.resumption = Some(Box::new(Resumption { ticket, if_gone: IfGone::Fail }));
    });
    assert!(lab.host.is_connected());
    lab.server.expire_all();
    lab.disconnect();
    lab.pass(1000);
    assert!(lab.host.is_connected());
    assert!(lab.events().iter().any(|event| matches!(event, Event::Renewed { .. })));
}

#[test]
fn each_session_presents_the_identities() {
    let mut lab: Lab<Nominee> = Lab::with(|settings| {
        let credential = Secret::new(b"user:password".to_vec());
        settings.identities = vec![Identity { scheme: "digest".to_owned(), credential }];
    });
    for _ in 0..3 {
        let asked = lab.asked();
        assert_eq!(asked.iter().filter(|(opcode, _)| *opcode == OpCode::AUTH).count(), 1);
        lab.server.expire_all();
        lab.disconnect();
        lab.pass(1000);
    }
}

#[test]
fn a_new_session_tries_the_servers_of_the_present_list() {
    let mut lab: Lab<Nominee> = Lab::new();
    lab.host.handle_servers(lab.now, NonZeroUsize::new(3).expect("three"));
    lab.server.expire_all();
    lab.disconnect();
    lab.pass(1000);
    assert!(lab.host.is_connected(), "by the next session");
    lab.server.mode = Mode::Away;
    lab.disconnect();
    lab.pass(3000);
    let wanted: BTreeSet<_> = lab.wanted.iter().map(|server| server.0).collect();
    assert_eq!(wanted, BTreeSet::from([0, 1, 2]));
}

/// A server that ends each session as soon as it stands is no reason to dial without end.
#[test]
fn sessions_that_expire_one_after_another_follow_at_the_pace_of_the_backoff() {
    let mut lab: Lab<Nominee> = Lab::new();
    let end = lab.now + millis(60_000);
    let mut sessions = 0;
    while lab.now < end {
        if lab.host.is_connected() {
            sessions += 1;
            lab.server.expire_all();
            lab.disconnect();
        }
        lab.now = lab.now.max(lab.host.poll_timeout().expect("it goes on"));
        lab.tick();
    }
    assert!((10..300).contains(&sessions), "{sessions} sessions within a minute");
}
