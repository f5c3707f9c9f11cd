//! The life of a process, from its start to its end.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_tokio::acl::Acls;
use election_tokio::election::{EndReason, Leadership, Nomination, NominationError};
use election_tokio::watch::WatchMode;
use election_tokio::{
    Client, ConnectionState, CreateMode, Error, ErrorCode, ErrorKind, NomineeId, TransactionError,
    Version,
};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use zk_simulation::recipes::{DOUBLE_BARRIER, QUEUES};

use crate::laws::{self, ELECTIONS, Laws, NOTICE, ledger, number_in};
use crate::locks::LOCKS;
use crate::operated::OPERATED;
use crate::permits::SEMAPHORE;
use crate::setting::LONGEST;
use crate::several::SEVERAL;
use crate::slots::SLOTS;
use crate::well::WELL;

/// Longer than anything may take that a client waits for: a connection counts as dead after two
/// thirds of the session timeout, and a member that is cut off from its ensemble drops its clients
/// after two seconds. The next connection may meet the same, so twice that, and the rest for an election.
pub(crate) const LONG: Duration = LONGEST.saturating_mul(3);

/// Waits for work, and reports and gives up work that never ends.
pub(crate) async fn in_time<T>(
    laws: &Laws,
    process: usize,
    what: &str,
    work: impl Future<Output = T>,
) -> Option<T> {
    let outcome = timeout(LONG, work).await;
    if outcome.is_err() {
        laws.broken(format!("{process}: {what} has no end"));
    }
    outcome.ok()
}

/// The tasks of a process, from its start to its end.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) number: usize,
    /// Which lives of the process go on with what the one before has seen: those of one number.
    pub(crate) line: u64,
    pub(crate) client: Client,
    pub(crate) laws: Laws,
}

/// The part of a nomination that its process shares.
#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) election: usize,
    /// The nominee that stands now.
    pub(crate) nominee: watch::Sender<NomineeId>,
    /// It is to resign, and to stand again.
    pub(crate) resign: Arc<Notify>,
}

/// The error code of a server that has too much to do. A service stands again.
const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();

/// Returns the common part of the names of all candidates of a nominee: they count on from its id.
fn family(nominee: NomineeId) -> String {
    let mut name = nominee.to_string();
    name.truncate(name.len() - 3);
    name
}

impl Life {
    /// Stands for election, and writes the ledger for as long as it leads.
    pub(crate) async fn stand(self, mut nomination: Nomination, post: Post) {
        let Post { election, nominee, resign } = post;
        let mut is_polite = true;
        loop {
            let leadership = tokio::select! {
                biased;
                () = resign.notified() => None,
                elected = nomination.elected() => match elected.map_err(|ended| ended.reason) {
                    Ok(leadership) => Some(Arc::new(leadership)),
                    Err(EndReason::ClientClosed(_)) => return,
                    Err(EndReason::Failed(NominationError::Rejected(THROTTLED))) => {
                        let (number, id) = (self.number, nomination.id());
                        self.laws.tell(|| format!("{number}: {id:?} was throttled"));
                        sleep(Duration::from_millis(50)).await;
                        None
                    }
                    Err(reason) => {
                        return self.laws.broken(format!("{}: {reason}", self.number));
                    }
                },
            };
            if let Some(leadership) = &leadership {
                self.laws.elected((self.number, election), nomination.id(), leadership);
                tokio::select! {
                    biased;
                    _ = leadership.lost() => {
                        self.is_over(leadership);
                        continue;
                    }
                    () = self.keep_ledger(election, leadership) => continue,
                    () = resign.notified() => {}
                }
            }
            if is_polite {
                // That may take until the session is over, or the process ends the client first.
                let id = nomination.id();
                let outcome = nomination.withdraw().await;
                self.laws.tell(|| format!("{}: {id:?} resigned: {outcome:?}", self.number));
            } else {
                drop(nomination);
            }
            is_polite = !is_polite;
            if let Some(leadership) = &leadership {
                self.is_over(leadership);
            }
            match self.client.election(&laws::election(election)).nominate() {
                Ok(again) => {
                    self.laws.tell(|| format!("{}: {:?} stands again", self.number, again.id()));
                    nominee.send_replace(again.id());
                    nomination = again;
                }
                Err(_) => return,
            }
        }
    }

