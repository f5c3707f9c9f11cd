//! Makes the requests of a tracker, and reports their outcomes.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use election_session::{
    GroupFormat, GroupQuestion, GroupRead, GroupRequest, GroupSnapshot, GroupTracker,
    TrackerWatches,
};
use futures_core::Stream as _;
use futures_util::stream::FuturesUnordered;
use zk_jute::{SessionId, Zxid};
use zk_session::WatchMode;

use crate::client::{Children, Client, Leaves, Obstacle, OneshotWatch, PersistentWatch, Stamped};
use crate::hearing::{Heard, Hearing, Looks};
use crate::path::child_path;
use crate::{Error, ErrorKind};

/// The most requests in flight.
const WINDOW: usize = 64;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The outcome of a request.
#[derive(Debug)]
enum GroupAnswer {
    Done,
    Watch(PersistentWatch),
    List(Option<Children>, Zxid),
    Read(GroupRead, Zxid),
    /// The request has to be made again.
    Again,
}

#[derive(Debug)]
struct Answered {
    request: GroupRequest,
    answer: Result<GroupAnswer, Error>,
    /// The watched path, and the watch.
    watch: Option<(String, OneshotWatch)>,
}

pub(super) struct Driver {
    client: Client,
    path: String,
    tracker: GroupTracker,
    pending: FuturesUnordered<Boxed<Answered>>,
    hearing: Hearing,
    looks: Looks,
    session: Option<SessionId>,
}

impl Driver {
    pub(super) fn new(client: Client, path: &str, format: GroupFormat) -> Self {
        let tracker = GroupTracker::new(path.to_owned(), format, TrackerWatches::Persistent);
        Self {
            looks: Looks::new(&client),
            client,
            path: path.to_owned(),
            tracker,
            pending: FuturesUnordered::new(),
            hearing: Hearing::new(),
            session: None,
        }
    }

    /// Runs until something fails for good.
    pub(super) async fn run(mut self, mut show: impl FnMut(GroupSnapshot) + Send) -> Error {
        loop {
            if let Err(error) = self.turn().await {
                return error;
            }
            if let Some(snapshot) = self.tracker.poll_snapshot() {
                show(snapshot);
            }
        }
    }

    async fn turn(&mut self) -> Result<(), Error> {
        self.submit();
        let (answers, heard) = poll_fn(|cx| {
            let answers = self.answers(cx);
            let heard = self.hearing.poll(cx);
            let is_time_to_look = self.looks.are_due(cx);
            if is_time_to_look {
                self.tracker.look();
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
                Ok(GroupAnswer::Watch(tree)) => {
                    self.hearing.keep_tree(tree);
                    Ok(GroupAnswer::Done)
                }
                answer => answer,
            };
            answers.push(Answered { request, answer, watch });
        }
        answers
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Changed(path, event) => self.tracker.handle_change(&path, event.kind),
            Heard::Missed => self.tracker.handle_missed(),
            Heard::Lost => self.session_lost(),
        }
    }

    fn session_lost(&mut self) {
        self.hearing = Hearing::new();
        self.session = None;
        self.tracker.handle_watches_lost();
    }

    fn take_in(&mut self, request: &GroupRequest, answer: GroupAnswer) {
        let (ticket, tracker) = (request.ticket, &mut self.tracker);
        match (&request.question, answer) {
            (GroupQuestion::Barrier, GroupAnswer::Done) => tracker.handle_barrier(ticket),
            (GroupQuestion::AddWatch, GroupAnswer::Done) => tracker.handle_watch_added(ticket),
            (GroupQuestion::List, GroupAnswer::List(None, zxid)) => {
                tracker.handle_list(ticket, core::iter::empty(), zxid);
            }
            (GroupQuestion::List, GroupAnswer::List(Some(names), zxid)) => {
                tracker.handle_list(ticket, names.iter(), zxid);
            }
            (GroupQuestion::Read(name), GroupAnswer::Read(read, zxid)) => {
                tracker.handle_read(ticket, name, read, zxid);
            }
            (_, _) => tracker.handle_failed(request),
        }
    }

