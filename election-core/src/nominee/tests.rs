//! Scripts of events, for behaviour that a model of a server shows less well.

extern crate alloc;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

mod blocked;
mod cleaning_up;
mod driven;
mod endings;
mod formats;
mod lock_delay;
mod looking;
mod watching;

use super::*;
use crate::children::Children;
use crate::election::{Cause, ElectionNode, End, NodeKind, Obstacle, OnLoss};
use crate::event::{Failure, Reply, Stat};
use crate::name::Sequence;
use crate::outcome::NominationError;
use crate::{Change, Check, Create, CreateMode, Delete, NewZnode, Part, Payload, Token, Write};

const ID: NomineeId = NomineeId::from_bytes([0x11; 16]);
const OWN: &str = "_c_11111111-1111-1111-1111-111111111111-latch-0000000005";
/// Of the second create.
const SECOND: &str = "_c_11111111-1111-1111-1111-111111111112-latch-0000000006";
const GHOST: &str = "_c_11111111-1111-1111-1111-111111111111-latch-0000000002";
const OTHER: &str = "_c_22222222-2222-2222-2222-222222222222-latch-0000000003";
const SESSION: SessionId = SessionId::new(1);
const NEXT_SESSION: SessionId = SessionId::new(2);
const STAND_AGAIN: Policy = Policy {
    on_loss: OnLoss::StandAgain,
    election_node: ElectionNode::Create(NodeKind::Persistent),
    lock_delay: Duration::ZERO,
};

/// A nominee with what it last asked for.
struct Script {
    nominee: Nominee,
    ticket: Option<Ticket>,
    asked: String,
    notice: Option<Notice>,
}

impl Script {
    fn connected() -> Self {
        let mut script = Self {
            nominee: Nominee::new(ID, STAND_AGAIN),
            ticket: None,
            asked: String::new(),
            notice: None,
        };
        script.feed(Event::Connected { session: SESSION });
        assert_eq!(script.asked, "create");
        script
    }

    fn created() -> Self {
        let mut script = Self::connected();
        script.answer(Ok(Reply::Created { name: OWN, stat: None }));
        assert_eq!(script.asked, format!("read {OWN}"));
        script
    }

    fn verified() -> Self {
        let mut script = Self::created();
        script.answer(Ok(read(SESSION, 50)));
        assert_eq!(script.asked, "list");
        script
    }

    fn leading() -> Self {
        let mut script = Self::verified();
        script.list(&[OWN]);
        assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
        script
    }

    fn feed(&mut self, event: Event<'_>) {
        let output = self.nominee.handle_event(event);
        self.notice = output.notice;
        self.asked = output.command.map_or(String::new(), |command| describe(&command.op));
        self.ticket = output.command.map(|command| command.ticket).or(self.ticket);
    }

    fn answer(&mut self, result: Result<Reply<'_>, Failure>) {
        let ticket = self.ticket.expect("something was asked for");
        self.feed(Event::Reply { ticket, result });
    }

    fn list(&mut self, names: &[&str]) {
        self.answer(Ok(Reply::Children(Children::listed(&mut names.iter().copied()))));
    }

    fn owes_cleanup(&self) -> bool {
        self.nominee.phase() == Phase::CleaningUp
    }

    fn failure(&self) -> Option<NominationError> {
        match self.nominee.role() {
            Role::Ended(End::Failed(error)) => Some(error),
            _ => None,
        }
    }
}

