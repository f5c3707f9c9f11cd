//! A stream of what is configured.

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
use crate::broadcast::{Receiver, Sender};
use crate::client::{Client, Obstacle, OneshotWatch};
use crate::error::Error;

/// How long after one look for lost events the next one comes: servers drop that of a znode which the
/// client may not read.
const LOOK: Duration = Duration::from_secs(60);

/// The latest value of a configuration; made by [`Config::watch`](crate::Config::watch). Values come in
/// the order in which they were written, and the last one is true; a caller that is slow sees the
/// latest, not each. A deletion is seen, and what is created after it.
///
/// A [`Stream`] too. Dropping it takes the watch down.
#[must_use = "values are given to those that ask for them"]
pub struct ConfigWatch<T> {
    told: Receiver<Told>,
    task: AbortHandle,
    value: PhantomData<fn() -> T>,
}

#[derive(Clone, Debug)]
enum Told {
    Nothing,
    Read(Option<(Bytes, Stat)>),
    Failed(Error),
}

impl<T: ConfigValue> ConfigWatch<T> {
    pub(crate) fn begin(client: &Client, path: &str) -> Self {
        let sender = Sender::new(Told::Nothing);
        let told = sender.subscribe();
        let reader = Reader { client: client.clone(), path: path.to_owned(), sight: Sight::New };
        let task = tokio::spawn(async move {
            let last = reader.run(|read| show(&sender, Told::Read(read))).await;
            show(&sender, Told::Failed(last));
        });
        Self { told, task: task.abort_handle(), value: PhantomData }
    }

    /// Waits for what is configured: the first time as it is, then each time that it is something else.
    /// What cannot be decoded is told as that, and does not end the watch. `None` once it has failed.
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

fn configured<T: ConfigValue>(told: Option<Told>) -> Option<Result<Configured<T>, Error>> {
    match told? {
        Told::Nothing => None,
        Told::Read(read) => Some(Ok(Configured::of(read))),
        Told::Failed(error) => Some(Err(error)),
    }
}

fn show(sender: &Sender<Told>, told: Told) {
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

/// What was told last, and in which session it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    New,
    Seen {
        session: Option<SessionId>,
        /// The `mzxid`, if there was a znode.
        mzxid: Option<Zxid>,
    },
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
            // It may be that of a server that lags behind the session before.
            let Some((read, watch)) = read.filter(|_| session == self.client.session_id()) else {
                continue;
            };
            let mzxid = read.as_ref().map(|(_, stat)| stat.mzxid);
            let is_news = match self.sight {
                Sight::New => true,
                Sight::Seen { mzxid: seen, .. } => seen != mzxid,
            };
            self.sight = Sight::Seen { session, mzxid };
            if is_news {
                show(read);
            }
            // Fired or lost, or time to look: it is read again.
            let _ = timeout(LOOK, watch).await;
        }
    }

    /// Reads it with a watch; `None` where it was created in between. In another session than before,
    /// behind what a quorum commits: its server may have applied less than that of the one before.
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
