//! Views of members that change while they are read.

use std::sync::Arc;

use bytes::Bytes;
use election_session::{
    GroupFormat, GroupQuestion, GroupRead, GroupRequest, GroupSnapshot, GroupTracker, MemberData,
    TrackerWatches,
};
use zk_jute::Zxid;
use zk_jute::records::EventType;

use super::world::{Member, stat};

struct Bench {
    tracker: GroupTracker,
    asked: Vec<GroupRequest>,
}

impl Bench {
    /// Makes a tracker with a list that was answered at this zxid.
    fn listed(names: &[&str], zxid: i64) -> Self {
        let tracker =
            GroupTracker::new("/g".into(), GroupFormat::Plain, TrackerWatches::Persistent);
        let mut bench = Self { tracker, asked: Vec::new() };
        let watch = bench.tracker.poll_request().expect("a watch");
        bench.tracker.handle_watch_added(watch.ticket);
        let list = bench.tracker.poll_request().expect("a list");
        bench.tracker.handle_list(list.ticket, names.iter().copied(), Zxid::new(zxid));
        bench.ask();
        bench
    }

    /// Goes on in another session, with a list that was answered at this zxid.
    fn begin_anew(&mut self, names: &[&str], zxid: i64) {
        self.tracker.handle_watches_lost();
        self.asked.clear();
        let barrier = self.tracker.poll_request().expect("a barrier");
        self.tracker.handle_barrier(barrier.ticket);
        let watch = self.tracker.poll_request().expect("a watch");
        self.tracker.handle_watch_added(watch.ticket);
        let list = self.tracker.poll_request().expect("a list");
        self.tracker.handle_list(list.ticket, names.iter().copied(), Zxid::new(zxid));
        self.ask();
    }

    fn ask(&mut self) {
        while let Some(request) = self.tracker.poll_request() {
            self.asked.push(request);
        }
    }

    /// Answers the oldest read of this member.
    fn answer(&mut self, name: &str, mzxid: i64, zxid: i64) -> Option<GroupSnapshot> {
        let is_of = |request: &GroupRequest| request.question == GroupQuestion::Read(name.into());
        let place = self.asked.iter().position(is_of).expect("it was asked for");
        let ticket = self.asked.remove(place).ticket;
        let read =
            GroupRead::Data(Bytes::new(), stat(Member { czxid: 1, mzxid, ctime: 1, mtime: mzxid }));
        self.tracker.handle_read(ticket, name, read, Zxid::new(zxid));
        let snapshot = self.tracker.poll_snapshot();
        self.ask();
        snapshot
    }

    fn changed(&mut self, name: &str) {
        self.tracker.handle_change(&format!("/g/{name}"), EventType::NODE_DATA_CHANGED);
        self.ask();
    }
}

fn mzxid(snapshot: &GroupSnapshot, name: &str) -> Option<i64> {
    Some(snapshot.members().get(name)?.stat?.mzxid.get())
}

/// The first member changes while the second is read: what they were at the moment of the list is told.
#[test]
fn a_moment_is_told_although_members_have_changed_since() {
    let mut bench = Bench::listed(&["a", "b"], 10);
    assert!(bench.answer("a", 5, 10).is_none());
    bench.changed("a");
    let told = bench.answer("b", 6, 11).expect("the view of 10");
    assert_eq!((mzxid(&told, "a"), mzxid(&told, "b")), (Some(5), Some(6)));
    let told = bench.answer("a", 11, 12).expect("the view of 12");
    assert_eq!((mzxid(&told, "a"), mzxid(&told, "b")), (Some(11), Some(6)));
}

/// A later change is no part of the moment: the next change is.
#[test]
fn what_has_changed_since_a_moment_is_no_part_of_it() {
    let mut bench = Bench::listed(&["a", "b"], 10);
    bench.answer("a", 5, 10);
    bench.changed("a");
    assert!(bench.answer("b", 11, 12).is_none(), "a is older than 11, or not");
    assert!(bench.answer("a", 12, 12).is_some());
}

/// One member changes before each read of it is answered; the other joins, and is shown.
#[test]
fn a_view_leaves_out_what_changes_before_it_is_read() {
    let mut bench = Bench::listed(&["a", "b"], 10);
    bench.answer("b", 6, 10);
    let mut told = None;
    for zxid in (11..100).step_by(2) {
        bench.changed("a");
        told = told.or(bench.answer("a", zxid, zxid));
    }
    let told: GroupSnapshot = told.expect("a view");
    assert_eq!(told.members().len(), 2);
    assert_eq!(told.members().get("a").map(|a| a.data.clone()), Some(MemberData::Changing));
    assert_eq!(mzxid(&told, "b"), Some(6));
    assert!(told.members().contains_key(&Arc::<str>::from("b")));
}

/// Before 3.9 an event names no transaction, so the session's next server need not have applied what it told.
#[test]
fn after_a_deletion_that_only_an_event_has_told_the_next_server_catches_up_first() {
    let gone = |bench: &mut Bench| {
        bench.tracker.handle_change("/g/b", EventType::NODE_DELETED);
        let told = bench.tracker.poll_snapshot().expect("a view without it");
        assert_eq!(told.members().len(), 1);
    };
    let asked_after_a_gap = |bench: &mut Bench| {
        bench.tracker.handle_missed();
        bench.tracker.poll_request().expect("it reads again").question
    };
    let mut bench = Bench::listed(&["a", "b"], 10);
    bench.answer("a", 5, 10);
    bench.answer("b", 6, 10);
    gone(&mut bench);
    assert_eq!(asked_after_a_gap(&mut bench), GroupQuestion::Barrier);

    // A reply that was asked for later shows that the server is as far, and the session goes to no other one.
    let mut bench = Bench::listed(&["a", "b"], 10);
    bench.answer("a", 5, 10);
    bench.answer("b", 6, 10);
    gone(&mut bench);
    bench.changed("a");
    bench.answer("a", 12, 12);
    assert_eq!(asked_after_a_gap(&mut bench), GroupQuestion::List);
}

/// The ensemble was restored from a copy, and its zxids are lower than those of the last session.
#[test]
fn a_moment_of_another_session_is_at_a_zxid_of_that_session() {
    let mut bench = Bench::listed(&["a", "b"], 1_000);
    bench.answer("a", 5, 1_000);
    bench.answer("b", 6, 1_000);
    bench.begin_anew(&["a", "b"], 10);
    bench.answer("a", 5, 10);
    bench.changed("a");
    bench.answer("b", 7, 11).expect("the view of 10");
    bench.changed("b");
    assert!(bench.answer("a", 13, 13).is_none(), "b may have changed before 13");
    assert!(bench.answer("b", 12, 14).is_some());
}
