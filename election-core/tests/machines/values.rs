//! The values that cross the border: their text, and the guarantees to a driver.

use election_core::children::Children;
use election_core::election::{Nominee, Policy};
use election_core::name::CandidateName;
use election_core::place::{Place, Remaining, place};
use election_core::{
    Applied, Check, Delete, Event, ExpectedVersion, Multi, NomineeId, Part, Recipe, Reply,
    SessionId, Stat, Ticket, Version, Znode,
};

const ID: NomineeId = NomineeId::from_bytes([0xab; 16]);
const SESSION: SessionId = SessionId::new(1);

#[test]
fn a_value_shows_what_it_stands_for_when_it_is_debugged() {
    let uuid = "abababab-abab-abab-abab-abababababab";
    assert_eq!(format!("{ID:?}"), format!("NomineeId({uuid})"));
    let name = format!("_c_{uuid}-latch-0000000007");
    let candidate = CandidateName::parse(&name).expect("a candidate");
    assert_eq!(format!("{candidate:?}"), format!("CandidateName({name})"));
    let created = Reply::Created { name: "n", stat: None };
    assert_eq!(format!("{created:?}"), r#"Created { name: "n", stat: None }"#);
    assert_eq!(format!("{:?}", Reply::Deleted), "Deleted");
    let mut names = core::iter::empty();
    assert_eq!(format!("{:?}", Reply::Children(Children::listed(&mut names))), "Children(..)");
    let mut applied = core::iter::once(Applied::Checked);
    assert_eq!(format!("{:?}", Reply::Committed(&mut applied)), "Committed(..)");
    let stat = Stat::new(0, 7, 1);
    let read = format!("{:?}", Reply::Read { stat, data: b"secret" });
    assert_eq!(read, format!("Read {{ stat: {stat:?}, bytes: 6 }}"), "how much, and not what");
}

#[test]
fn an_expected_version_is_on_the_wire_as_zookeeper_wants_it() {
    assert_eq!(ExpectedVersion::Any.number(), -1);
    assert_eq!(ExpectedVersion::Exactly(Version::new(7)).number(), 7);
}

#[test]
fn a_multi_keeps_its_parts_in_order() {
    let part = |number| {
        let version = ExpectedVersion::Exactly(Version::new(number));
        match number % 2 {
            0 => Part::Check(Check { znode: Znode::Node, version }),
            _ => Part::Delete(Delete { znode: Znode::child("child"), version }),
        }
    };
    let five @ [_, b, _, d, last] = [0, 1, 2, 3, 4].map(part);
    assert_eq!(Multi::of([b]).parts().collect::<Vec<_>>(), [b]);
    assert_eq!(Multi::of([d, b]).parts().collect::<Vec<_>>(), [d, b]);
    assert_eq!(Multi::of([last]).parts().count(), 1);
    let full = Multi::of(five);
    assert_eq!(full.parts().collect::<Vec<_>>(), five);
    assert_eq!(full.parts().count(), Multi::CAPACITY);
}

/// A driver drops the replies to cleanups, and must not drop any other.
#[test]
fn only_a_cleanup_says_that_it_is_one() {
    let mut nominee = Nominee::new(ID, Policy::default());
    let asked = nominee.handle_event(Event::Connected { session: SESSION }).command;
    let late = asked.expect("a create").ticket;
    assert!(!late.is_cleanup());
    let next = SessionId::new(2);
    let asked = nominee.handle_event(Event::Connected { session: next }).command;
    assert!(!asked.expect("another create").ticket.is_cleanup());
    let name = format!("{}0000000001", ID.candidate_prefix(0));
    let result = Ok(Reply::Created { name: &name, stat: None });
    let cleanup = nominee.handle_event(Event::Reply { ticket: late, result }).command;
    assert!(cleanup.map(|command| command.ticket).is_some_and(Ticket::is_cleanup));
}

#[test]
fn incarnations_are_counted_from_zero() {
    let mut nominee = Nominee::new(ID, Policy::default());
    for count in 0..4 {
        assert_eq!(nominee.incarnation().get(), count);
        let session = SessionId::new(i64::from(count));
        let _ = nominee.handle_event(Event::Connected { session });
        let _ = nominee.handle_event(Event::SessionExpired);
    }
}

/// No server gives a sequence twice; by hand it can be done, and then the names decide which of the
/// two is nearer.
#[test]
fn rivals_of_equal_sequence_stand_in_the_order_of_their_names() {
    let own = "own-latch-0000000007";
    let (a, b) = ("a-latch-0000000005", "b-latch-0000000005");
    let sequence = CandidateName::sequence_of(own).expect("a candidate");
    for names in [[a, b, own], [b, a, own]] {
        let found = place(own, sequence, names, CandidateName::sequence_of);
        let Place::Blocked { by, lowest, remaining } = found else {
            panic!("{found:?}");
        };
        assert_eq!((by, lowest), (b, a));
        assert!(matches!(remaining, Remaining::More));
    }
}
