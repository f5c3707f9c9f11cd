//! The watches of a task that keeps a view of several znodes.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream as _;
use futures_util::stream::FuturesUnordered;

use crate::client::{OneshotWatch, PersistentWatch, WatchEvent, WatchLost, WatchUpdate};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A report of a watch.
pub(crate) enum Heard {
    Changed(String, WatchEvent),
    Missed,
    Lost,
}

/// One persistent watch, or one-shot watches by path.
pub(crate) struct Hearing {
    tree: Option<PersistentWatch>,
    oneshots: FuturesUnordered<Boxed<(String, Result<WatchEvent, WatchLost>)>>,
}

impl Hearing {
    pub(crate) fn new() -> Self {
        Self { tree: None, oneshots: FuturesUnordered::new() }
    }

    pub(crate) fn keep_tree(&mut self, watch: PersistentWatch) {
        self.tree = Some(watch);
    }

    pub(crate) fn keep(&mut self, path: String, watch: OneshotWatch) {
        self.oneshots.push(Box::pin(async move { (path, watch.await) }));
    }

    /// Returns the reports so far: all that came before the replies that were taken out before.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Vec<Heard> {
        let mut heard = Vec::new();
        while let Some(tree) = &mut self.tree {
            match Pin::new(tree).poll_next(cx) {
                Poll::Ready(Some(Ok(WatchUpdate::Changed { path, event }))) => {
                    heard.push(Heard::Changed(path, event));
                }
                Poll::Ready(Some(Ok(WatchUpdate::ChangesMissed))) => heard.push(Heard::Missed),
                Poll::Ready(Some(Err(WatchLost)) | None) => {
                    self.tree = None;
                    heard.push(Heard::Lost);
                }
                Poll::Pending => break,
            }
        }
        while let Poll::Ready(Some((path, fired))) = Pin::new(&mut self.oneshots).poll_next(cx) {
            heard.push(match fired {
                Ok(event) => Heard::Changed(path, event),
                Err(WatchLost) => Heard::Lost,
            });
        }
        heard
    }
}
