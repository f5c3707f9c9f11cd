//! Contenders of another format at the lock's node.

use super::*;

const OF_OTHER: SessionId = SessionId::new(2);
const REFUSED: LockEnd = LockEnd::Failed(LockFailure::OtherFormat);
const OBSTRUCTED: Option<LockNotice> = Some(LockNotice::Obstructed(Obstacle::Foreign));

fn owned_by(session: SessionId) -> Reply<'static> {
    Reply::Exists(Stat::new(session.get(), TOKEN.get(), 0))
}

/// Makes a contender with the number 5 that has listed these, and asks for one of them.
fn looking_at(options: LockOptions, others: &[&str]) -> Script {
    let mut script = Script::verified(options, 5);
    let own = name(options.format, options.access, ID, 5);
    let mut names = alloc::vec![own.as_str()];
    names.extend(others);
    script.list(&names);
    script
}

fn is_refused(mut script: Script, options: LockOptions, other: &str) {
    assert_eq!(script.notice, Some(LockNotice::Ended(REFUSED)));
    assert_eq!(script.lock.foreign_child(), Some(other));
    assert_eq!(script.asked, format!("delete {}", name(options.format, options.access, ID, 5)));
    script.answer(Ok(Reply::Deleted));
    assert_eq!((script.lock.phase(), script.asked.as_str()), (Phase::Over, ""));
}

/// It stood there first, whether this contender waits or tries, and whatever its format is.
#[test]
fn an_earlier_contender_of_another_format_ends_a_lock() {
    for when_busy in [WhenBusy::Wait, WhenBusy::GiveUp] {
        for options in [LOCK, LockOptions::read(), LockOptions::write()] {
            let options = LockOptions { when_busy, ..options };
            for other in ["n_0000000004", "22__lock__0000000000"] {
                let mut script = looking_at(options, &[other]);
                assert_eq!(script.notice, Some(LockNotice::ForeignChild));
                script.answer(Ok(owned_by(OF_OTHER)));
                is_refused(script, options, other);
            }
        }
    }
}

/// It is refused itself, if it looks as this one does; if it does not, the next look ends the wait.
#[test]
fn a_later_contender_of_another_format_is_waited_for_until_a_look() {
    let other = "n_0000000006";
    let own = name(LOCK.format, LOCK.access, ID, 5);
    let mut script = looking_at(LOCK, &[other]);
    script.answer(Ok(owned_by(OF_OTHER)));
    assert_eq!((script.notice, script.asked.as_str()), (OBSTRUCTED, ""));
    let mut gone = script.clone();
    let watch = gone.ticket;
    gone.deleted(watch);
    gone.list(&[&own]);
    // It has read its own znode, and left a watch there.
    assert_eq!(gone.notice, Some(LockNotice::Acquired(TOKEN)));

    script.feed(Event::Look);
    script.list(&[&own, other]);
    is_refused(script, LOCK, other);
}

/// A later one that waits for this one must not hide an earlier one: three would wait in a ring.
#[test]
fn the_earliest_of_another_format_is_looked_at_first() {
    let mut script = looking_at(LOCK, &["a_0000000007", "z_0000000003", "m_0000000006"]);
    assert!(script.asked.contains("z_0000000003"), "{}", script.asked);
    script.answer(Ok(owned_by(OF_OTHER)));
    is_refused(script, LOCK, "z_0000000003");

    // One that is not ephemeral is passed over, and one with a number that recurs is the last.
    let others = ["a_0000000007", "z_0000000003", "b_9999999999", "c--2147483648"];
    let mut script = looking_at(LOCK, &others);
    let own = name(LOCK.format, LOCK.access, ID, 5);
    for expected in ["z_0000000003", "a_0000000007", "b_9999999999", "c--2147483648"] {
        assert!(script.asked.contains(expected), "{expected}: {}", script.asked);
        script.answer(Ok(owned_by(SessionId::new(0))));
        assert_eq!(script.asked, "list");
        let mut names = alloc::vec![own.as_str()];
        names.extend(others);
        script.list(&names);
    }
    assert_eq!(script.notice, Some(LockNotice::Acquired(TOKEN)));
}

/// No watch would report its end, and nothing says that it goes.
#[test]
fn one_of_another_format_that_may_not_be_looked_at_ends_a_lock() {
    for other in ["n_0000000004", "n_0000000006"] {
        let mut script = looking_at(LOCK, &[other]);
        script.answer(Err(Failure::NoAuth));
        is_refused(script, LOCK, other);
    }
}
