//! What a caller has of a cache: the tree, and the streams of its changes.

use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use election_session::TrackerWatches;
use election_session::cache::{
    CacheChange, CacheData, CacheReader, CacheScope, CacheTracker, CachedNode,
};
use futures_core::Stream;
use tokio::task::AbortHandle;
use zk_jute::{OpCode, Zxid};

use super::driver::{Driver, Filter, Kept};
use crate::broadcast::{Receiver, Sender};
use crate::client::Client;
use crate::{Error, ErrorKind};

/// The last report of the driver.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// There may be changes.
    More,
    Failed(Error),
}

/// A tree in memory, kept as the server has it; made by [`Cache::keep`](crate::cache::Cache::keep).
/// Dropping it ends the cache and its streams, and removes the watches.
#[must_use = "dropping it ends the cache"]
pub struct CachedTree {
    root: String,
    kept: Arc<Kept>,
    news: Receiver<News>,
    task: AbortHandle,
}

impl CachedTree {
    pub(super) fn begin(
        client: Client,
        scope: CacheScope,
        (root, data, filter): (String, CacheData, Filter),
    ) -> Self {
        let tracker = CacheTracker::new(scope, data, TrackerWatches::Persistent);
        let kept = Arc::new(Kept::new(tracker));
        let sender = Sender::new(News::More);
        let news = sender.subscribe();
        let driver = Driver::new(client, (root.clone(), data, filter), Arc::clone(&kept));
        let task = tokio::spawn(async move {
            let last = driver.run(|| show(&sender, News::More)).await;
            show(&sender, News::Failed(last));
        });
        Self { root, kept, news, task: task.abort_handle() }
    }

    /// Returns the path of the root.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Waits until the tree is the server's, and returns the zxid of which it is; at once if it is now.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// The error that ended the cache: the client is closed, or a list of children is longer than
    /// the client keeps ([`ErrorKind::ReplyTooLarge`]).
    pub async fn current(&self) -> Result<Zxid, Error> {
        let mut news = self.news.clone();
        loop {
            if let News::Failed(error) = news.latest() {
                return Err(error);
            }
            let current = self.kept.lock().current();
            if let Some(zxid) = current {
                return Ok(zxid);
            }
            if news.next().await.is_none() {
                return Err(closed(&self.root));
            }
        }
    }

    /// Returns a znode of the tree.
    pub fn get(&self, path: &str) -> Option<Arc<CachedNode>> {
        self.kept.lock().get(path).cloned()
    }

    /// Returns the names of a znode's children in the tree, in their order.
    pub fn children(&self, path: &str) -> Vec<String> {
        self.kept.lock().children(path)
    }

    /// Returns the whole tree as it is at this moment. It shares the znodes with the cache, and takes time and
    /// memory by their number (two pointers each).
    pub fn snapshot(&self) -> CacheSnapshot {
        let tracker = self.kept.lock();
        let nodes = tracker.iter().map(|(path, node)| (Arc::clone(path), Arc::clone(node)));
        CacheSnapshot {
            current: tracker.current(),
            nodes: nodes.collect(),
            unreadable: tracker.unreadable().cloned().collect(),
        }
    }

    /// Returns a stream of changes. At first all of the tree is new, in the order of paths.
    pub fn changes(&self) -> CacheChanges {
        let reader = self.kept.lock().open_reader();
        CacheChanges {
            root: self.root.clone(),
            reader,
            kept: Arc::clone(&self.kept),
            news: self.news.clone(),
        }
    }
}

impl Drop for CachedTree {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for CachedTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedTree").field("root", &self.root).finish_non_exhaustive()
    }
}

/// A cached tree as it was at one moment; made by [`CachedTree::snapshot`].
#[derive(Clone)]
pub struct CacheSnapshot {
    current: Option<Zxid>,
    /// In the order of the paths.
    nodes: Vec<(Arc<str>, Arc<CachedNode>)>,
    unreadable: Vec<Arc<str>>,
}

impl CacheSnapshot {
    /// Returns the zxid at which the server's tree was this one. `None` if changes were being read:
    /// then each znode is as it was at some moment, but not all at the same.
    pub const fn current(&self) -> Option<Zxid> {
        self.current
    }

    /// Returns a znode.
    pub fn get(&self, path: &str) -> Option<&Arc<CachedNode>> {
        let found = self.nodes.binary_search_by(|(known, _)| (**known).cmp(path)).ok()?;
        self.nodes.get(found).map(|(_, node)| node)
    }

    /// Returns all znodes, in the order of their paths.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Arc<CachedNode>)> {
        self.nodes.iter().map(|(path, node)| (&**path, node))
    }

    /// Returns the paths of znodes that the client may not read, or whose data is longer than it
    /// keeps ([`ClientBuilder::max_reply`](crate::ClientBuilder::max_reply)). They are not in the
    /// tree, and nothing below them is. Each minute the cache tries again.
    pub fn unreadable(&self) -> impl ExactSizeIterator<Item = &str> {
        self.unreadable.iter().map(|path| &**path)
    }
}

impl fmt::Debug for CacheSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { current, nodes, .. } = self;
        let mut shown = f.debug_struct("CacheSnapshot");
        shown.field("current", current).field("znodes", &nodes.len()).finish_non_exhaustive()
    }
}

/// The changes of a cached tree; made by [`CachedTree::changes`]. Each is the difference between
/// what this stream has yielded and the tree: nothing is yielded twice and nothing is lost, and a
/// reader that is slow gets several changes of one znode as one.
/// [`Current`](CacheChange::Current) follows when all that was yielded is the server's tree at that
/// zxid.
///
/// It is also a [`Stream`].
#[must_use = "changes are given to those that ask for them"]
pub struct CacheChanges {
    root: String,
    reader: CacheReader,
    kept: Arc<Kept>,
    news: Receiver<News>,
}

impl CacheChanges {
    /// Waits for the next change. Returns `None` after an error, and once the [`CachedTree`] was
    /// dropped.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// Once, and last: those of [`CachedTree::current`].
    pub async fn next(&mut self) -> Option<Result<CacheChange, Error>> {
        poll_fn(|cx| self.poll_change(cx)).await
    }

    fn poll_change(&mut self, cx: &Context<'_>) -> Poll<Option<Result<CacheChange, Error>>> {
        loop {
            if let Some(change) = self.kept.lock().poll_change(self.reader) {
                return Poll::Ready(Some(Ok(change)));
            }
            match core::task::ready!(self.news.poll_next(cx)) {
                Some(News::More) => {}
                Some(News::Failed(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Stream for CacheChanges {
    type Item = Result<CacheChange, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_change(cx)
    }
}

impl Drop for CacheChanges {
    fn drop(&mut self) {
        self.kept.lock().close_reader(self.reader);
    }
}

impl fmt::Debug for CacheChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheChanges").field("root", &self.root).finish_non_exhaustive()
    }
}

fn closed(root: &str) -> Error {
    Error::new(OpCode::ADD_WATCH, root, ErrorKind::Closed)
}

fn show(sender: &Sender<News>, news: News) {
    let mut wakers = Vec::new();
    let before = sender.set(news, &mut wakers);
    drop(before);
    wakers.into_iter().for_each(Waker::wake);
}
