//! An ensemble that has lost its data: to its clients it is another one, which gives zxids that they have seen before.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use election_tokio::config::Configured;
use election_tokio::group::MemberData;
use election_tokio::source::ServerAddress;
use election_tokio::transport::{Connecting, Connector};
use election_tokio::{Client, Version};
use tokio::time::timeout;
use zk_jute::records::CreateMode;

use crate::server::{Server, wait};
use crate::spans::Journal;

const ELECTION: &str = "/election";
const ROOT: &str = "/root";
/// Longer than a client takes to give its session up, and to look.
const PATIENCE: Duration = Duration::from_secs(600);

/// The way to an ensemble, which is another one after a while.
#[derive(Clone, Debug)]
struct Ensemble(Arc<Mutex<Server>>);

impl Connector for Ensemble {
    fn connect<'a>(&'a self, address: &'a ServerAddress) -> Connecting<'a> {
        let server = self.0.lock().unwrap().clone();
        Box::pin(async move { server.connect(address).await })
    }
}

/// Makes two servers that gave the same zxids to other transactions. Below the root both have `a`, with other data; one
/// has `b`, and the other `c`.
async fn two_ensembles() -> [Server; 2] {
    let [before, after] = [Server::new(), Server::new()];
    for (server, own, data) in [(&before, "/root/b", "old"), (&after, "/root/c", "new")] {
        let raw = server.raw();
        for path in [ROOT, "/root/a", own] {
            raw.create(path, CreateMode::PERSISTENT).unwrap();
        }
        raw.set_data("/root/a", data.as_bytes()).unwrap();
        // What comes later has other times.
        wait(1).await;
    }
    [before, after]
}

/// Returns a client of the first server that has seen more than the second one has.
async fn connect(before: &Server) -> (Ensemble, Client) {
    let ensemble = Ensemble(Arc::new(Mutex::new(before.clone())));
    let client = Client::builder("in-memory").connector(ensemble.clone()).connect().await.unwrap();
    client.create("/other", "", election_tokio::CreateMode::Persistent).await.unwrap();
    for _ in 0..20 {
        client.set_data("/other", "", Version::ANY).await.unwrap();
    }
    (ensemble, client)
}

impl Ensemble {
    fn become_another(&self, after: &Server) {
        let before = core::mem::replace(&mut *self.0.lock().unwrap(), after.clone());
        before.cut();
    }
}

#[tokio::test(start_paused = true)]
async fn a_loss_is_warned_of_once() {
    let (journal, _guard) = Journal::begin();
    let [before, after] = two_ensembles().await;
    let (ensemble, client) = connect(&before).await;
    let mut rollbacks = client.rollback_updates();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let token = nomination.elected().await.unwrap().token();
    ensemble.become_another(&after);
    let told = timeout(PATIENCE, rollbacks.next()).await.expect("the client reports the loss");
    let rollback = told.flatten().unwrap();
    assert!(rollback.seen.get() >= token.get() && rollback.written < rollback.seen);
    assert_eq!(client.rollback(), Some(rollback));

    // The next session finds nothing lost.
    nomination.elected().await.unwrap();
    after.expire();
    after.cut();
    wait(60).await;
    nomination.elected().await.unwrap();
    let warned = journal.of("event the ensemble has lost transactions");
    let [line] = warned.as_slice() else { panic!("{warned:?}") };
    for word in [format!("seen={}", rollback.seen), format!("written={}", rollback.written)] {
        assert!(line.contains(&word), "{word}: {line}");
    }
    assert!(!rollbacks.has_changed());
}

#[tokio::test(start_paused = true)]
async fn a_watched_value_is_that_of_the_other_ensemble() {
    let [before, after] = two_ensembles().await;
    let (ensemble, client) = connect(&before).await;
    let mut watch = client.config::<String>("/root/a").watch();
    let value = |configured: Configured<String>| configured.value().cloned();
    assert_eq!(value(watch.next().await.unwrap().unwrap()).as_deref(), Some("old"));
    ensemble.become_another(&after);
    let next = timeout(PATIENCE, watch.next()).await.expect("the watch yields the other value");
    assert_eq!(value(next.unwrap().unwrap()).as_deref(), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn a_cached_tree_is_that_of_the_other_ensemble() {
    let [before, after] = two_ensembles().await;
    let (ensemble, client) = connect(&before).await;
    let cache = client.cache(ROOT).keep().unwrap();
    cache.current().await.unwrap();
    ensemble.become_another(&after);
    wait(60).await;
    cache.current().await.unwrap();
    let tree = cache.snapshot();
    let tree = tree.iter().map(|(path, node)| (path, node.data.as_deref().unwrap_or_default()));
    let expected: [(&str, &[u8]); 3] = [(ROOT, b""), ("/root/a", b"new"), ("/root/c", b"")];
    assert_eq!(tree.collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_watched_group_is_that_of_the_other_ensemble() {
    let [before, after] = two_ensembles().await;
    let (ensemble, client) = connect(&before).await;
    let mut watch = client.group(ROOT).watch();
    assert_eq!(watch.next().await.unwrap().unwrap().members.len(), 2);
    ensemble.become_another(&after);
    let next = timeout(PATIENCE, watch.next()).await.expect("the watch yields the other members");
    let view = next.unwrap().unwrap();
    let names: Vec<_> = view.members.keys().map(|name| &**name).collect();
    assert_eq!(names, ["a", "c"]);
    assert!(matches!(&view.members["a"].data, MemberData::Is(data) if *data == "new"));
}
