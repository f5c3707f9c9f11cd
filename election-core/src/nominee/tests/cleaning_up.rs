//! Znodes that a failed nomination leaves behind, and deletions that it still owes.

use super::*;

/// The last number is given to one candidate; the next ones are given again and again.
#[test]
fn a_number_that_another_candidate_can_have_is_not_stood_with() {
    let prefix = ID.candidate_prefix(0);
    for number in ["2147483647", "-2147483648", "-000000001", "9999999999"] {
        let mut script = Script::connected();
        let name = format!("{prefix}{number}");
        script.answer(Ok(Reply::Created { name: &name, stat: None }));
        assert_eq!(script.failure(), Some(NominationError::SequenceExhausted));
        assert_eq!(script.asked, format!("delete {name}"));
        script.answer(Ok(Reply::Deleted));
        assert!(!script.owes_cleanup());
    }
    let mut script = Script::connected();
    let name = format!("{prefix}2147483646");
    script.answer(Ok(Reply::Created { name: &name, stat: None }));
    assert_eq!(script.asked, format!("read {name}"));
}

/// The reply to its create was lost.
#[test]
fn a_candidate_with_such_a_number_is_found_and_removed() {
    let mut script = Script::connected();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    let name = format!("{}2147483647", ID.candidate_prefix(0));
    script.list(&[OTHER, &name]);
    assert_eq!(script.asked, format!("read {name}"));
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.failure(), Some(NominationError::SequenceExhausted));
    assert_eq!(script.asked, format!("delete {name}"));
}

/// The remedy is in the text.
#[test]
fn the_end_of_the_numbers_names_what_to_do() {
    assert!(NominationError::SequenceExhausted.to_string().contains("fresh election node"));
}

#[test]
fn a_cleanup_is_owed_until_it_is_answered() {
    let mut script = Script::verified();
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.failure(), Some(NominationError::Rejected(-102)));
    assert_eq!(script.asked, format!("delete {OWN}"));
    for _ in 0..3 {
        assert!(script.owes_cleanup());
        script.feed(Event::Disconnected);
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
        script.feed(Event::Connected { session: SESSION });
        assert_eq!(script.asked, format!("delete {OWN}"));
    }
    script.answer(Err(Failure::NoNode));
    assert!(!script.owes_cleanup());
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
}

#[test]
fn a_cleanup_goes_with_the_session() {
    for event in [Event::SessionExpired, Event::Connected { session: NEXT_SESSION }] {
        let mut script = Script::verified();
        script.answer(Err(Failure::NoAuth));
        script.feed(Event::Disconnected);
        script.feed(event);
        assert!(!script.owes_cleanup());
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
    }
}

/// A throttled server has not looked at the request.
#[test]
fn a_throttled_cleanup_is_asked_for_again_at_the_next_look() {
    let mut script = Script::verified();
    script.answer(Err(Failure::NoAuth));
    script.answer(Err(Failure::Throttled));
    assert_eq!(script.asked, "", "not at once");
    assert!(script.owes_cleanup() && script.nominee.waits_for_look());
    script.feed(Event::Look);
    assert_eq!(script.asked, format!("delete {OWN}"));
    script.answer(Ok(Reply::Deleted));
    assert!(!script.owes_cleanup() && !script.nominee.waits_for_look());
}

