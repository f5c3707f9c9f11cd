use super::*;

const CREATED: EventType = EventType::NODE_CREATED;
const DELETED: EventType = EventType::NODE_DELETED;
const WRITTEN: EventType = EventType::NODE_DATA_CHANGED;

fn told(path: &str, kind: EventType, zxid: impl Into<Option<i64>>) -> Note {
    Note::Changed(Change { path: path.to_owned(), kind, zxid: zxid.into() })
}

const NOTHING: Option<Znode> = None;

fn read(seen: impl Into<Option<Znode>>, meanwhile: usize) -> Note {
    Note::Read { path: "/a".to_owned(), seen: seen.into(), meanwhile }
}

/// Returns a znode that was written that often, the last time by that transaction.
fn written(changes: i32, zxid: i64) -> Znode {
    let children = Count { changes: 0, zxid: 1 };
    Znode { czxid: 1, data: Count { changes, zxid }, children }
}

fn came(czxid: i64) -> Znode {
    let count = Count { changes: 0, zxid: czxid };
    Znode { czxid, data: count, children: count }
}

/// Returns a znode that had that many children come and go.
fn parent(changes: i32, zxid: i64) -> Znode {
    let data = Count { changes: 0, zxid: 1 };
    Znode { czxid: 1, data, children: Count { changes, zxid } }
}

fn view(mode: WatchMode, notes: &[Note]) -> View {
    let (path, notes) = ("/a".to_owned(), notes.to_vec());
    View { path, mode, session: Some(1), notes, ending: Ending::Kept }
}

fn breach_by(mode: WatchMode, notes: &[Note]) -> Option<Breach> {
    check(&[view(mode, notes)]).err().map(|violation| violation.breach)
}

fn breach(notes: &[Note]) -> Option<Breach> {
    breach_by(WatchMode::Persistent, notes)
}

#[test]
fn changes_that_are_told_once_are_fine() {
    let notes = [
        read(written(3, 30), 0),
        told("/a", WRITTEN, 40),
        read(written(4, 40), 0),
        // One before the read was answered and not yet in it, one behind the answer.
        told("/a", WRITTEN, 50),
        told("/a", WRITTEN, None),
        read(written(5, 50), 2),
        read(written(6, 60), 0),
        Note::ChangesMissed,
        told("/a", WRITTEN, 90),
        read(written(9, 90), 1),
    ];
    assert_eq!(breach(&notes), None);
}

#[test]
fn a_change_that_is_not_told_is_found() {
    let notes = [read(written(3, 30), 0), read(written(4, 40), 0)];
    assert_eq!(breach(&notes), Some(Breach::Untold));
    let notes = [read(written(3, 30), 0), told("/a", WRITTEN, None), read(written(5, 50), 0)];
    assert_eq!(breach(&notes), Some(Breach::Untold));
}

#[test]
fn a_change_that_is_read_before_it_is_told_is_found() {
    let notes = [read(written(3, 30), 0), read(written(4, 40), 0), told("/a", WRITTEN, 40)];
    assert_eq!(breach(&notes), Some(Breach::Untold));
    // The first read after the watch was set, too, where transactions are told.
    let notes = [read(written(3, 30), 0), told("/a", WRITTEN, 30)];
    assert_eq!(breach(&notes), Some(Breach::Untold));
}

#[test]
fn a_change_that_is_told_twice_is_found() {
    let once = told("/a", WRITTEN, None);
    let notes = [read(written(3, 30), 0), once.clone(), once, read(written(4, 40), 0)];
    assert_eq!(breach(&notes), Some(Breach::Spurious));
    let again = told("/a", WRITTEN, 40);
    assert_eq!(breach(&[again.clone(), again, read(NOTHING, 0)]), Some(Breach::OutOfOrder));
}

#[test]
fn a_change_that_is_not_there_to_be_read_is_found() {
    let notes = [told("/a", WRITTEN, 40), read(written(3, 30), 0)];
    assert_eq!(breach(&notes), Some(Breach::Spurious));
}

