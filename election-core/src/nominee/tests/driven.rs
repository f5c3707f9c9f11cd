//! Questions of a driver to a nominee beside the events: how far it has come, whether it leads, and
//! which watches it wants.

use super::*;

/// Makes a script of a follower, and returns the watch of its own read, and that of its
/// predecessor's.
fn following() -> (Script, Ticket, Ticket) {
    let mut script = Script::created();
    let own = script.ticket.unwrap();
    script.answer(Ok(read(SESSION, 50)));
    script.list(&[OTHER, OWN]);
    let predecessor = script.ticket.unwrap();
    assert_eq!(script.asked, format!("read {OTHER}"));
    (script, own, predecessor)
}

impl Script {
    fn seen(&self) -> (Phase, Hold) {
        (self.nominee.phase(), self.nominee.hold())
    }

    fn withdraw(&mut self) {
        let output = self.nominee.withdraw();
        self.notice = output.notice;
        self.ticket = output.command.map(|command| command.ticket).or(self.ticket);
    }
}

#[test]
fn a_nominee_that_does_not_lead_stands_and_holds_nothing() {
    let standing = (Phase::Standing, Hold::None);
    let nominee = Nominee::new(ID, STAND_AGAIN);
    assert_eq!((nominee.phase(), nominee.hold()), standing, "connecting");
    assert_eq!(Script::connected().seen(), standing);
    assert_eq!(Script::verified().seen(), standing);
    let (mut follower, ..) = following();
    follower.answer(Ok(read(NEXT_SESSION, 20)));
    assert!(matches!(follower.nominee.role(), Role::Following { .. }));
    assert_eq!(follower.seen(), standing);
    follower.feed(Event::Disconnected);
    assert_eq!(follower.seen(), standing);
}

#[test]
fn a_leader_holds_its_token_and_a_suspended_one_the_same() {
    let mut script = Script::leading();
    let token = Token::new(50);
    assert_eq!(script.seen(), (Phase::Standing, Hold::Active(token)));
    script.feed(Event::Disconnected);
    assert_eq!(script.seen(), (Phase::Standing, Hold::Suspended(token)));
    assert_eq!(script.nominee.hold().token(), Some(token));
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.seen(), (Phase::Standing, Hold::Suspended(token)), "not verified yet");
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.seen(), (Phase::Standing, Hold::Active(token)));
    assert_eq!(script.nominee.hold().token(), Some(token));
}

#[test]
fn a_nominee_that_was_withdrawn_leaves_until_it_is_over() {
    let mut script = Script::leading();
    script.withdraw();
    assert_eq!(script.seen(), (Phase::Leaving, Hold::None));
    assert_eq!(Hold::None.token(), None);
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.seen(), (Phase::Over, Hold::None));

    let mut creating = Script::connected();
    creating.withdraw();
    assert_eq!(creating.seen(), (Phase::Leaving, Hold::None), "its create is in flight");
}

/// A nominee that stands again does so; one that is to end leaves.
#[test]
fn a_lapse_does_not_end_the_part_of_a_nominee() {
    let mut script = Script::leading();
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.seen(), (Phase::Standing, Hold::None));

    let mut script = Script::leading();
    script.nominee.on_loss = OnLoss::End;
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.seen(), (Phase::Leaving, Hold::None));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.seen(), (Phase::Over, Hold::None));
}

#[test]
fn a_nominee_that_has_failed_cleans_up_until_it_is_over() {
    let mut script = Script::verified();
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.seen(), (Phase::CleaningUp, Hold::None));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.seen(), (Phase::Over, Hold::None));
}

/// A driver that prunes by it right after it has sent the read must not lose the watch.
#[test]
fn a_watch_is_awaited_from_the_command_of_its_read_on() {
    let mut script = Script::created();
    let own = script.ticket.unwrap();
    assert!(script.nominee.awaits_change(own), "in flight");
    script.answer(Ok(read(SESSION, 50)));
    assert!(script.nominee.awaits_change(own), "answered");
    let list = script.ticket.unwrap();
    assert!(!script.nominee.awaits_change(list), "a list leaves none");
    script.list(&[OTHER, OWN]);
    let predecessor = script.ticket.unwrap();
    assert!(script.nominee.awaits_change(predecessor), "in flight");
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert!(script.nominee.awaits_change(predecessor) && script.nominee.awaits_change(own));

    let mut haunted = Script::verified();
    haunted.list(&[GHOST, OWN]);
    let inspection = haunted.ticket.unwrap();
    assert!(!haunted.nominee.awaits_change(inspection), "it leaves none");

    let mut refused = Script::created();
    refused.answer(Err(Failure::NoNode));
    assert!(!refused.nominee.awaits_change(own), "refused");
}

/// The read goes on, and its reply will not be looked at.
#[test]
fn a_read_in_flight_that_is_no_longer_wanted_leaves_a_watch_that_is_not_awaited() {
    let (mut written, own, predecessor) = following();
    written.feed(Event::Changed { ticket: own, change: Change::Data });
    assert!(!written.nominee.awaits_change(predecessor), "the own znode is read first");
    assert!(!written.nominee.awaits_change(own), "it fired");

    let (mut withdrawn, own, predecessor) = following();
    withdrawn.withdraw();
    assert!(!withdrawn.nominee.awaits_change(own) && !withdrawn.nominee.awaits_change(predecessor));

    let (mut lost, own, predecessor) = following();
    lost.feed(Event::Disconnected);
    assert!(!lost.nominee.awaits_change(own) && !lost.nominee.awaits_change(predecessor));
}

