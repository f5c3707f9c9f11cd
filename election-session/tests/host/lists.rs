//! Lists that several recipes want.

use zk_jute::OpCode;

use crate::lab::Lab;
use crate::puppet::{Fed, Order, Puppet};
use crate::server::Answers;

fn lists_asked(lab: &mut Lab<Puppet>) -> usize {
    lab.asked().iter().filter(|(opcode, _)| *opcode == OpCode::GET_CHILDREN).count()
}

#[test]
fn recipes_that_ask_before_it_is_sent_share_a_list() {
    let mut lab = Lab::new();
    lab.server.put("/e/child", "");
    let keys = [(); 30].map(|()| lab.stand(Puppet::new()));
    for key in keys {
        lab.puppet(key).order_later(Order::List);
        lab.host.set_deadline(key, Some(lab.now));
    }
    lab.tick();
    assert_eq!(lists_asked(&mut lab), 1);
    for key in keys {
        assert_eq!(lab.fed(key), [Fed::Connected, Fed::Deadline, Fed::Children(1)]);
    }
}

#[test]
fn recipes_that_ask_while_one_is_in_flight_share_the_next_list() {
    let mut lab = Lab::new();
    let keys = [(); 3].map(|()| lab.stand(Puppet::new()));
    lab.server.answers = Answers::Held;
    lab.order(keys[0], Order::List);
    lab.server.put("/e/child", "");
    lab.order(keys[1], Order::List);
    lab.order(keys[2], Order::List);
    assert_eq!(lists_asked(&mut lab), 1);

    lab.server.answers = Answers::Sent;
    lab.run();
    assert_eq!(lists_asked(&mut lab), 1);
    for (key, children) in keys.into_iter().zip([0, 1, 1]) {
        assert_eq!(lab.fed(key).last(), Some(&Fed::Children(children)));
    }
}

#[test]
fn a_list_in_flight_is_lost_with_the_connection() {
    let mut lab = Lab::new();
    let key = lab.stand(Puppet::new());
    lab.server.answers = Answers::Held;
    lab.order(key, Order::List);
    lab.fed(key);
    lab.disconnect();
    assert_eq!(lab.fed(key), [Fed::Disconnected], "which says enough");
    lab.server.answers = Answers::Sent;
    lab.pass(1000);
    assert_eq!(lab.fed(key), [Fed::Connected]);
    lab.order(key, Order::List);
    assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Children(0)]);
}

/// Other events go between the deliveries, so the driver is to come back for the rest.
#[test]
fn the_driver_is_called_again_for_what_is_left_of_a_long_list() {
    let mut lab = Lab::new();
    for child in ["a", "b", "c", "d", "e"] {
        lab.server.put(&format!("/e/{}", child.repeat(1024 * 1024)), "");
    }
    let keys = [(); 30].map(|()| lab.stand(Puppet::new()));
    for key in keys {
        lab.puppet(key).order_later(Order::List);
        lab.host.set_deadline(key, Some(lab.now));
    }
    lab.tick();
    let mut left = keys.len();
    while left > 0 {
        let served = keys.map(|key| lab.fed(key).contains(&Fed::Children(5)));
        let served = served.into_iter().filter(|is_served| *is_served).count();
        assert!((1..keys.len() / 2).contains(&served), "{served}");
        left -= served;
        let is_due = lab.host.poll_timeout().is_some_and(|at| at <= lab.now);
        assert_eq!(is_due, left > 0, "{left} are left");
        lab.tick();
    }
}

/// Turns are counted from one emptying of the host to the next, not over its whole life.
#[test]
fn lists_delivered_earlier_hold_up_none() {
    let mut lab = Lab::new();
    lab.server.put(&format!("/e/{}", "a".repeat(1024 * 1024)), "");
    let key = lab.stand(Puppet::new());
    for _ in 0..10 {
        lab.order(key, Order::List);
        assert_eq!(lab.fed(key).last(), Some(&Fed::Children(1)));
        let is_due = lab.host.poll_timeout().is_some_and(|at| at <= lab.now);
        assert!(!is_due, "nothing is left of it");
    }
}