/// Returns a request in short, if it is as a nominee asks for it.
fn describe(op: &Op<'_>) -> String {
    match *op {
        Op::Create(Create {
            znode: NewZnode::Child(_),
            mode: CreateMode::EphemeralSequential,
            data: Payload::Kept(0) | Payload::Bytes(_),
        }) => "create".to_string(),
        Op::CreateNode => "create election node".to_string(),
        Op::Barrier => "barrier".to_string(),
        Op::List { parent: Znode::Node, watch: Watch::None } => "list".to_string(),
        Op::Exists { znode: Znode::Child(name), watch: Watch::None } => format!("exists {name}"),
        Op::Exists { znode: Znode::Child(name), .. } => format!("exists {name}, watched"),
        Op::Read { znode: Znode::Child(name), watch: Watch::None } => format!("inspect {name}"),
        Op::Read { znode: Znode::Child(name), .. } => format!("read {name}"),
        Op::Delete(Delete { znode: Znode::Child(name), version }) => match version {
            ExpectedVersion::Any => format!("delete {name}"),
            ExpectedVersion::Exactly(version) => format!("delete {name} at {}", version.get()),
        },
        Op::Read { znode: Znode::Sibling(suffix), .. } => format!("read {suffix}"),
        Op::Multi(ref multi) => {
            let parts: Vec<String> = multi.parts().map(describe_part).collect();
            parts.join(", ")
        }
        other => format!("{other:?}"),
    }
}

fn describe_part(part: Part<'_>) -> String {
    match part {
        Part::Check(Check { znode: Znode::Child(name), version: ExpectedVersion::Any }) => {
            format!("check {name}")
        }
        Part::Create(Create {
            znode: NewZnode::Named(Znode::Sibling(suffix)),
            mode: CreateMode::Persistent,
            data: Payload::Bytes(_),
        }) => format!("create {suffix}"),
        Part::Write(Write {
            znode: Znode::Sibling(suffix),
            version: ExpectedVersion::Exactly(version),
            data: Payload::Bytes(_),
        }) => format!("write {suffix} at {}", version.get()),
        Part::Delete(Delete { znode: Znode::Child(name), version: ExpectedVersion::Any }) => {
            format!("delete {name}")
        }
        Part::Delete(Delete {
            znode: Znode::Sibling(suffix),
            version: ExpectedVersion::Exactly(version),
        }) => format!("delete {suffix} at {}", version.get()),
        other => format!("{other:?}"),
    }
}

/// Returns the reply to a read.
fn read(owner: SessionId, czxid: i64) -> Reply<'static> {
    Reply::Read { stat: stat(owner, czxid), data: &[] }
}

fn stat(owner: SessionId, czxid: i64) -> Stat {
    Stat::new(owner.get(), czxid, 4)
}

/// The leader and the next to lead want heartbeats.
#[test]
fn the_leader_and_the_heir_want_heartbeats() {
    let mut heir = Script::verified();
    assert_eq!(heir.nominee.heartbeat(), None, "its place is not known yet");
    heir.list(&[OTHER, OWN]);
    assert_eq!(heir.nominee.heartbeat(), Some(Znode::child(OWN)));
    heir.feed(Event::Disconnected);
    assert_eq!(heir.nominee.heartbeat(), None, "its place is not known any more");

    let mut third = Script::verified();
    third.list(&["a-latch-0000000001", OTHER, OWN]);
    assert_eq!(third.nominee.heartbeat(), None);

    let mut leader = Script::leading();
    assert_eq!(leader.nominee.heartbeat(), Some(Znode::child(OWN)));
    leader.feed(Event::Disconnected);
    assert_eq!(leader.nominee.heartbeat(), Some(Znode::child(OWN)), "suspended");
    let _ = leader.nominee.withdraw();
    assert_eq!(leader.nominee.heartbeat(), None);
}

/// Before the first link there is nothing to ask for, and the role says "connecting" instead of
/// nothing at all (kazoo #83).
#[test]
fn without_a_link_the_role_says_so_and_nothing_is_asked_for() {
    let mut nominee = Nominee::new(ID, STAND_AGAIN);
    assert_eq!(nominee.role(), Role::Connecting);
    for event in [Event::Disconnected, Event::SessionExpired, Event::LeaseLapsed, Event::Deadline] {
        let output = nominee.handle_event(event);
        assert_eq!((output.command, output.notice), (None, None));
    }
    assert_eq!(nominee, Nominee::new(ID, STAND_AGAIN));
}

