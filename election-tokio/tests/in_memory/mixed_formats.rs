//! Locks of two formats at one node: no two of them wait for each other.

use core::pin::Pin;
use core::time::Duration;

use election_tokio::format::Format;
use election_tokio::lock::{Access, Lock, LockError, LockGuard};
use election_tokio::{Client, CreateMode};
use tokio::time::timeout;

use crate::server::{Server, settle, wait};
use crate::spans::Journal;

const LOCK: &str = "/deep/lock";

/// The formats in which `zkelect lock` holds locks.
const LOCKS: [Format; 5] = [
    Format::curator_read_write(),
    Format::curator_lock(),
    Format::kazoo(),
    Format::go_zookeeper(),
    Format::zookeeper_write_lock(),
];

type Waiting<'a> = Pin<Box<dyn Future<Output = Result<LockGuard, LockError>> + 'a>>;

/// Gives what a wait comes to: each has looked several times by then.
async fn outcome(waiting: &mut Waiting<'_>) -> Option<Result<LockGuard, LockError>> {
    timeout(Duration::from_secs(400), waiting).await.ok()
}

/// Whether contenders of the one format wait for those of the other, by the names.
fn sees(one: Format, other: Format) -> bool {
    let layout = other.layout();
    let label = layout.label(Access::Exclusive).unwrap();
    let name = format!("{}id{}{label}0000000000", layout.start, layout.separator);
    one.rival(Access::Exclusive, &name).is_some()
}

fn is_refused(refused: Option<Result<LockGuard, LockError>>, own: Format, by: Format) {
    let Some(Err(LockError::OtherFormat { path, other, format })) = refused else {
        panic!("{own:?} beside {by:?}: {refused:?}");
    };
    assert_eq!((path.as_str(), format), (LOCK, own));
    assert!(by.parse(&other).is_ok(), "{by:?}: {other}");
}

/// Both have created their znodes before either lists them.
#[tokio::test(start_paused = true)]
async fn locks_of_two_formats_do_not_wait_for_each_other() {
    for first in LOCKS {
        for second in LOCKS.into_iter().filter(|second| *second != first) {
            let server = Server::new();
            let (one, other) = (server.client().await, server.client().await);
            for node in ["/deep", LOCK] {
                one.create(node, "", CreateMode::Persistent).await.unwrap();
            }
            let (early, late) = (one.lock(LOCK).format(first), other.lock(LOCK).format(second));
            let mut early: Waiting<'_> = Box::pin(early.lock());
            let mut late: Waiting<'_> = Box::pin(late.lock());
            let (held, refused) = tokio::join!(outcome(&mut early), outcome(&mut late));
            match (sees(first, second), sees(second, first)) {
                // Each sees the other: it is one lock.
                (true, true) => {
                    assert!(refused.is_none(), "{refused:?}");
                    held.unwrap().unwrap().release().await.unwrap();
                    drop(outcome(&mut late).await.unwrap().unwrap());
                }
                // The later one waits for the earlier one by its rule: the earlier one must not wait for it.
                (false, true) => {
                    is_refused(held, first, second);
                    drop(refused.unwrap().unwrap());
                }
                (_, false) => {
                    is_refused(refused, second, first);
                    drop(held.unwrap().unwrap());
                }
            }
        }
    }
}

/// What `zkelect lock` and `zkelect lock --shared` contend for by default is in this format, too.
#[tokio::test(start_paused = true)]
async fn the_locks_of_one_path_are_one_lock() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let held = one.lock(LOCK).lock().await.unwrap();
    assert!(Format::curator_read_write().parse(&held.znode().text()).is_ok());
    let ways: [fn(&Client) -> Lock; 3] = [
        |client| client.lock(LOCK),
        |client| client.write_lock(LOCK),
        |client| client.read_lock(LOCK),
    ];
    for way in ways {
        assert!(way(&other).try_lock().await.unwrap().is_none(), "it is held");
    }
    held.release().await.unwrap();
    let read = other.read_lock(LOCK).lock().await.unwrap();
    assert!(one.lock(LOCK).try_lock().await.unwrap().is_none(), "a reader holds it");
    read.release().await.unwrap();
    assert!(one.lock(LOCK).try_lock().await.unwrap().is_some());
}

/// Contenders of one format that were there first go on undisturbed, and
/// what is refused leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn one_of_another_format_disturbs_no_contender_that_was_there() {
    let server = Server::new();
    let (one, two, other) = (server.client().await, server.client().await, server.client().await);
    let held = one.lock(LOCK).lock().await.unwrap();
    let next = two.lock(LOCK);
    let mut next: Waiting<'_> = Box::pin(next.lock());
    assert!(timeout(Duration::from_millis(10), &mut next).await.is_err());
    let wrong = other.lock(LOCK).format(Format::kazoo());
    let (journal, _guard) = Journal::begin();
    for refused in [wrong.lock().await.map(Some), wrong.try_lock().await] {
        let error = refused.unwrap_err();
        assert!(matches!(error, LockError::OtherFormat { .. }), "{error}");
        let znode = held.znode().to_string();
        assert!(error.to_string().contains(&znode), "{error} names {znode}");
    }
    assert_eq!(journal.of("event a sequential znode of another format").len(), 2);
    settle().await;
    assert_eq!(server.children(LOCK).len(), 2, "its znodes are gone");
    held.release().await.unwrap();
    let next = outcome(&mut next).await.unwrap().unwrap();
    wait(200).await;
    assert!(next.is_valid());
}
