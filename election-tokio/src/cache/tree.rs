//! What a caller has of a cache: the tree, and the streams of its changes.

use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use election_session::cache::{
    CacheChange, CacheData, CacheReader, CacheScope, CacheTracker, CacheWatching, CachedNode,
};
use futures_core::Stream;
use tokio::task::AbortHandle;
use zk_jute::{OpCode, Zxid};

use super::driver::{Driver, Kept};
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
    pub(super) fn begin(client: Client, root: String, scope: CacheScope, data: CacheData) -> Self {
        let tracker = CacheTracker::new(scope, data, CacheWatching::Persistent);
        let kept = Arc::new(Kept::new(tracker));
        let sender = Sender::new(News::More);
        let news = sender.subscribe();
        let driver = Driver::new(client, root.clone(), data, Arc::clone(&kept));
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

    /// Looks at the tree, which stands still meanwhile: it should not take long.
    pub fn read<T>(&self, look: impl FnOnce(&CacheView<'_>) -> T) -> T {
        look(&CacheView(&self.kept.lock()))
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

/// The tree, for as long as [`CachedTree::read`] looks at it.
pub struct CacheView<'a>(&'a CacheTracker);

impl CacheView<'_> {
    /// Returns the zxid at which the tree is the server's. `None` while changes are being read:
    /// then each znode is as it was at some moment, but not all at the same.
    pub fn current(&self) -> Option<Zxid> {
        self.0.current()
    }

    /// Returns a znode.
    pub fn get(&self, path: &str) -> Option<&Arc<CachedNode>> {
        self.0.get(path)
    }

    /// Returns the names of a znode's children, in their order.
    pub fn children(&self, path: &str) -> Vec<String> {
        self.0.children(path)
    }

    /// Returns all znodes, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<CachedNode>)> {
        self.0.iter()
    }

    /// Returns the paths of znodes that the client may not read, or whose data is longer than it
    /// keeps ([`ClientBuilder::max_reply`](crate::ClientBuilder::max_reply)). They are not in the
    /// tree, and nothing below them is. Each minute the cache tries again.
    pub fn unreadable(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.unreadable()
    }
}

impl fmt::Debug for CacheView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheView").field("current", &self.current()).finish_non_exhaustive()
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
