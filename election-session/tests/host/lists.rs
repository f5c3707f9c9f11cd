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
    let keys = [(); 3].map(|()| lab.stand(Puppet::new()));
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
