//! A client with a persistent watch. It reads beside the watch: at first, now and then, and after each
//! gap. The same client keeps a one-shot watch on the same path, which servers before 3.9 confuse with
//! the persistent one (ZOOKEEPER-4466), or on a path below it.

use core::future::{Future as _, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use election_tokio::{
    Zxid,
    watch::{PersistentWatch, WatchLost, WatchMode, WatchUpdate},
};

use super::super::Record;
use super::super::laws::views::{Change, Ending, Note, View, Znode};
use super::super::laws::vigils::Watched;
use super::worker::Worker;
use super::{FLAGS, Patience, flags, left, marks, oneshot, right};

/// Between two looks at what is watched.
const LOOK: Duration = Duration::from_millis(40);

/// The subject of a watch.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    path: String,
    mode: WatchMode,
    /// The znodes that are read beside it: the number of changes to these is known.
    read: Vec<String>,
    /// The one-shot watch, on the same path or one below it.
    beside: (Watched, String),
}

/// Returns the subjects of a client's watches, with this patience.
pub(super) fn subjects(patience: Patience, pair: &str) -> [Subject; 4] {
    let (left, right, marks, flag) = (left(pair), right(pair), marks(pair), flags::path(patience));
    let alone = |path: String, watched| {
        let (read, beside) = (vec![path.clone()], (watched, path.clone()));
        Subject { path, mode: WatchMode::Persistent, read, beside }
    };
    let tree = |path: &str, read, watched, below: &str| {
        let (path, mode) = (path.to_owned(), WatchMode::PersistentRecursive);
        Subject { path, mode, read, beside: (watched, below.to_owned()) }
    };
    let both = vec![FLAGS.to_owned(), flag.clone()];
    [
        tree(pair, vec![left.clone(), right, marks], Watched::Data, &left),
        tree(FLAGS, both, Watched::Children, FLAGS),
        alone(left, Watched::Data),
        alone(flag, Watched::Existence),
    ]
}

impl Subject {
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

pub(super) async fn keep(mut worker: Worker, mut beside: Worker, subject: Subject) -> Record {
    let (watched, path) = &subject.beside;
    tokio::join!(keep_views(&mut worker, &subject), oneshot::watch(&mut beside, *watched, path));
    worker.record().add(beside.into_record());
    worker.finish().await
}

async fn keep_views(worker: &mut Worker, subject: &Subject) {
    while worker.observes_on() {
        let before = worker.session();
        let Ok(watch) = worker.client.add_watch(&subject.path, subject.mode).await else {
            worker.recover().await;
            continue;
        };
        let session = before.filter(|_| worker.session() == before);
        if let Some(View { ending: Ending::Lost { next }, .. }) = worker.record().views.last_mut() {
            *next = session;
        }
        let mut viewer = Viewer { watch, notes: Vec::new() };
        let ending = match viewer.look_on(worker, subject).await {
            Ok(()) => Ending::Kept,
            Err(WatchLost) => Ending::Lost { next: None },
        };
        let (path, mode, notes) = (subject.path.clone(), subject.mode, viewer.notes);
        worker.record().views.push(View { path, mode, session, notes, ending });
    }
}

/// A watch, and what was told and read so far.
#[derive(Debug)]
struct Viewer {
    watch: PersistentWatch,
    notes: Vec<Note>,
}

impl Viewer {
    /// Looks on until all is over, or the watch is lost.
    async fn look_on(&mut self, worker: &Worker, subject: &Subject) -> Result<(), WatchLost> {
        loop {
            // A read once all is quiet shows every change.
            let over = !worker.observes_on();
            for path in &subject.read {
                self.read(worker, path).await?;
            }
            if over {
                return Ok(());
            }
            worker.beat();
            self.listen(worker).await?;
        }
    }

    /// Listens for a while, or to the next gap, after which everything is to be read again.
    async fn listen(&mut self, worker: &Worker) -> Result<(), WatchLost> {
        let mut rest = pin!(tokio::time::sleep(LOOK));
        while self.notes.last() != Some(&Note::ChangesMissed) {
            tokio::select! {
                biased;
                () = worker.until_over() => break,
                () = &mut rest => break,
                update = self.watch.next() => self.note(update)?,
            }
        }
        Ok(())
    }

    async fn read(&mut self, worker: &Worker, path: &str) -> Result<(), WatchLost> {
        loop {
            let over = !worker.observes_on();
            let synced = if over { worker.client.sync(path).await.map(drop) } else { Ok(()) };
            self.note_waiting().await?;
            let asked = self.notes.len();
            if synced.is_ok()
                && let Ok(stat) = worker.client.exists(path).await
            {
                // The events that came before the answer wait by now.
                self.note_waiting().await?;
                let meanwhile = self.notes.len() - asked;
                let (path, seen) = (path.to_owned(), stat.map(Znode::from));
                self.notes.push(Note::Read { path, seen, meanwhile });
                return Ok(());
            }
            worker.recover().await;
        }
    }

    /// Notes down what waits to be told.
    async fn note_waiting(&mut self) -> Result<(), WatchLost> {
        while let Some(update) = self.at_once().await {
            self.note(update)?;
        }
        Ok(())
    }

    async fn at_once(&mut self) -> Option<Option<Result<WatchUpdate, WatchLost>>> {
        let mut next = pin!(self.watch.next());
        poll_fn(|cx| match next.as_mut().poll(cx) {
            Poll::Ready(update) => Poll::Ready(Some(update)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    fn note(&mut self, update: Option<Result<WatchUpdate, WatchLost>>) -> Result<(), WatchLost> {
        self.notes.push(match update.unwrap_or(Err(WatchLost))? {
            WatchUpdate::Changed { path, event } => {
                let zxid = event.zxid.map(Zxid::get);
                Note::Changed(Change { path, kind: event.kind, zxid })
            }
            // The only other thing that there is to tell.
            _ => Note::ChangesMissed,
        });
        Ok(())
    }
}
