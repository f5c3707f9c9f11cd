//! Watches that recipes leave.

use election_core::{Change, Watch};
use election_session::Event;
use zk_jute::OpCode;
use zk_session::WatchMode;

use crate::lab::Lab;
use crate::puppet::{Fed, Order, Puppet};
use crate::server::Answers;

fn lab() -> Lab<Puppet> {
    let mut lab = Lab::new();
    lab.server.put("/e/other", "");
    lab
}

#[test]
fn a_watch_that_is_awaited_stays_and_fires_once() {
    let mut lab = lab();
    let key = lab.stand(Puppet::new());
    lab.order(key, Order::Read("other", Watch::Other));
    lab.nudge(key);
    assert_eq!(lab.server.watches(), ["/e/other"]);
    lab.fed(key);
    lab.server.put("/e/other", "changed");
    lab.server.put("/e/other", "and again");
    lab.run();
    assert_eq!(lab.fed(key), [Fed::Changed(Change::Data)]);
}

#[test]
fn a_watch_that_is_no_longer_awaited_is_taken_down() {
    let mut lab = lab();
    let key = lab.stand(Puppet::new());
    lab.order(key, Order::Read("other", Watch::Other));
    lab.puppet(key).awaited.clear();
    lab.asked();
    lab.nudge(key);
    assert_eq!(lab.asked(), [(OpCode::REMOVE_WATCHES, "/e/other".to_owned())]);
    assert_eq!(lab.server.watches(), [""; 0]);
    lab.nudge(key);
    assert_eq!(lab.asked(), [], "once");
}

/// The recipe is about to delete the znode.
#[test]
fn a_watch_on_an_own_znode_is_left_to_its_deletion() {
    let mut lab = lab();
    let key = lab.stand(Puppet::new());
    lab.order(key, Order::Read("other", Watch::Own));
    lab.puppet(key).awaited.clear();
    lab.asked();
    lab.nudge(key);
    assert_eq!(lab.asked(), []);
    lab.fed(key);
    lab.server.put("/e/other", "changed");
    lab.run();
    assert_eq!(lab.fed(key), [], "the host forgot it all the same");
}

#[test]
fn the_watch_of_a_read_in_flight_stays() {
    let mut lab = lab();
    let key = lab.stand(Puppet::new());
    lab.server.answers = Answers::Held;
    lab.order(key, Order::Read("other", Watch::Other));
    lab.nudge(key);
    lab.server.put("/e/other", "changed behind the read");
    lab.server.answers = Answers::Sent;
    lab.run();
    assert!(lab.asked().iter().all(|(opcode, _)| *opcode != OpCode::REMOVE_WATCHES));
    let fed = lab.fed(key);
    assert!(fed.ends_with(&[Fed::Reply(Ok(())), Fed::Changed(Change::Data)]), "{fed:?}");
}

/// Another recipe relies on the server's watch: there is one for both.
#[test]
fn a_watch_that_another_recipe_awaits_stays() {
    let mut lab = lab();
    let [first, second] = [lab.stand(Puppet::new()), lab.stand(Puppet::new())];
    lab.order(first, Order::Read("other", Watch::Other));
    lab.order(second, Order::Read("other", Watch::Other));
    lab.puppet(first).awaited.clear();
    lab.nudge(first);
    assert_eq!(lab.server.watches(), ["/e/other"]);
    lab.fed(second);
    lab.server.delete("/e/other", zk_jute::Version::ANY).unwrap();
    lab.run();
    assert_eq!(lab.fed(second), [Fed::Changed(Change::Deleted)]);
}

#[test]
fn a_lost_connection_voids_watches() {
    let mut lab = lab();
    let key = lab.stand(Puppet::new());
    lab.order(key, Order::Read("other", Watch::Other));
    lab.disconnect();
    lab.pass(1000);
    assert!(lab.host.is_connected());
    assert_eq!(lab.server.watches(), [""; 0], "the recipe reads again");
}

/// The caller's watch has the server tell of the same changes, so the read sets none. Both are on their
/// way when the server refuses the first.
#[test]
fn a_recipe_hears_of_a_watch_that_is_lost_while_the_session_lives() {
    let mut lab = lab();
    let key = lab.stand(Puppet::new());
    let watch = ("/e/other", WatchMode::Persistent);
    lab.host.submit_persistent(lab.now, 1, watch, 1).expect("there is room");
    lab.order(key, Order::Read("other", Watch::Other));
    assert_eq!(lab.fed(key).last(), Some(&Fed::Changed(Change::Lost)));
}

/// It was on its way already when the recipe awaited it no more.
#[test]
fn a_change_that_is_not_awaited_wakes_no_recipe() {
    for (is_awaited, wakes) in [(true, 1), (false, 0)] {
        let mut lab = lab();
        let key = lab.stand(Puppet::new());
        lab.order(key, Order::Read("other", Watch::Own));
        if !is_awaited {
            lab.puppet(key).awaited.clear();
        }
        lab.events();
        lab.server.put("/e/other", "changed");
        lab.run();
        let woken = lab.events().into_iter().filter_map(|event| match event {
            Event::Stepped(step) => step.woken_by,
            _ => None,
        });
        assert_eq!(woken.count(), wakes);
    }
}
