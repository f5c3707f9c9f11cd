//! A nominee's reactions to the mark by which an election is ended.

use super::*;

const MARK: &str = "ended";

/// Its list shows it: no request is made for that.
#[test]
fn a_nominee_that_joins_sees_in_its_list_that_the_election_is_ended() {
    for names in [&[MARK, OWN][..], &[OWN, MARK], &[OTHER, OWN, MARK]] {
        let mut script = Script::created_with_stat();
        script.list(names);
        assert_eq!(script.notice, Some(Notice::Ended(End::ElectionEnded)));
        assert_eq!(script.asked, format!("delete {OWN}"));
        script.answer(Ok(Reply::Deleted));
        assert_eq!((script.asked.as_str(), script.nominee.phase()), ("", Phase::Over));
    }
}

/// It was deleted by the operator that ends the election, and nothing is left to be deleted.
#[test]
fn a_candidate_that_is_missing_beside_the_mark_was_ended() {
    let mut script = Script::created_with_stat();
    script.list(&[OTHER, MARK]);
    assert_eq!(script.notice, Some(Notice::Ended(End::ElectionEnded)));
    assert_eq!((script.asked.as_str(), script.nominee.phase()), ("", Phase::Over));
}

#[test]
fn a_leader_whose_candidate_is_deleted_asks_whether_the_election_is_ended() {
    for on_loss in [OnLoss::StandAgain, OnLoss::StandUntilElected, OnLoss::End] {
        let evicted = || {
            let mut script = Script::leading();
            script.nominee.on_loss = on_loss;
            script.feed(Event::Look);
            script.answer(Err(Failure::NoNode));
            assert_eq!(script.notice, Some(Notice::Lost(Cause::Evicted)), "at once");
            assert_eq!(
                (script.asked.as_str(), script.nominee.hold()),
                ("exists ended", Hold::None)
            );
            script
        };
        // A server since 3.8.4 forbids to look at a mark that may not be read.
        for there in [Ok(Reply::Exists(Stat::new(0, 60, 0))), Err(Failure::NoAuth)] {
            let mut script = evicted();
            script.answer(there);
            assert_eq!(script.notice, Some(Notice::Ended(End::ElectionEnded)));
            assert_eq!((script.asked.as_str(), script.nominee.phase()), ("", Phase::Over));
        }
        let mut script = evicted();
        script.answer(Err(Failure::NoNode));
        match on_loss {
            OnLoss::StandAgain => {
                assert_eq!((script.asked.as_str(), script.notice), ("create", None));
            }
            OnLoss::StandUntilElected | OnLoss::End => {
                assert_eq!(script.notice, Some(Notice::Ended(End::Lost(Cause::Evicted))));
            }
        }
    }
}

/// The next server may not have what the former one has told.
#[test]
fn on_another_connection_a_commit_comes_before_the_question() {
    let mut script = Script::leading();
    script.feed(Event::Look);
    script.answer(Err(Failure::NoNode));
    for (session, lost) in [(SESSION, Event::Disconnected), (NEXT_SESSION, Event::SessionExpired)] {
        script.feed(lost);
        script.feed(Event::Connected { session });
        assert_eq!((script.asked.as_str(), script.notice), ("barrier", None));
    }
    script.answer(Ok(Reply::BarrierPassed));
    assert_eq!(script.asked, "exists ended");
    script.answer(Ok(Reply::Exists(Stat::new(0, 60, 0))));
    assert_eq!(script.notice, Some(Notice::Ended(End::ElectionEnded)));
}

/// It says by what it ended: where the loss is the end, that comes before the withdrawal.
#[test]
fn a_nominee_that_asks_can_be_withdrawn() {
    for (on_loss, end) in [
        (OnLoss::StandAgain, End::Withdrawn(Departure::Deleted)),
        (OnLoss::StandUntilElected, End::Lost(Cause::Evicted)),
        (OnLoss::End, End::Lost(Cause::Evicted)),
    ] {
        let mut script = Script::leading();
        script.nominee.on_loss = on_loss;
        script.feed(Event::Look);
        script.answer(Err(Failure::NoNode));
        let output = script.nominee.withdraw();
        assert_eq!((output.command, output.notice), (None, Some(Notice::Ended(end))));
    }
}

/// Other participants would fail at the mark, or take it for one of them; and locks are not ended.
#[test]
fn in_other_formats_the_mark_says_nothing() {
    for format in [Format::kazoo(), Format::curator_lock(), Format::go_leaderelection()] {
        assert_eq!(format.end_mark(), None);
    }
    let mut script = Script::created_in(Format::leader_election_support(), "n_0000000007");
    script.list(&["n_0000000007", MARK]);
    assert!(matches!(script.notice, Some(Notice::Elected(_)) | None));
    assert!(!matches!(script.nominee.role(), Role::Ended(_)));
}