/// The create of a dead session answers when the next one is at work (CURATOR-498, CURATOR-653).
#[test]
fn a_late_create_of_an_earlier_incarnation_is_cleaned_up() {
    let mut script = Script::connected();
    let late = script.ticket.unwrap();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: NEXT_SESSION });
    script.answer(Ok(Reply::Created { name: SECOND, stat: None }));
    script.answer(Ok(read(NEXT_SESSION, 50)));
    script.list(&[SECOND]);
    let before = script.nominee.clone();

    script.feed(Event::Reply {
        ticket: late,
        result: Ok(Reply::Created { name: GHOST, stat: None }),
    });
    assert_eq!(script.asked, format!("delete {GHOST}"));
    assert_eq!(script.ticket, Some(Ticket::CLEANUP));
    assert_eq!((script.notice, &script.nominee), (None, &before));

    script.answer(Err(Failure::Rejected(-102)));
    assert_eq!((script.notice, &script.nominee), (None, &before), "nobody waits for its reply");

    script.feed(Event::Reply {
        ticket: late,
        result: Ok(Reply::Created { name: SECOND, stat: None }),
    });
    assert_eq!(script.asked, "", "the current candidate is not touched");
}

/// The search finds the same znode, and must not find it deleted.
#[test]
fn a_late_create_of_the_present_incarnation_is_left_to_the_search() {
    let mut script = Script::connected();
    let late = script.ticket.unwrap();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, "barrier");
    let before = script.nominee.clone();
    script
        .feed(Event::Reply { ticket: late, result: Ok(Reply::Created { name: OWN, stat: None }) });
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    assert_eq!(script.nominee, before);
}

#[test]
fn a_late_create_is_cleaned_up_after_the_end_too() {
    let mut script = Script::connected();
    let late = script.ticket.unwrap();
    script.feed(Event::Disconnected);
    let _ = script.nominee.withdraw();
    script.feed(Event::SessionExpired);
    script.feed(Event::Connected { session: NEXT_SESSION });
    assert_eq!(script.asked, "");
    script
        .feed(Event::Reply { ticket: late, result: Ok(Reply::Created { name: OWN, stat: None }) });
    assert_eq!(script.asked, format!("delete {OWN}"));
}

#[test]
fn a_created_name_that_was_not_asked_for_is_removed_again() {
    let long = format!("_c_11111111-1111-1111-1111-111111111111-latch-{:08}", 5);
    for name in ["n_0000000005", OTHER, long.as_str()] {
        let mut script = Script::connected();
        script.answer(Ok(Reply::Created { name, stat: None }));
        assert_eq!(script.failure(), Some(NominationError::UnexpectedName));
        assert_eq!(script.asked, format!("delete {name}"));
        script.answer(Ok(Reply::Deleted));
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
    }
}

#[test]
fn a_created_name_that_is_no_child_is_not_followed() {
    for name in ["", ".", "..", "../other/n_0000000005", "election/n_0000000005"] {
        let mut script = Script::connected();
        script.answer(Ok(Reply::Created { name, stat: None }));
        assert_eq!(script.failure(), Some(NominationError::UnexpectedName));
        assert_eq!(script.asked, "");
    }
}

#[test]
fn a_ghost_in_the_listing_goes_before_a_place_is_taken() {
    let mut script = Script::verified();
    script.list(&[GHOST, OWN]);
    assert_eq!(script.asked, format!("inspect {GHOST}"));
    assert_eq!(script.nominee.role(), Role::Standing);
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!(script.asked, format!("delete {GHOST} at 4"));
    script.answer(Err(Failure::BadVersion));
    assert_eq!(script.asked, format!("inspect {GHOST}"));
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.asked, "list");
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

