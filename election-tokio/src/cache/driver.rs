//! Makes the requests of a cache, and reports their outcomes.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use election_session::TrackerWatches;
use election_session::cache::{CacheData, CacheQuestion, CacheRead, CacheRequest, CacheTracker};
use futures_core::Stream as _;
use futures_util::stream::FuturesUnordered;
use zk_jute::records::{EventType, Stat};
use zk_jute::{SessionId, Zxid};
use zk_session::WatchMode;

use crate::client::{
    Children, Client, Leaves, Obstacle, OneshotWatch, PersistentWatch, ReadOutcome, Stamped,
};
use crate::hearing::{Heard, Hearing, Looks};
use crate::path::child_path;
use crate::telemetry::work_metrics::CacheMeter;
use crate::{Error, ErrorKind};

/// The most requests in flight.
const WINDOW: usize = 64;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Whether a path is kept, and what stands below it.
pub(super) type Filter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The tracker, which the driver and the callers use in turn.
pub(super) struct Kept(Mutex<CacheTracker>);

impl Kept {
    pub(super) const fn new(tracker: CacheTracker) -> Self {
        Self(Mutex::new(tracker))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CacheTracker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of a request.
enum CacheAnswer {
    Watch(PersistentWatch),
    /// The zxid of a reply in which nothing else counts.
    Zxid(Zxid),
    Read(CacheRead, Option<Zxid>),
    Reads(Vec<CacheRead>, Zxid),
    List(Children, Zxid),
    Unlisted,
    /// The request has to be made again.
    Again,
}

struct Answered {
    request: CacheRequest,
    answer: Result<CacheAnswer, Error>,
    /// The watched path, and the watch.
    watch: Option<(String, OneshotWatch)>,
}

pub(super) struct Driver {
    client: Client,
    root: String,
    data: CacheData,
    filter: Filter,
    kept: Arc<Kept>,
    pending: FuturesUnordered<Boxed<Answered>>,
    hearing: Hearing,
    looks: Looks,
    session: Option<SessionId>,
    meter: CacheMeter,
}

impl Driver {
    pub(super) fn new(
        client: Client,
        (root, data, filter): (String, CacheData, Filter),
        kept: Arc<Kept>,
    ) -> Self {
        let (pending, hearing) = (FuturesUnordered::new(), Hearing::new());
        let looks = Looks::new(&client);
        Self {
            client,
            root,
            data,
            filter,
            kept,
            pending,
            hearing,
            looks,
            session: None,
            meter: CacheMeter::start(),
        }
    }

    /// Runs until something fails for good. Calls `show` when the tree may have changed.
    pub(super) async fn run(mut self, mut show: impl FnMut() + Send) -> Error {
        loop {
            if let Err(error) = self.turn().await {
                return error;
            }
            let (counts, current) = {
                let tracker = self.kept.lock();
                (tracker.counts(), tracker.current())
            };
            self.meter.look(counts, current.is_some());
            show();
        }
    }

    async fn turn(&mut self) -> Result<(), Error> {
        self.submit();
        let (answers, heard) = poll_fn(|cx| {
            // The events of watches after the answers: so none that came before an answer is left.
            let answers = self.answers(cx);
            let heard = self.hearing.poll(cx);
            let is_time_to_look = self.looks.are_due(cx);
            if is_time_to_look {
                self.kept.lock().look();
            }
            if is_time_to_look || !answers.is_empty() || !heard.is_empty() {
                return Poll::Ready((answers, heard));
            }
            Poll::Pending
        })
        .await;
        for heard in heard {
            self.hear(heard);
        }
        if self.is_session_new() {
            // Its server may be behind what the last one has shown.
            self.session_lost();
            return Ok(());
        }
        let mut obstacle = None;
        for Answered { request, answer, .. } in answers {
            match answer {
                Ok(answer) => self.take_in(&request, answer),
                Err(error) => obstacle = self.failed(&request, error)?.or(obstacle),
            }
        }
        if let Some(obstacle) = obstacle {
            let client = self.client.clone();
            client.pass(obstacle).await;
        }
        Ok(())
    }

    /// Returns the answers. From now on their watches are polled.
    fn answers(&mut self, cx: &mut Context<'_>) -> Vec<Answered> {
        let mut answers = Vec::new();
        while let Poll::Ready(Some(mut answered)) = Pin::new(&mut self.pending).poll_next(cx) {
            if let Some((path, watch)) = answered.watch.take() {
                self.hearing.keep(path, watch);
            }
            let Answered { request, answer, watch } = answered;
            let answer = match answer {
                Ok(CacheAnswer::Watch(tree)) => {
                    self.hearing.keep_tree(tree);
                    Ok(CacheAnswer::Zxid(Zxid::ZERO))
                }
                answer => answer,
            };
            answers.push(Answered { request, answer, watch });
        }
        answers
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Changed(path, event)
                if event.kind == EventType::NODE_CREATED && !self.keeps(&path) => {}
            Heard::Changed(path, event) => {
                self.kept.lock().handle_change(&path, event.kind, event.zxid);
            }
            Heard::Missed => {
                self.kept.lock().handle_missed();
                self.meter.gap("missed");
            }
            Heard::Lost => self.session_lost(),
        }
    }

    fn is_session_new(&self) -> bool {
        self.session.is_some() && self.session != self.client.session_id()
    }

    fn session_lost(&mut self) {
        self.hearing = Hearing::new();
        self.session = None;
        self.kept.lock().handle_watches_lost();
        self.meter.gap("lost");
    }

    /// Returns whether the filter keeps a znode. Not under the lock: the filter may use the cache.
    fn keeps(&self, path: &str) -> bool {
        path == self.root || (self.filter)(path)
    }

    fn take_in(&self, request: &CacheRequest, answer: CacheAnswer) {
        if let (CacheQuestion::List(path), CacheAnswer::List(names, zxid)) =
            (&request.question, &answer)
        {
            return self.take_in_list((request.ticket, path), names, *zxid);
        }
        let (ticket, mut tracker) = (request.ticket, self.kept.lock());
        match (&request.question, answer) {
            (CacheQuestion::Barrier, CacheAnswer::Zxid(zxid)) => {
                tracker.handle_barrier(ticket, zxid);
            }
            (CacheQuestion::AddWatch, CacheAnswer::Zxid(_)) => tracker.handle_watch_added(ticket),
            (CacheQuestion::Mark, CacheAnswer::Zxid(zxid)) => tracker.handle_mark(ticket, zxid),
            (CacheQuestion::Read(path), CacheAnswer::Read(read, zxid)) => {
                tracker.handle_read(ticket, path, read, zxid);
            }
            (CacheQuestion::ReadMany(paths), CacheAnswer::Reads(reads, zxid)) => {
                tracker.handle_reads(ticket, paths.iter().cloned().zip(reads), zxid);
            }
            (CacheQuestion::List(path), CacheAnswer::Unlisted) => {
                tracker.handle_unlisted(ticket, path);
            }
            (_, _) => tracker.handle_failed(request),
        }
    }

    fn take_in_list(&self, asked: (u64, &str), names: &Children, zxid: Zxid) {
        let kept = names.iter().filter(|name| self.keeps(&child_path(asked.1, name)));
        let kept: Vec<&str> = kept.collect();
        let zxids = (names.stat().pzxid, zxid);
        self.kept.lock().handle_list(asked, kept.into_iter(), zxids);
    }

    /// # Errors
    ///
    /// Errors that trying again does not repair.
    fn failed(&self, request: &CacheRequest, error: Error) -> Result<Option<Obstacle>, Error> {
        let (kind, obstacle) = (error.kind(), Obstacle::of(&error));
        let mut tracker = self.kept.lock();
        match (&request.question, kind) {
            (
                CacheQuestion::AddWatch | CacheQuestion::ReadMany(_),
                ErrorKind::Unsupported { .. },
            ) => tracker.handle_unsupported(request),
            (
                CacheQuestion::ReadMany(_),
                ErrorKind::ReplyTooLarge { .. } | ErrorKind::TooLarge { .. },
            ) => tracker.handle_too_large(request),
            (_, _) if obstacle.is_some() => tracker.handle_failed(request),
            (_, _) => return Err(error),
        }
        Ok(obstacle)
    }

    fn submit(&mut self) {
        if self.is_session_new() {
            self.session_lost();
        }
        if self.session.is_none() {
            self.session = self.client.session_id();
        }
        while self.pending.len() < WINDOW {
            let mut tracker = self.kept.lock();
            let Some(request) = tracker.poll_request() else {
                return;
            };
            let leaves = match tracker.watching() {
                TrackerWatches::Persistent => Leaves::Nothing,
                TrackerWatches::OneShot => Leaves::OneshotWatch,
            };
            drop(tracker);
            let asker = Asker { client: self.client.clone(), data: self.data, leaves };
            self.pending.push(asker.ask(self.root.clone(), request));
        }
    }
}

/// Makes one request.
struct Asker {
    client: Client,
    data: CacheData,
    leaves: Leaves,
}

impl Asker {
    fn ask(self, root: String, request: CacheRequest) -> Boxed<Answered> {
        Box::pin(async move {
            let mut watch = None;
            let answer = match &request.question {
                CacheQuestion::Barrier => self.client.commit_nothing().await.map(CacheAnswer::Zxid),
                CacheQuestion::AddWatch => {
                    let mode = WatchMode::PersistentRecursive;
                    self.client.add_watch(&root, mode).await.map(CacheAnswer::Watch)
                }
                CacheQuestion::Mark => self.client.stamped_sync(&root).await.map(CacheAnswer::Zxid),
                CacheQuestion::Read(path) => self.read(path, **path == *root, &mut watch).await,
                CacheQuestion::ReadMany(paths) => self.read_many(paths).await,
                CacheQuestion::List(path) => self.list(path, &mut watch).await,
            };
            Answered { request, answer, watch }
        })
    }