    /// # Errors
    ///
    /// Errors that trying again does not repair.
    fn failed(&mut self, request: &GroupRequest, error: Error) -> Result<Option<Obstacle>, Error> {
        if let (ErrorKind::Unsupported { .. }, GroupQuestion::AddWatch) =
            (error.kind(), &request.question)
        {
            self.tracker.handle_unsupported(request.ticket);
            return Ok(None);
        }
        match Obstacle::of(&error) {
            Some(obstacle) => {
                self.tracker.handle_failed(request);
                Ok(Some(obstacle))
            }
            None => Err(error),
        }
    }

    fn submit(&mut self) {
        match (self.session, self.client.session_id()) {
            (Some(known), Some(session)) if known != session => {
                self.session_lost();
                self.session = Some(session);
            }
            (None, session) => self.session = session,
            _ => {}
        }
        while self.pending.len() < WINDOW
            && let Some(request) = self.tracker.poll_request()
        {
            let leaves = match self.tracker.watching() {
                TrackerWatches::Persistent => Leaves::Nothing,
                TrackerWatches::OneShot => Leaves::OneshotWatch,
            };
            self.pending.push(ask(self.client.clone(), self.path.clone(), request, leaves));
        }
    }
}

fn ask(client: Client, path: String, request: GroupRequest, leaves: Leaves) -> Boxed<Answered> {
    Box::pin(async move {
        let mut watch = None;
        let answer = match &request.question {
            GroupQuestion::Barrier => client.commit_nothing().await.map(|_| GroupAnswer::Done),
            GroupQuestion::AddWatch => {
                let mode = WatchMode::PersistentRecursive;
                client.add_watch(&path, mode).await.map(GroupAnswer::Watch)
            }
            GroupQuestion::List => list(&client, &path, leaves, &mut watch).await,
            GroupQuestion::Read(name) => {
                let path = child_path(&path, name);
                read(&client, path, leaves, &mut watch).await
            }
        };
        Answered { request, answer, watch }
    })
}

async fn list(
    client: &Client,
    path: &str,
    leaves: Leaves,
    watch: &mut Option<(String, OneshotWatch)>,
) -> Result<GroupAnswer, Error> {
    match client.stamped_children(path, leaves).await {
        Ok(Stamped { value, zxid, watch: left }) => {
            *watch = left.map(|left| (path.to_owned(), left));
            Ok(GroupAnswer::List(Some(value), zxid))
        }
        Err(error) if error.is_no_node() && leaves == Leaves::OneshotWatch => {
            let (stat, left) = client.exists_and_watch(path).await?;
            *watch = Some((path.to_owned(), left));
            // The node was created just now.
            Ok(stat.map_or(GroupAnswer::List(None, Zxid::ZERO), |_| GroupAnswer::Again))
        }
        Err(error) if error.is_no_node() => Ok(GroupAnswer::List(None, Zxid::ZERO)),
        Err(error) => Err(error),
    }
}

async fn read(
    client: &Client,
    path: String,
    leaves: Leaves,
    watch: &mut Option<(String, OneshotWatch)>,
) -> Result<GroupAnswer, Error> {
    match client.stamped_data(&path, leaves).await {
        Ok(Stamped { value: (data, stat), zxid, watch: left }) => {
            *watch = left.map(|left| (path, left));
            Ok(GroupAnswer::Read(GroupRead::Data(data, stat), zxid))
        }
        Err(error) if error.is_no_node() => Ok(GroupAnswer::Read(GroupRead::Gone, Zxid::ZERO)),
        Err(error)
            if error.is_no_auth() || matches!(error.kind(), ErrorKind::ReplyTooLarge { .. }) =>
        {
            Ok(GroupAnswer::Read(GroupRead::Unreadable, Zxid::ZERO))
        }
        Err(error) => Err(error),
    }
}
