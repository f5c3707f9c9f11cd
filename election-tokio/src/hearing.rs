//! The watches of a task that keeps a view of several znodes, and its rare looks at what no watch reports.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use futures_core::Stream as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, Sleep, sleep};

use crate::client::{Client, OneshotWatch, PersistentWatch, WatchEvent, WatchLost, WatchUpdate};

/// The shortest pause between looks.
const LOOK: Duration = Duration::from_secs(60);

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

/// The moments of looks: once in 60 to 86 s, whatever else happens, and not at the same time for all clients.
pub(crate) struct Looks {
    client: Client,
    next: Pin<Box<Sleep>>,
}

impl Looks {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), next: Box::pin(sleep(pause(client))) }
    }

    /// Returns whether it is time for a look. Otherwise the task is woken when it is.
    pub(crate) fn are_due(&mut self, cx: &mut Context<'_>) -> bool {
        let is_due = self.next.as_mut().poll(cx).is_ready();
        if is_due {
            self.next.as_mut().reset(Instant::now() + pause(&self.client));
        }
        is_due
    }
}

fn pause(client: &Client) -> Duration {
    let jitter = client.shared().ids.draw::<1>().map_or(0, |[byte]| u64::from(byte));
    LOOK + Duration::from_millis(jitter * 100)
}
