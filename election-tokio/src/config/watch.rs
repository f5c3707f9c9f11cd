//! A stream of a configuration's values.

use core::fmt;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use zk_jute::records::Stat;
use zk_jute::{SessionId, Zxid};

use super::value::{ConfigValue, Configured};
use crate::Error;
use crate::broadcast::{Receiver, Sender};
use crate::client::{Client, Obstacle, OneshotWatch};

/// The pause between looks for lost events: servers drop the event of a znode that the client may
/// not read.
const LOOK: Duration = Duration::from_secs(60);

/// The latest value of a configuration; made by [`Config::watch`](crate::config::Config::watch). Values
/// come in the order in which they were written, and the last one is true. A slow caller sees the
/// latest value, not each. Deletions are seen, and so is a znode that is created afterwards.
///
/// It is also a [`Stream`]. Dropping it removes the watch.
#[must_use = "values are given to those that ask for them"]
pub struct ConfigWatch<T> {
    told: Receiver<LastRead>,
    task: AbortHandle,
    value: PhantomData<fn() -> T>,
}

#[derive(Clone, Debug)]
enum LastRead {
    Nothing,
    Read(Option<(Bytes, Stat)>),
    Failed(Error),
}

impl<T: ConfigValue> ConfigWatch<T> {
    pub(crate) fn begin(client: &Client, path: &str) -> Self {
        let sender = Sender::new(LastRead::Nothing);
        let told = sender.subscribe();
        let reader = Reader { client: client.clone(), path: path.to_owned(), sight: Sight::New };
        let task = tokio::spawn(async move {
            let last = reader.run(|read| show(&sender, LastRead::Read(read))).await;
            show(&sender, LastRead::Failed(last));
        });
        Self { told, task: task.abort_handle(), value: PhantomData }
    }

    /// Waits for the value: the first time for the present one, then for each change. A value that
    /// cannot be decoded is reported, and does not end the watch. Returns `None` once the watch has
    /// failed.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// Once, and last: the client is closed, the path invalid, or the znode may not be read.
    pub async fn next(&mut self) -> Option<Result<Configured<T>, Error>> {
        configured(self.told.next().await)
    }
}

fn configured<T: ConfigValue>(told: Option<LastRead>) -> Option<Result<Configured<T>, Error>> {
    match told? {
        LastRead::Nothing => None,
        LastRead::Read(read) => Some(Ok(Configured::of(read))),
        LastRead::Failed(error) => Some(Err(error)),
    }
}

fn show(sender: &Sender<LastRead>, told: LastRead) {
    let mut wakers = Vec::new();
    let before = sender.set(told, &mut wakers);
    drop(before);
    wakers.into_iter().for_each(Waker::wake);
}

impl<T: ConfigValue> Stream for ConfigWatch<T> {
    type Item = Result<Configured<T>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.told.poll_next(cx).map(configured)
    }
}

impl<T> Drop for ConfigWatch<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T> fmt::Debug for ConfigWatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigWatch").finish_non_exhaustive()
    }
}

/// The last report, and the session in which it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    New,
    Seen {
        session: Option<SessionId>,
        /// The last write, if there was a znode.
        write: Option<Write>,
    },
}

/// A write of the znode. An ensemble that was restored from a copy gives the `mzxid` again to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Write {
    mzxid: Zxid,
    mtime: i64,
}

struct Reader {
    client: Client,
    path: String,
    sight: Sight,
}

impl Reader {
    /// Runs until something fails for good.
    async fn run(mut self, mut show: impl FnMut(Option<(Bytes, Stat)>) + Send) -> Error {
        loop {
            let session = self.client.session_id();
            let read = match self.read(session).await {
                Ok(read) => read,
                Err(error) => match Obstacle::of(&error) {
                    Some(obstacle) => {
                        self.client.pass(obstacle).await;
                        continue;
                    }
                    None => return error,
                },
            };
            // The reply may be that of a server behind the one of the last session.
            let Some((read, watch)) = read.filter(|_| session == self.client.session_id()) else {
                continue;
            };
            let write =
                read.as_ref().map(|(_, stat)| Write { mzxid: stat.mzxid, mtime: stat.mtime });
            let is_news = match self.sight {
                Sight::New => true,
                Sight::Seen { write: seen, .. } => seen != write,
            };
            self.sight = Sight::Seen { session, write };
            if is_news {
                show(read);
            }
            // It fired or was lost, or it is time to look: read again.
            let _ = timeout(LOOK, watch).await;
        }
    }

    /// Reads the value with a watch; `None` if it was created in between. In another session than
    /// before it first has a quorum commit something, because the server may have applied less than
    /// the last one.
    async fn read(
        &self,
        session: Option<SessionId>,
    ) -> Result<Option<(Option<(Bytes, Stat)>, OneshotWatch)>, Error> {
        if let Sight::Seen { session: seen, .. } = self.sight
            && seen != session
        {
            self.client.commit_nothing().await?;
        }
        match self.client.get_data_and_watch(&self.path).await {
            Ok((data, stat, watch)) => Ok(Some((Some((data, stat)), watch))),
            Err(error) if error.is_no_node() => {
                let (stat, watch) = self.client.exists_and_watch(&self.path).await?;
                Ok(stat.is_none().then_some((None, watch)))
            }
            Err(error) => Err(error),
        }
    }
}