/// The own znode is written to while the list is on its way: it is read again first.
#[test]
fn a_listing_does_not_count_while_the_own_watch_is_due() {
    let mut script = Script::created();
    let own = script.ticket.unwrap();
    script.answer(Ok(read(SESSION, 50)));
    script.feed(Event::Changed { ticket: own, change: Change::Data });
    assert_eq!(script.asked, "", "one at a time");
    script.list(&[OWN]);
    assert_eq!((script.asked.as_str(), script.notice), (format!("read {OWN}").as_str(), None));
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.asked, "list");
}

/// A promotion rests on the own watch.
#[test]
fn the_predecessor_goes_while_the_own_watch_is_due() {
    let mut script = Script::created();
    let own = script.ticket.unwrap();
    script.answer(Ok(read(SESSION, 50)));
    script.list(&[OTHER, OWN]);
    let predecessor = script.ticket.unwrap();
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!(script.notice, Some(Notice::Following));
    script.feed(Event::Changed { ticket: own, change: Change::Data });
    assert_eq!(script.asked, format!("read {OWN}"));
    script.feed(Event::Changed { ticket: predecessor, change: Change::Deleted });
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!((script.asked.as_str(), script.notice), ("list", None));
}

/// A server deletes a container that is empty between the creations of its ancestors and its own. Often enough, it is
/// the reason of an end. A chroot that is missing is that at once.
#[test]
fn an_ancestor_that_vanishes_is_created_again() {
    let mut script = Script::connected();
    for _ in 0..2 {
        script.answer(Err(Failure::NoNode));
        assert_eq!((script.asked.as_str(), script.notice), ("create election node", None));
        script.answer(Err(Failure::NoNode));
        assert_eq!((script.asked.as_str(), script.notice), ("create", None));
    }
    while script.notice.is_none() {
        script.answer(Err(Failure::NoNode));
    }
    let ended = |error| Some(Notice::Ended(End::Failed(error)));
    assert_eq!(script.notice, ended(NominationError::NoElectionNode));

    let mut lost = Script::connected();
    lost.answer(Err(Failure::NoNode));
    lost.answer(Err(Failure::NoChroot));
    assert_eq!(lost.notice, ended(NominationError::NoChroot));
}

/// The same name, the same session, another znode (etcd #11777).
#[test]
fn a_leader_is_evicted_by_another_znode_of_its_name() {
    let mut script = Script::leading();
    script.feed(Event::Disconnected);
    assert_eq!(script.notice, Some(Notice::Suspended));
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(read(SESSION, 51)));
    assert_eq!(script.notice, Some(Notice::Lost(Cause::Evicted)));
    assert_eq!(script.asked, "exists ended");
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.asked, "create");
    assert_eq!(script.nominee.incarnation().get(), 1);
}

/// Lost and resigned at once.
#[test]
fn withdrawing_after_the_lease_lapsed_ends_once() {
    let mut script = Script::leading();
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.notice, Some(Notice::Lost(Cause::LeaseLapsed)));
    assert_eq!(script.asked, format!("delete {OWN}"));
    let output = script.nominee.withdraw();
    assert_eq!((output.command, output.notice), (None, None));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.notice, Some(Notice::Ended(End::Withdrawn(Departure::Deleted))));
    script.feed(Event::LeaseLapsed);
    script.feed(Event::SessionExpired);
    script.feed(Event::Connected { session: NEXT_SESSION });
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
}

/// A driver that mixes up its replies gets an error, not a leader.
#[test]
fn a_reply_of_another_kind_ends_the_nomination() {
    let mut script = Script::verified();
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.failure(), Some(NominationError::UnexpectedReply));
    assert_eq!(script.asked, format!("delete {OWN}"));
}

#[test]
fn a_ticket_is_displayed_by_incarnation_and_step() {
    let script = Script::created();
    let seen: Vec<String> =
        [script.ticket.unwrap(), Ticket::CLEANUP].iter().map(ToString::to_string).collect();
    assert_eq!(seen, ["0.1", "cleanup"]);
}