#[test]
fn what_was_read_before_a_gap_and_is_told_after_it_is_found() {
    let notes = [
        read(written(3, 30), 0),
        Note::ChangesMissed,
        told("/a", WRITTEN, None),
        read(written(3, 30), 0),
    ];
    assert_eq!(breach(&notes), Some(Breach::Spurious));
}

#[test]
fn what_was_read_before_the_gap_is_shown_with_its_epoch() {
    let notes = [
        read(written(9, 0x3_0000_0005), 0),
        Note::ChangesMissed,
        read(written(7, 0x2_0000_0004), 0),
    ];
    let violation = check(&[view(WatchMode::Persistent, &notes)]).expect_err("the count went back");
    assert_eq!(violation.breach, Breach::Spurious);
    let text = violation.to_string();
    assert!(text.contains("before the gap"), "{text}");
    assert!(text.contains("data 9 by 0x300000005 (epoch 3)"), "{text}");
    let notes = [read(written(9, 5), 0), read(written(7, 4), 0)];
    let violation = check(&[view(WatchMode::Persistent, &notes)]).expect_err("the count went back");
    assert!(violation.to_string().ends_with("not read before a gap"), "{violation}");
}

#[test]
fn a_gap_that_is_not_reported_is_found_and_one_that_is_is_none() {
    let before = [told("/a", WRITTEN, 30), read(written(3, 30), 0)];
    let after = [told("/a", WRITTEN, 60), read(written(6, 60), 0)];
    assert_eq!(breach(&[&before[..], &after[..]].concat()), Some(Breach::Untold));
    let gap = [Note::ChangesMissed];
    assert_eq!(breach(&[&before[..], &gap[..], &after[..]].concat()), None);
    // A read that was asked for before the gap tells nothing about what is behind it.
    let late = [read(written(5, 50), 1)];
    assert_eq!(breach(&[&before[..], &gap[..], &late[..], &after[..]].concat()), None);
}

#[test]
fn the_children_of_a_tree_are_counted() {
    let tree = WatchMode::PersistentRecursive;
    let mut notes = vec![
        read(parent(0, 1), 0),
        told("/a/b", CREATED, 10),
        told("/a/b", DELETED, 20),
        told("/a/c/d", CREATED, 25),
        read(parent(2, 20), 0),
    ];
    assert_eq!(breach_by(tree, &notes), None);
    notes.remove(2);
    assert_eq!(breach_by(tree, &notes), Some(Breach::Untold));
    let notes = [
        read(parent(0, 1), 0),
        told("/a", EventType::NODE_CHILDREN_CHANGED, 10),
        read(parent(1, 10), 0),
    ];
    assert_eq!(breach(&notes), None);
}

#[test]
fn what_comes_and_goes_does_so_in_turn() {
    let (created, deleted) = (told("/a", CREATED, None), told("/a", DELETED, None));
    let fine = [read(NOTHING, 0), created.clone(), read(came(10), 0), deleted, read(NOTHING, 0)];
    assert_eq!(breach(&fine), None);
    assert_eq!(breach(&[read(NOTHING, 0), read(came(10), 0)]), Some(Breach::Untold));
    assert_eq!(breach(&[created.clone(), read(NOTHING, 0)]), Some(Breach::Untold));
    let twice = [created.clone(), created, read(came(10), 0)];
    assert_eq!(breach(&twice), Some(Breach::OutOfOrder));
    // Another one of that name.
    assert_eq!(breach(&[read(came(10), 0), read(came(30), 0)]), Some(Breach::Untold));
}

#[test]
fn an_event_of_another_watch_is_found() {
    let notes = [told("/ab", WRITTEN, 10)];
    assert_eq!(breach(&notes), Some(Breach::NotWatched));
    assert_eq!(breach_by(WatchMode::PersistentRecursive, &notes), Some(Breach::NotWatched));
}

#[test]
fn a_watch_is_lost_with_its_session_only() {
    let mut lost = view(WatchMode::Persistent, &[]);
    lost.ending = Ending::Lost { next: Some(1) };
    assert_eq!(check(&[lost.clone()]).map_err(|lost| lost.breach), Err(Breach::Lost));
    for next in [Some(2), None] {
        lost.ending = Ending::Lost { next };
        assert_eq!(check(&[lost.clone()]), Ok(()));
    }
}