    async fn read(
        &self,
        path: &str,
        is_root: bool,
        watch: &mut Option<(String, OneshotWatch)>,
    ) -> Result<CacheAnswer, Error> {
        match self.stamped(path).await {
            Ok(Stamped { value: (data, stat), zxid, watch: left }) => {
                *watch = left.map(|left| (path.to_owned(), left));
                Ok(CacheAnswer::Read(CacheRead::Found(data, stat), Some(zxid)))
            }
            Err(error) if error.is_no_node() && is_root && self.leaves == Leaves::OneshotWatch => {
                let (stat, left) = self.client.exists_and_watch(path).await?;
                *watch = Some((path.to_owned(), left));
                // With a stat, it was created just now.
                Ok(stat.map_or(CacheAnswer::Read(CacheRead::Gone, None), |_| CacheAnswer::Again))
            }
            Err(error) => unread(error).map(|read| CacheAnswer::Read(read, None)),
        }
    }

    async fn stamped(&self, path: &str) -> Result<Stamped<(Bytes, Stat)>, Error> {
        match self.data {
            CacheData::Kept => self.client.stamped_data(path, self.leaves).await,
            CacheData::Left => {
                let Stamped { value, zxid, watch } =
                    self.client.stamped_stat(path, self.leaves).await?;
                Ok(Stamped { value: (Bytes::new(), value), zxid, watch })
            }
        }
    }

