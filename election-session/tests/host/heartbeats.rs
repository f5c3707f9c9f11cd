//! The choice of the znode that heartbeats check.

use zk_jute::{ErrorCode, Version};

use election_session::Event;

use crate::lab::{Lab, nominee};
use crate::puppet::{Fed, Puppet};
use crate::server::Answers;

#[test]
fn heartbeats_check_the_candidate() {
    let mut lab = Lab::new();
    let key = lab.stand(nominee(1));
    lab.checked();
    lab.pass(2000);
    let candidate = lab.host.recipe(key).unwrap().candidate().unwrap().clone();
    assert_eq!(lab.checked(), [format!("/e/{candidate}")]);

    lab.host.withdraw(lab.now, key);
    lab.run();
    lab.checked();
    lab.pass(10_000);
    assert_eq!(lab.checked(), [""; 0], "nothing needs the lease");
}

#[test]
fn a_refusal_moves_heartbeats_to_another_znode() {
    let mut lab = Lab::new();
    lab.server.put("/e/there", "");
    let gone = lab.stand(Puppet::checking("gone"));
    let there = lab.stand(Puppet::checking("there"));
    let third = lab.stand(Puppet::checking("there-too"));
    lab.server.put("/e/there-too", "");
    let refused = lab.events().into_iter().find_map(|event| match event {
        Event::HeartbeatRefused { key, path, error } => Some((key, path, error)),
        _ => None,
    });
    assert_eq!(refused, Some((gone, "/e/gone".to_owned(), ErrorCode::NO_NODE)));
    assert_eq!(lab.fed(gone), [Fed::Connected, Fed::Look]);
    assert_eq!(lab.checked(), ["/e/gone"]);

    // At the second refusal there is another one.
    lab.pass(3000);
    assert_eq!(lab.checked()[..2], ["/e/gone", "/e/there"]);
    assert_eq!(lab.fed(there), [Fed::Connected]);

    // The lease goes on by the next one when that recipe needs it no more.
    lab.puppet(there).heartbeat = None;
    lab.nudge(there);
    lab.checked();
    lab.pass(2000);
    assert_eq!(lab.checked(), ["/e/there-too"]);
    assert_eq!(lab.fed(third), [Fed::Connected]);
}

/// Each is tried once, or two that are refused would take turns without end.
#[test]
fn after_a_refusal_each_other_znode_is_checked_at_once_and_then_none_for_a_while() {
    let mut lab = Lab::new();
    lab.server.put("/e/a", "");
    let keys = ["a", "b", "c"].map(|child| lab.stand(Puppet::checking(child)));
    lab.checked();
    lab.server.delete("/e/a", Version::ANY).expect("it is there");
    lab.server.answers = Answers::Held;
    lab.pass(2000);
    for _ in 0..10 {
        lab.answer_one();
    }
    assert_eq!(lab.checked(), ["/e/a", "/e/b", "/e/c"]);
    for key in keys {
        assert_eq!(lab.fed(key), [Fed::Connected, Fed::Look]);
    }
}
