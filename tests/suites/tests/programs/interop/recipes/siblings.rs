//! Queues that do not mix with ours: they are refused, by their names. And what claims are to others.

use zk_test_kit::failure::TestResult;
use zk_test_kit::server::ServerKind;

use super::pair::Pair;
use crate::interop::programs::Library;

pub(crate) fn queues_that_do_not_mix(server: ServerKind, library: Library) -> TestResult {
    let pair = &mut Pair::start(server, library)?;
    match library {
        Library::Curator | Library::Ours => beside_curator(pair),
        Library::Kazoo => beside_kazoo(pair),
    }
}

fn beside_curator(pair: &mut Pair) -> TestResult {
    pair.peer.run("distributed put /framed one")?;
    for verb in ["take", "drain", "claim"] {
        let why = pair.ours.fails(&format!("queue {verb} /framed"))?;
        assert!(why.contains("Curator's DistributedQueue"), "{verb}: {why}");
    }
    // It was left where it was, for Curator; which deletes what it cannot read.
    pair.ours.run("queue put /framed two")?;
    let consumed = pair.peer.begin("distributed consume /framed 1000")?;
    pair.peer.end(consumed)?;
    assert_eq!(pair.peer.items(consumed), ["one"]);
    let nothing = pair.ours.begin("queue drain /framed")?;
    pair.ours.end(nothing)?;
    assert!(pair.ours.items(nothing).is_empty());

    pair.peer.run("priority put /priority one 5")?;
    let why = pair.ours.fails("queue take /priority")?;
    assert!(why.contains("Curator's DistributedPriorityQueue"), "{why}");

    pair.peer.run("simple put /simple one")?;
    let why = pair.ours.fails("queue take /simple")?;
    assert!(why.contains("SimpleDistributedQueue"), "{why}");

    // A claim of ours keeps theirs from the item: they fail, and go on once it is done.
    for recipe in ["simple", "zookeeper"] {
        let path = format!("/{recipe}-claimed");
        pair.peer.run(&format!("{recipe} put {path} one"))?;
        pair.peer.run(&format!("{recipe} put {path} two"))?;
        assert_eq!(pair.ours.run(&format!("qn claim {path}"))?, "one");
        let why = pair.peer.fails(&format!("{recipe} poll {path}"))?;
        assert!(why.contains("NotEmpty"), "{recipe}: {why}");
        pair.ours.run(&format!("qn done {path}"))?;
        assert_eq!(pair.peer.run(&format!("{recipe} poll {path}"))?, "two");
        assert_eq!(pair.peer.run(&format!("{recipe} poll {path}"))?, "nothing");
    }
    Ok(())
}

fn beside_kazoo(pair: &mut Pair) -> TestResult {
    // Ours put, and theirs take.
    pair.ours.run("kazoo put /locking/entries two 7")?;
    pair.peer.run("locking put /locking three 8")?;
    pair.peer.run("locking put /locking one 6")?;
    for item in ["one", "two", "three"] {
        assert_eq!(pair.peer.run("locking claim /locking")?, item);
        for path in ["/locking", "/locking/entries"] {
            let why = pair.ours.fails(&format!("kazoo take {path}"))?;
            assert!(why.contains("kazoo's LockingQueue"), "{path}: {why}");
        }
        pair.peer.run("locking done /locking")?;
    }
    pair.peer.run("queue put /plain one")?;
    let why = pair.ours.fails("queue take /plain")?;
    assert!(why.contains("kazoo's Queue"), "{why}");

    // Priorities are in one order.
    for (side, item, priority) in
        [("ours", "c", 200), ("peer", "b", 99), ("ours", "a", 7), ("peer", "d", 999)]
    {
        let participant = if side == "ours" { &mut pair.ours } else { &mut pair.peer };
        let recipe = if side == "ours" { "kazoo" } else { "queue" };
        participant.run(&format!("{recipe} put /ordered {item} {priority}"))?;
    }
    assert_eq!(pair.peer.run("queue poll /ordered")?, "a");
    assert_eq!(pair.ours.run("kazoo take /ordered")?, "b");
    assert_eq!(pair.peer.run("queue poll /ordered")?, "c");
    let why = pair.ours.fails("kazoo claim /ordered")?;
    assert!(why.contains("claim"), "{why}");
    assert_eq!(pair.peer.run("queue poll /ordered")?, "d");
    Ok(())
}
