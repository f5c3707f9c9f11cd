//! A stream of views of a group.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use election_session::{GroupFormat, GroupSnapshot, GroupView};
use futures_core::Stream;
use tokio::task::AbortHandle;

use super::driver::Driver;
use crate::Error;
use crate::broadcast::{Receiver, Sender};
use crate::client::Client;

/// The last report of the driver.
#[derive(Clone, Debug)]
pub(super) enum LastView {
    Nothing,
    Snapshot(GroupSnapshot),
    Failed(Error),
}

/// Views of a group; made by [`Group::watch`](crate::group::Group::watch). Each was true at one moment,
/// they come in order, and the last one is true. A slow caller gets the newest view, compared with
/// the last one that it got.
///
/// It is also a [`Stream`]. Dropping it removes the watches.
#[must_use = "views are given to those that ask for them"]
pub struct GroupWatch {
    told: Receiver<LastView>,
    before: Option<GroupSnapshot>,
    task: AbortHandle,
}

impl GroupWatch {
    pub(super) fn begin(client: &Client, path: &str, format: GroupFormat) -> Self {
        let sender = Sender::new(LastView::Nothing);
        let told = sender.subscribe();
        let driver = Driver::new(client.clone(), path, format);
        let task = tokio::spawn(async move {
            let last = driver.run(|snapshot| show(&sender, LastView::Snapshot(snapshot))).await;
            show(&sender, LastView::Failed(last));
        });
        Self { told, before: None, task: task.abort_handle() }
    }

    /// Waits for the next view: the first at once, then one for each change. Returns `None` once
    /// the watch has failed.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// Once, and last: the client is closed, the path invalid, or the group may not be listed.
    pub async fn next(&mut self) -> Option<Result<GroupView, Error>> {
        let told = self.told.next().await;
        self.view(told)
    }

    fn view(&mut self, told: Option<LastView>) -> Option<Result<GroupView, Error>> {
        match told? {
            LastView::Nothing => None,
            LastView::Snapshot(snapshot) => {
                let view = snapshot.since(self.before.as_ref());
                self.before = Some(snapshot);
                Some(Ok(view))
            }
            LastView::Failed(error) => Some(Err(error)),
        }
    }
}

fn show(sender: &Sender<LastView>, told: LastView) {
    let mut wakers = Vec::new();
    let before = sender.set(told, &mut wakers);
    drop(before);
    wakers.into_iter().for_each(Waker::wake);
}

impl Stream for GroupWatch {
    type Item = Result<GroupView, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.told.poll_next(cx).map(|told| self.view(told))
    }
}

impl fmt::Debug for GroupWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupWatch").field("before", &self.before).finish_non_exhaustive()
    }
}

impl Drop for GroupWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
