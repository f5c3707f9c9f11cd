//! Obstacles that others put in the way of a nominee.

use super::*;

/// To end for it would let any participant end all nominees for good, by a name.
#[test]
fn a_rival_whose_name_cannot_be_kept_is_waited_for_and_named() {
    let long = format!("{:x<70}latch-0000000001", "");
    for names in [[OWN, long.as_str(), OTHER], [OTHER, OWN, long.as_str()]] {
        let mut script = Script::verified();
        let obstacle = Obstacle::LongName(Sequence::new(1).unwrap());
        for _ in 0..2 {
            script.list(&names);
            assert_eq!(script.notice, Some(Notice::Obstructed(obstacle)));
            assert!(obstacle.to_string().contains("ends in 0000000001"));
            assert_eq!((script.asked.as_str(), script.nominee.role()), ("", Role::Standing));
            script.feed(Event::Look);
            assert_eq!(script.asked, "list");
        }
        script.list(&[OWN]);
        assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
    }
}

/// No session of a nominee's makes such a znode, so that nothing but a deletion ends the wait.
#[test]
fn a_predecessor_that_is_not_ephemeral_is_told_of() {
    let mut script = Script::verified();
    script.list(&[OTHER, OWN]);
    let stat = Stat { owner: None, ..stat(NEXT_SESSION, 20) };
    script.answer(Ok(Reply::Read { stat, data: b"" }));
    assert_eq!(script.notice, Some(Notice::FollowingPersistent));
    assert!(matches!(script.nominee.role(), Role::Following { .. }));
    let watch = script.ticket.unwrap();
    script.feed(Event::Changed { ticket: watch, change: Change::Deleted });
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

const NOT_EMPTY: Failure = Failure::Rejected(-111);

/// Whether the forged znode may be read, and how it is tried to be deleted.
const SHOWN: [(Result<(), Failure>, &str); 3] =
    [(Ok(()), " at 4"), (Err(Failure::NoAuth), ""), (Ok(()), " at 4")];

/// The nominee deletes a ghost that it cannot read.
#[test]
fn a_ghost_that_may_not_be_read_is_deleted_by_its_name() {
    let mut script = Script::verified();
    script.list(&[GHOST, OWN]);
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.asked, format!("delete {GHOST}"));
    script.answer(Ok(Reply::Deleted));
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));

    let mut script = Script::connected();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[OWN]);
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.asked, format!("delete {OWN}"));
    script.answer(Ok(Reply::Deleted));
    script.list(&[]);
    assert_eq!(script.asked, "create");
}

#[test]
fn a_forged_znode_of_the_own_id_is_waited_for_by_a_candidate() {
    let mut script = Script::verified();
    for (shown, deletion) in SHOWN {
        script.list(&[GHOST, OWN]);
        assert_eq!(script.asked, format!("inspect {GHOST}"));
        script.answer(shown.map(|()| read(NEXT_SESSION, 20)));
        assert_eq!(script.asked, format!("delete {GHOST}{deletion}"));
        script.answer(Err(NOT_EMPTY));
        assert_eq!(script.notice, Some(Notice::Obstructed(Obstacle::OwnName)));
        assert_eq!(script.asked, "");
        script.feed(Event::Look);
        assert_eq!(script.asked, "list");
    }
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

/// The create in doubt is not given up for it, nor the nomination.
#[test]
fn a_forged_znode_of_the_own_id_is_waited_for_by_a_search() {
    let mut script = Script::connected();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    for (shown, deletion) in SHOWN {
        assert_eq!(script.asked, "barrier");
        script.answer(Ok(Reply::BarrierPassed));
        script.list(&[GHOST]);
        script.answer(shown.map(|()| read(NEXT_SESSION, 20)));
        assert_eq!(script.asked, format!("delete {GHOST}{deletion}"));
        script.answer(Err(NOT_EMPTY));
        assert_eq!(script.notice, Some(Notice::Obstructed(Obstacle::OwnName)));
        assert_eq!(script.asked, "");
        script.feed(Event::Look);
    }
    let (mut withdrawn, barrier) = (script.nominee.clone(), script.ticket);
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[]);
    assert_eq!(script.asked, "create");

    // A withdrawal tries once more, and then says what it could not do.
    assert!(withdrawn.withdraw().command.is_none(), "the barrier is on its way");
    (script.nominee, script.ticket) = (withdrawn, barrier);
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[GHOST]);
    script.answer(Ok(read(NEXT_SESSION, 20)));
    script.answer(Err(NOT_EMPTY));
    assert_eq!(script.failure(), Some(NominationError::Rejected(-111)));
}
