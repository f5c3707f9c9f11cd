//! Events that were lost, and the look that finds out.

use super::*;

const LEADER: &str = "_c_33333333-3333-3333-3333-333333333333-latch-0000000001";

fn following() -> Script {
    let mut script = Script::verified();
    script.list(&[OTHER, OWN]);
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!((script.notice, script.asked.as_str()), (Some(Notice::Following), ""));
    script
}

#[test]
fn a_follower_looks_and_leads_if_its_predecessor_has_gone() {
    let mut script = following();
    script.feed(Event::Look);
    assert_eq!(script.asked, "list");
    script.list(&[OTHER, OWN]);
    assert_eq!((script.asked.as_str(), script.notice), ("", None), "it stands");
    script.feed(Event::Look);
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

#[test]
fn a_follower_that_looks_follows_the_next_one() {
    let mut script = Script::verified();
    script.list(&[LEADER, OTHER, OWN]);
    script.answer(Ok(read(NEXT_SESSION, 20)));
    script.feed(Event::Look);
    script.list(&[LEADER, OWN]);
    assert_eq!(script.asked, format!("read {LEADER}"));
    script.answer(Ok(read(NEXT_SESSION, 10)));
    assert_eq!(script.notice, Some(Notice::Following));
}

/// A look teaches a follower that it has become the heir, which no event tells.
#[test]
fn after_a_look_the_heir_leads_without_another_list() {
    let mut script = Script::verified();
    script.list(&[LEADER, OTHER, OWN]);
    let watch = script.ticket.unwrap();
    script.answer(Ok(read(NEXT_SESSION, 20)));
    script.feed(Event::Look);
    script.list(&[OTHER, OWN]);
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    script.feed(Event::Changed { ticket: watch, change: Change::Deleted });
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

/// The look may have been asked for by a heartbeat that was refused, and a server tells a nominee
/// nothing of the end of a znode that it may not read (ZOOKEEPER-4799).
#[test]
fn a_predecessor_that_goes_during_a_look_makes_way_once_the_own_candidate_is_listed() {
    let mut script = following();
    let watch = script.ticket.unwrap();
    script.feed(Event::Look);
    script.feed(Event::Changed { ticket: watch, change: Change::Deleted });
    assert_eq!(script.notice, None);
    script.list(&[OTHER, OWN]);
    assert_eq!((script.asked.as_str(), script.notice), ("list", None), "it was made before");
    let mut evicted = Script { nominee: script.nominee.clone(), asked: String::new(), ..script };
    evicted.list(&[LEADER]);
    assert_eq!(evicted.notice, Some(Notice::CandidateLost(Cause::Evicted)));
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

#[test]
fn a_candidate_that_has_gone_unheard_is_missed_by_a_look() {
    let mut script = following();
    script.feed(Event::Look);
    script.list(&[OTHER]);
    assert_eq!(script.notice, Some(Notice::CandidateLost(Cause::Evicted)));
    assert_eq!(script.asked, "exists ended");

    let mut script = Script::leading();
    script.feed(Event::Look);
    assert_eq!(script.asked, format!("read {OWN}"));
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.notice, Some(Notice::Lost(Cause::Evicted)));
}

#[test]
fn a_leader_that_looks_leads_on() {
    let mut script = Script::leading();
    script.feed(Event::Look);
    assert_eq!(script.nominee.role(), Role::Leading { token: Token::new(50) });
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
}

#[test]
fn a_predecessor_that_may_not_be_read_is_followed_by_looks() {
    let mut script = Script::verified();
    script.list(&[OTHER, OWN]);
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.notice, Some(Notice::FollowingUnwatched));
    assert_eq!(script.asked, "list", "it may have gone before the read");
    script.list(&[OTHER, OWN]);
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    assert!(matches!(script.nominee.role(), Role::Following { .. }));
    script.feed(Event::Look);
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

#[test]
fn a_nominee_on_its_way_does_not_look() {
    let mut script = Script::created();
    for _ in 0..2 {
        script.feed(Event::Look);
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
    }
    script.answer(Ok(read(SESSION, 50)));
    script.list(&[OTHER, OWN]);
    script.feed(Event::Look);
    assert_eq!(script.asked, "", "one at a time");
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!(script.asked, "", "the read has shown the same");
}

#[test]
fn a_look_without_a_link_asks_for_nothing() {
    let mut script = following();
    script.feed(Event::Look);
    script.feed(Event::Disconnected);
    script.feed(Event::Look);
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, format!("read {OWN}"));
    script.answer(Ok(read(SESSION, 50)));
    script.list(&[OTHER, OWN]);
    assert_eq!(script.asked, format!("read {OTHER}"));
}

/// The request was not executed, so that nothing is in doubt.
#[test]
fn what_a_throttled_server_did_not_look_at_is_asked_for_again_at_the_next_look() {
    let mut script = Script::connected();
    for step in ["create", "read", "list"] {
        assert!(script.asked.starts_with(step), "{}", script.asked);
        let asked = script.asked.clone();
        script.answer(Err(Failure::Throttled));
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
        assert!(script.nominee.waits_for_look());
        script.feed(Event::Look);
        assert_eq!(script.asked, asked);
        match step {
            "create" => script.answer(Ok(Reply::Created { name: SECOND, stat: None })),
            "read" => script.answer(Ok(read(SESSION, 50))),
            _ => script.list(&[SECOND]),
        }
    }
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
    script.feed(Event::Look);
    script.answer(Err(Failure::Throttled));
    assert_eq!(script.nominee.role(), Role::Leading { token: Token::new(50) }, "it leads on");
}

/// Whether the servers would take it is not known. Each look tells of it again, and none is fed sooner for it.
#[test]
fn what_is_held_back_is_asked_for_again_at_each_look() {
    let mut script = Script::connected();
    let held_back = Some(Notice::Obstructed(Obstacle::HeldBack));
    for _ in 0..3 {
        assert!(script.asked.starts_with("create"), "{}", script.asked);
        script.answer(Err(Failure::HeldBack));
        assert_eq!((script.asked.as_str(), script.notice), ("", held_back));
        assert!(!script.nominee.waits_for_look());
        assert_eq!(script.nominee.role(), Role::Standing);
        script.feed(Event::Look);
    }
    script.answer(Err(Failure::HeldBack));
    let mut leaving = script.nominee.clone();
    let never = End::Withdrawn(Departure::NeverCreated);
    assert_eq!(leaving.withdraw().notice, Some(Notice::Ended(never)));
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert!(script.asked.starts_with("create"), "another server may take it: {}", script.asked);
}

#[test]
fn a_nominee_that_is_throttled_leaves_at_once() {
    let mut script = Script::verified();
    script.answer(Err(Failure::Throttled));
    let output = script.nominee.withdraw();
    assert_eq!(output.command.map(|command| describe(&command.op)), Some(format!("delete {OWN}")));
    let mut script = Script::connected();
    script.answer(Err(Failure::Throttled));
    let output = script.nominee.withdraw();
    let never = End::Withdrawn(Departure::NeverCreated);
    assert_eq!((output.command, output.notice), (None, Some(Notice::Ended(never))));
}