/// The driver has to know whether to send the server a request that removes an unwanted watch.
#[test]
fn a_read_says_whose_znode_it_watches() {
    let watch = |output: Output<'_>| match output.command.map(|command| command.op) {
        Some(Op::Read { watch, .. }) => Some(watch),
        _ => None,
    };
    let mut script = Script::connected();
    let ticket = script.ticket.unwrap();
    let result = Ok(Reply::Created { name: OWN, stat: None });
    let output = script.nominee.handle_event(Event::Reply { ticket, result });
    assert_eq!(watch(output), Some(Watch::Own));

    let mut names = [OTHER, OWN].iter().copied();
    let mut script = Script::verified();
    let ticket = script.ticket.unwrap();
    let result = Ok(Reply::Children(Children::listed(&mut names)));
    let output = script.nominee.handle_event(Event::Reply { ticket, result });
    assert_eq!(watch(output), Some(Watch::Other));
}

/// Whatever a watch would have told may have happened: as after a write, the znode is read again.
#[test]
fn what_a_lost_watch_was_on_is_read_again() {
    for change in [Change::Lost, Change::Data, Change::Created, Change::Children] {
        let (mut script, own, predecessor) = following();
        script.answer(Ok(read(NEXT_SESSION, 20)));
        script.feed(Event::Changed { ticket: predecessor, change });
        assert_eq!((script.asked.as_str(), script.notice), (&*format!("read {OTHER}"), None));
        assert!(matches!(script.nominee.role(), Role::Following { .. }));
        script.answer(Ok(read(NEXT_SESSION, 20)));
        script.feed(Event::Changed { ticket: own, change });
        assert_eq!((script.asked.as_str(), script.notice), (&*format!("read {OWN}"), None));
        script.answer(Err(Failure::NoNode));
        assert_eq!(script.notice, Some(Notice::CandidateLost(Cause::Evicted)));

        let mut leader = Script::created();
        let own = leader.ticket.unwrap();
        leader.answer(Ok(read(SESSION, 50)));
        leader.list(&[OWN]);
        leader.feed(Event::Changed { ticket: own, change });
        assert_eq!((leader.asked.as_str(), leader.notice), (&*format!("read {OWN}"), None));
        assert_eq!(leader.nominee.hold(), Hold::Active(Token::new(50)), "it leads on");
        leader.answer(Err(Failure::NoNode));
        assert_eq!(leader.notice, Some(Notice::Lost(Cause::Evicted)));
    }
}

/// Only a leader has what it could give up.
#[test]
fn a_deadline_is_ignored_by_those_that_do_not_lead() {
    let (mut follower, ..) = following();
    for script in [&mut follower, &mut Script::connected()] {
        let before = script.nominee.clone();
        let output = script.nominee.handle_event(Event::Deadline);
        assert_eq!((output.command, output.notice), (None, None));
        assert_eq!(script.nominee, before);
    }
}

/// Also one that is to end with a loss: it has lost nothing.
#[test]
fn a_leader_that_steps_down_stands_again_at_the_end() {
    let mut script = Script::leading();
    script.nominee.on_loss = OnLoss::End;
    script.feed(Event::Deadline);
    assert_eq!(script.notice, Some(Notice::Lost(Cause::SteppedDown)));
    assert_eq!(script.nominee.hold(), Hold::None, "it leads no longer, and its candidate stands");
    assert_eq!(script.asked, format!("delete {OWN}"));
    script.feed(Event::Deadline);
    assert_eq!((script.notice, script.asked.as_str()), (None, ""));
    script.answer(Ok(Reply::Deleted));
    assert_eq!((script.notice, script.asked.as_str()), (None, "create"));
    assert_eq!(script.nominee.phase(), Phase::Standing);
}

/// The link goes down first: the candidate goes at the next connection, and only then is there another.
#[test]
fn a_suspended_leader_steps_down_at_the_next_connection() {
    let mut script = Script::leading();
    script.feed(Event::Disconnected);
    script.feed(Event::Deadline);
    assert_eq!(script.notice, Some(Notice::Lost(Cause::SteppedDown)));
    assert_eq!(script.asked, "");
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, format!("delete {OWN}"));
}

/// By its list; the leader is first without one.
#[test]
fn a_nominee_knows_how_many_are_ahead() {
    let mut script = Script::verified();
    assert_eq!(script.nominee.rank(), None, "it has no place yet");
    script.list(&["a-latch-0000000001", OTHER, OWN, "z-latch-0000000009", "not a candidate"]);
    let rank = script.nominee.rank().expect("it has a place");
    assert_eq!(rank.ahead, 2);
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.asked, "list");
    script.list(&["a-latch-0000000001", OWN]);
    let next = script.nominee.rank().expect("it has a place");
    assert_eq!(next.ahead, 1);
    assert_ne!(next.learned, rank.learned);
    script.feed(Event::Disconnected);
    assert_eq!(script.nominee.rank(), None, "its place is not known any more");
    assert_eq!(Script::leading().nominee.rank().map(|rank| rank.ahead), Some(0));
}