/// An access list may be restored, and an identity be presented on the next connection. Until then the
/// candidate would be in the way of all others, as long as the session lives.
#[test]
fn a_deletion_that_is_refused_is_owed_until_it_is_permitted() {
    for refusal in [Failure::NoAuth, Failure::Rejected(-1)] {
        let mut script = Script::leading();
        let output = script.nominee.withdraw();
        script.ticket = output.command.map(|command| command.ticket);
        script.answer(Err(refusal));
        assert!(script.failure().is_some(), "the user is told at once");
        for event in [Event::Look, Event::Connected { session: SESSION }] {
            assert_eq!(script.asked, "", "not at once");
            assert!(script.owes_cleanup());
            script.feed(event);
            assert_eq!(script.asked, "barrier");
            script.answer(Ok(Reply::BarrierPassed));
            script.list(&[OTHER, OWN]);
            assert_eq!(script.asked, format!("delete {OWN}"));
            script.answer(Err(refusal));
        }
        script.feed(Event::Look);
        script.answer(Ok(Reply::BarrierPassed));
        script.list(&[OTHER, OWN]);
        script.answer(Ok(Reply::Deleted));
        script.answer(Ok(Reply::BarrierPassed));
        script.list(&[OTHER]);
        assert!(!script.owes_cleanup());
    }
}

/// It may have created a candidate, and may not see whether.
#[test]
fn a_nomination_that_fails_with_a_create_in_doubt_owes_a_search() {
    let mut script = Script::connected();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.failure(), Some(NominationError::Rejected(-102)));
    assert_eq!(script.asked, "", "it would be refused again");
    for refusal in [Failure::NoAuth, Failure::Rejected(-1)] {
        assert!(script.owes_cleanup());
        script.feed(Event::Look);
        assert_eq!(script.asked, "barrier");
        script.answer(Ok(Reply::BarrierPassed));
        assert_eq!(script.asked, "list");
        script.answer(Err(refusal));
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
    }
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, "barrier");
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[OTHER, OWN]);
    assert_eq!(script.asked, format!("delete {OWN}"));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.asked, "barrier", "there may be another");
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[OTHER]);
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    assert!(!script.owes_cleanup());
}

/// A ghost of a former session that the server does not show, and behind it what the create in doubt
/// has left.
#[test]
fn behind_a_ghost_that_is_removed_there_may_be_another_candidate() {
    let mut script = Script::connected();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[GHOST, OWN]);
    script.answer(Err(Failure::Rejected(-1)));
    assert_eq!(script.failure(), Some(NominationError::Rejected(-1)));
    assert_eq!(script.asked, format!("delete {GHOST}"));
    script.answer(Ok(Reply::Deleted));
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[OWN]);
    assert_eq!(script.asked, format!("delete {OWN}"));
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.asked, "", "until the next look");
    assert!(script.owes_cleanup());
}

#[test]
fn a_search_that_is_owed_ends_where_there_is_nothing() {
    for listed in [Some(&[OTHER][..]), None] {
        let mut script = Script::connected();
        script.feed(Event::Disconnected);
        script.feed(Event::Connected { session: SESSION });
        script.answer(Err(Failure::Rejected(-1)));
        script.feed(Event::Look);
        script.answer(Ok(Reply::BarrierPassed));
        match listed {
            Some(names) => script.list(names),
            None => script.answer(Err(Failure::NoNode)),
        }
        assert!(!script.owes_cleanup());
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
    }
}

/// The create has made a znode, but the nominee could not read its name.
#[test]
fn a_create_whose_reply_cannot_be_read_is_searched_for() {
    let mut script = Script::connected();
    script.answer(Err(Failure::Unreadable));
    assert_eq!(script.asked, "barrier");
    let mut script = Script::connected();
    let _ = script.nominee.withdraw();
    script.answer(Err(Failure::Unreadable));
    assert_eq!(script.asked, "barrier");
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[OWN]);
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.asked, format!("delete {OWN}"));
}

#[test]
fn no_two_candidates_of_a_nomination_have_one_name() {
    let mut script = Script::connected();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[]);
    assert_eq!(script.asked, "create");
    assert_eq!(script.nominee.attempts(), 2);
    script.answer(Ok(Reply::Created { name: OWN, stat: None }));
    assert_eq!(script.failure(), Some(NominationError::UnexpectedName), "that of the first");
    let mut returning = Nominee::returning(ID, 7, STAND_AGAIN);
    let _ = returning.handle_event(Event::Connected { session: SESSION });
    assert_eq!(returning.attempts(), 7);
}