    fn is_over(&self, leadership: &Leadership) {
        if leadership.is_valid() {
            self.laws.broken(format!("{} leads after its leadership was lost", self.number));
        }
    }

    /// Ends when the leadership does.
    async fn keep_ledger(&self, election: usize, leadership: &Leadership) {
        let path = ledger(election);
        loop {
            match self.guarded_write(&path, leadership.token(), leadership.transaction()).await {
                Some(Ok(())) => self.laws.count(|tally| tally.guarded_writes += 1),
                Some(Err(TransactionError::NotHeld)) | None => {
                    // The news of it may still be on its way.
                    let lost = leadership.lost();
                    in_time(&self.laws, self.number, "a leadership that is over", lost).await;
                    return self.is_over(leadership);
                }
                Some(Err(_)) => {}
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Deletes what a predecessor was about to delete when it handed its session over: candidates of
    /// nominations that it had given up. Its successor knows those that it kept.
    pub(crate) async fn tidy(self, posts: Vec<Post>) {
        self.delete_ephemerals(ELECTIONS, |path| {
            let is_kept = |post: &Post| path.contains(&family(*post.nominee.borrow()));
            !posts.iter().any(is_kept)
        })
        .await;
    }

    /// Does the same with its locks: those that it held, and those that it waited for.
    pub(crate) async fn let_go_of_locks(&self) {
        self.delete_ephemerals(LOCKS, |_| true).await;
    }

    /// Does the same with the double barrier and with claims.
    pub(crate) async fn let_go_of_recipes(&self) {
        for path in [DOUBLE_BARRIER, QUEUES[0], QUEUES[1]] {
            self.delete_ephemerals(path, |_| true).await;
        }
    }

    /// Does the same with its candidate and its marks in the operated election.
    pub(crate) async fn let_go_of_the_operated(&self) {
        self.delete_ephemerals(OPERATED, |_| true).await;
    }

    /// Does the same with its candidate among the members of slots, and with the locks of slots.
    pub(crate) async fn let_go_of_slots(&self) {
        self.delete_ephemerals(SLOTS, |_| true).await;
    }

    /// Does the same with several locks, and with the lock of the job.
    pub(crate) async fn let_go_of_several(&self) {
        self.delete_ephemerals(SEVERAL, |_| true).await;
    }

    /// Does the same with its candidate among those that are checked, and with its marks.
    pub(crate) async fn let_go_of_checked(&self) {
        self.delete_ephemerals(WELL, |_| true).await;
    }

    /// Does the same with permits.
    pub(crate) async fn let_go_of_permits(&self) {
        self.delete_ephemerals(SEMAPHORE, |_| true).await;
    }

    async fn delete_ephemerals(&self, prefix: &str, is_unwanted: impl Fn(&str) -> bool) {
        while self.connected().await.is_some() {
            let tidied = self.client.delete_ephemerals(prefix, &is_unwanted);
            match in_time(&self.laws, self.number, "tidying up", tidied).await {
                Some(Ok(unwanted)) => {
                    return self.laws.tell(|| format!("{}: deleted {unwanted:?}", self.number));
                }
                // Sessions do not go on there, or none is handed over: see `OtherServers`.
                Some(Err(error)) if lacks(&error) => return,
                Some(Err(_)) => sleep(Duration::from_millis(50)).await,
                None => return,
            }
        }
    }

    /// Follows the notice by a watch that stays; by watches that fire once, if the servers seem to know no others.
    pub(crate) async fn follow(self) {
        const HOW: &str = "by a watch that stays";
        let mut was_set = false;
        loop {
            let mut watch = match self.client.add_watch(NOTICE, WatchMode::Persistent).await {
                Ok(watch) => watch,
                Err(error) if lacks(&error) => {
                    if was_set {
                        self.laws.broken(format!("{}: {error}, and it was set", self.number));
                    }
                    return self.follow_by_reading(HOW).await;
                }
                Err(_) => match self.connected().await {
                    Some(()) => continue,
                    None => return,
                },
            };
            was_set = true;
            loop {
                match self.client.get_data(NOTICE).await {
                    Ok((data, _)) => {
                        self.view(HOW, number_in(&data));
                    }
                    Err(error) if passes(&error) => {}
                    Err(_) => break,
                }
                let Some(Ok(_)) = watch.next().await else {
                    break;
                };
            }
        }
    }

    /// Follows the notice by watches that fire once.
    pub(crate) async fn follow_by_reading(self, how: &'static str) {
        loop {
            match self.client.get_data_and_watch(NOTICE).await {
                Ok((data, _, watch)) => {
                    self.view(how, number_in(&data));
                    // A watch that is lost with its session is as good as one that fires.
                    let _ = watch.await;
                }
                Err(_) => match self.connected().await {
                    Some(()) => {}
                    None => return,
                },
            }
        }
    }

    fn view(&self, how: &'static str, number: i64) {
        self.laws.view(self.number, self.line, how, number);
    }

    /// Waits for a connection; `None` once the client is closed.
    pub(crate) async fn connected(&self) -> Option<()> {
        sleep(Duration::from_millis(1)).await;
        let mut connection = self.client.connection_updates();
        let state = connection.wait_for(|state| {
            matches!(state, ConnectionState::Connected { .. } | ConnectionState::Closed { .. })
        });
        match state.await {
            Ok(ConnectionState::Connected { .. }) => Some(()),
            _ => None,
        }
    }

    /// Operations of all kinds, some of which are dropped before they end.
    pub(crate) async fn work(self, mut rng: fastrand::Rng) {
        let own = format!("/work/{}", self.number);
        while self.connected().await.is_some() {
            let patience = match rng.u64(0..4) {
                0 => Duration::from_micros(rng.u64(0..20_000)),
                _ => LONG,
            };
            let begin = Instant::now();
            match timeout(patience, self.operation(&own, &mut rng)).await {
                Ok(Ok(())) => self.laws.count(|tally| tally.answers += 1),
                Ok(Err(_)) => self.laws.count(|tally| tally.failures += 1),
                Err(_) if begin.elapsed() < LONG => {
                    self.laws.count(|tally| tally.given_up += 1);
                }
                Err(_) => self.laws.broken(format!("{}: an operation has no end", self.number)),
            }
            sleep(Duration::from_millis(rng.u64(0..200))).await;
        }
    }

    async fn operation(&self, own: &str, rng: &mut fastrand::Rng) -> Result<(), Error> {
        let client = &self.client;
        let child = format!("{own}/{}", rng.u8(0..3));
        let mode = CreateMode::Ephemeral;
        match rng.u8(0..11) {
            0 | 1 => client.create_with_parents(&child, "", mode, &Acls::open()).await.map(drop),
            2 => client.delete(&child, Version::ANY).await,
            3 => client.set_data(&child, "data", Version::ANY).await.map(drop),
            4 => client.exists_and_watch(&child).await.map(drop),
            5 => client.get_children_and_watch(own).await.map(drop),
            6 => client.multi_read().get_data(&child).get_children(own).send().await.map(drop),
            7 => client.sync("/").await,
            8 => client.get_ephemerals("/").await.map(drop),
            9 => {
                let watch = client.add_watch(own, WatchMode::PersistentRecursive).await?;
                client.exists(&child).await?;
                watch.remove().await
            }
            _ => client.delete_tree(own).await.map(drop),
        }
    }
}

/// Whether the servers do not have the operation.
fn lacks(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported { .. })
}

fn passes(error: &Error) -> bool {
    // The watch stands, or tells of its end; after a gap it says so, and the notice is read again.
    matches!(error.kind(), ErrorKind::ConnectionLoss | ErrorKind::NotConnected)
}