    async fn read_many(&self, paths: &[Arc<str>]) -> Result<CacheAnswer, Error> {
        let reads = self.client.multi_read();
        let reads = paths.iter().fold(reads, |reads, path| reads.get_data(path));
        let (results, zxid) = reads.stamped().await?;
        let reads = results.into_iter().map(|result| match result {
            Ok(ReadOutcome::Data(data, stat)) => Ok(CacheRead::Found(data, stat)),
            Ok(ReadOutcome::Children(_)) => Ok(CacheRead::Unreadable),
            Err(error) => unread(error),
        });
        Ok(CacheAnswer::Reads(reads.collect::<Result<_, _>>()?, zxid))
    }

    async fn list(
        &self,
        path: &str,
        watch: &mut Option<(String, OneshotWatch)>,
    ) -> Result<CacheAnswer, Error> {
        match self.client.stamped_children(path, self.leaves).await {
            Ok(Stamped { value, zxid, watch: left }) => {
                *watch = left.map(|left| (path.to_owned(), left));
                Ok(CacheAnswer::List(value, zxid))
            }
            Err(error) if error.is_no_node() || error.is_no_auth() => Ok(CacheAnswer::Unlisted),
            Err(error) => Err(error),
        }
    }
}

/// # Errors
///
/// Errors that say nothing of the znode.
fn unread(error: Error) -> Result<CacheRead, Error> {
    match error.kind() {
        _ if error.is_no_node() => Ok(CacheRead::Gone),
        _ if error.is_no_auth() => Ok(CacheRead::Unreadable),
        ErrorKind::ReplyTooLarge { .. } => Ok(CacheRead::Unreadable),
        _ => Err(error),
    }
}
