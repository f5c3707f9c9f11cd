//! A list of servers that changes.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeSet;

use zk_session::{Event, ServerIndex, TransportCommand};

use crate::lab::{Lab, SESSION};

fn replace(lab: &mut Lab, count: usize) {
    let count = NonZeroUsize::new(count).expect("a server");
    lab.session.handle_servers(lab.now, count);
}

#[test]
fn a_new_list_is_walked_in_an_order_of_its_own() {
    let mut orders = BTreeSet::new();
    for waits in 0..20 {
        let mut lab = Lab::with(1, |_| ());
        for _ in 0..waits {
            lab.wanted_server();
            lab.close_by_server();
        }
        replace(&mut lab, 4);
        let mut round = || {
            let server = lab.wanted_server();
            lab.close_by_server();
            server
        };
        let order = [(); 4].map(|()| round());
        let mut sorted = order;
        sorted.sort();
        assert_eq!(sorted, [0, 1, 2, 3].map(ServerIndex));
        orders.insert(order);
    }
    assert!(orders.len() > 5, "{orders:?}");
}

/// Its index is one of the old list.
#[test]
fn an_attempt_whose_transport_is_not_open_begins_anew() {
    let mut lab = Lab::with(50, |_| ());
    lab.tick();
    replace(&mut lab, 1);
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Connect(ServerIndex(0))));
    replace(&mut lab, 2);
    let Some(TransportCommand::Connect(ServerIndex(0 | 1))) = lab.session.poll_transport() else {
        unreachable!("an attempt of the new list")
    };
    assert_eq!(lab.events(), []);
}

/// However often the list changes, a server that answers is heard.
#[test]
fn an_attempt_that_waits_for_the_handshake_and_a_connection_go_on() {
    let mut lab = Lab::new();
    lab.open();
    replace(&mut lab, 3);
    assert_eq!(lab.session.poll_transport(), None);
    lab.accept();
    replace(&mut lab, 2);
    assert_eq!(lab.session.poll_transport(), None);
    let events = lab.events();
    assert!(matches!(*events, [Event::Connected { session: SESSION, .. }]), "{events:?}");
    assert!(lab.session.is_connected());
}

/// Only an accepted session resets the backoff; a new list does not.
#[test]
fn a_new_list_begins_a_round_at_the_step_of_the_backoff_that_was_reached() {
    let longest_wait = |rounds: usize| {
        let mut longest = Duration::ZERO;
        for _ in 0..40 {
            let mut lab = Lab::with(2, |_| ());
            for _ in 0..2 * rounds {
                lab.wanted_server();
                lab.close_by_server();
            }
            replace(&mut lab, 100);
            lab.wanted_server();
            lab.close_by_server();
            let due = lab.session.poll_timeout().expect("a next attempt");
            longest = longest.max(due.saturating_since(lab.now));
            if rounds > 0 {
                break;
            }
        }
        longest
    };
    assert!(longest_wait(0) <= Duration::from_millis(10));
    let late = (5..25).map(longest_wait).max().expect("waits");
    assert!(late > Duration::from_millis(500), "{late:?}");
}
