//! Requests of the caller itself, and the recipes that go on beside them.

use election_session::{Event, Status};
use zk_jute::records::GetDataRequest;
use zk_session::{Failure, SubmitError, Watching};

use crate::lab::{Lab, nominee};
use crate::puppet::{Fed, Puppet};
use crate::server::Answers;

const READ: GetDataRequest<'_> = GetDataRequest { path: "/e", watch: false };

#[test]
fn the_bounds_of_the_caller_are_not_those_of_recipes() {
    let mut lab = Lab::with(|settings| settings.session.limits.max_in_flight = 2);
    lab.server.answers = Answers::Held;
    for tag in [1, 2] {
        assert!(lab.host.has_room());
        lab.host.submit(lab.now, tag, &READ).expect("there is room");
    }
    assert!(!lab.host.has_room());
    assert!(matches!(lab.host.submit(lab.now, 3, &READ), Err(SubmitError::Full)));
    let watching = lab.host.submit_watching(lab.now, 3, Watching::GetData("/e"), 3);
    assert!(matches!(watching, Err(SubmitError::Full)));
    // A recipe asks all the same.
    let key = lab.stand(nominee(1));
    assert_eq!(lab.server.children("/e").len(), 1);

    lab.server.answers = Answers::Sent;
    lab.run();
    assert!(lab.host.held(lab.now, key).is_some());
    assert!(lab.host.has_room());
    let completed = lab.events().into_iter().filter_map(|event| match event {
        Event::Completed { tag, outcome } => Some((tag, outcome.is_ok())),
        _ => None,
    });
    assert_eq!(completed.collect::<Vec<_>>(), [(1, true), (2, true)]);
}

#[test]
fn a_deadline_is_told_once() {
    let mut lab = Lab::new();
    let key = lab.stand(Puppet::new());
    let at = |millis| Some(zk_session::Instant::ORIGIN + crate::lab::millis(millis));
    lab.host.set_deadline(key, at(500));
    lab.host.set_deadline(key, at(700));
    lab.pass(699);
    assert_eq!(lab.fed(key), [Fed::Connected], "the second one counts");
    lab.pass(1000);
    assert_eq!(lab.fed(key), [Fed::Deadline]);
    lab.host.set_deadline(key, at(2000));
    lab.host.set_deadline(key, None);
    lab.pass(2000);
    assert_eq!(lab.fed(key), [], "it was taken back");
}

/// Each session numbers its watches anew.
#[test]
fn a_watch_of_an_earlier_session_does_not_pass_for_one_of_this_session() {
    let mut lab: Lab<Puppet> = Lab::new();
    let watch = |lab: &mut Lab<Puppet>, watcher| {
        let read = Watching::GetData("/e");
        let watch = lab.host.submit_watching(lab.now, 0, read, watcher).expect("accepted");
        lab.run();
        watch
    };
    let first = watch(&mut lab, 1);
    lab.server.expire_all();
    lab.disconnect();
    lab.pass(1000);
    assert!(lab.events().iter().any(|event| matches!(event, Event::WatchLost { watcher: 1 })));
    let second = watch(&mut lab, 2);
    assert_ne!(first, second);

    lab.host.forget(lab.now, first);
    lab.run();
    lab.server.put("/e", "changed");
    lab.run();
    let fired = |event: &Event<_, _, _>| matches!(event, Event::Fired { watcher: 2, .. });
    assert!(lab.events().iter().any(fired));

    let third = watch(&mut lab, 3);
    lab.host.forget(lab.now, third);
    lab.run();
    assert_eq!(lab.server.watches(), [""; 0]);
}

#[test]
fn what_the_caller_asked_for_ends_with_the_connection() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    lab.server.answers = Answers::Held;
    lab.host.submit(lab.now, 7, &READ).expect("there is room");
    lab.disconnect();
    let lost = |event: &Event<_, _, _>| {
        matches!(event, Event::Completed { tag: 7, outcome: Err(Failure::ConnectionLoss) })
    };
    assert!(lab.events().iter().any(lost));
    assert!(lab.host.has_room());
    let status = Status::of(lab.host.recipe(key).unwrap(), lab.host.view(key).unwrap());
    assert!(matches!(status.role, election_session::Role::Suspended { .. }));
}
