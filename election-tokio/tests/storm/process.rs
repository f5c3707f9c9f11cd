//! A process: a client, a nomination, and what a service does beside it.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_tokio::{
    Acl, Client, ClientBuilder, ConnectionState, CreateMode, EndReason, Error, ErrorKind, IfGone,
    Leadership, Nomination, NomineeId, Version, WatchMode,
};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::laws::{ELECTION, LEDGER, Laws, NOTICE, number_in};
use crate::network::Way;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// Longer than anything may take that a client waits for: a connection counts as dead after two
/// thirds of the session timeout.
const LONG: Duration = TIMEOUT.saturating_mul(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The nominee resigns, and stands again.
    Resign,
    /// The process closes its client.
    Close,
    /// It drops all that it has.
    Drop,
    /// It is gone, and the server hears nothing of it.
    Crash,
    /// The next process goes on with its session and its nomination.
    HandOver,
}

pub(crate) struct Process {
    pub(crate) number: usize,
    pub(crate) laws: Laws,
    pub(crate) rng: fastrand::Rng,
    pub(crate) way: Way,
}

/// What a successor gets.
struct Inheritance {
    ticket: election_tokio::SessionTicket,
    nominee: NomineeId,
}

impl Process {
    /// Lives and lives again, until there are no more orders.
    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut inheritance = None;
        while !orders.is_closed() || !orders.is_empty() {
            inheritance = self.live(inheritance, &mut orders).await;
            sleep(Duration::from_millis(self.rng.u64(0..300))).await;
        }
    }

    fn builder(&mut self) -> ClientBuilder {
        let builder = Client::builder("in-memory").connector(self.way.connector());
        builder.session_timeout(TIMEOUT).seed(self.rng.u64(..))
    }

    async fn live(
        &mut self,
        inheritance: Option<Inheritance>,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Option<Inheritance> {
        let mut builder = self.builder();
        let mut predecessor = None;
        if let Some(Inheritance { ticket, nominee }) = inheritance {
            builder = builder.resume(ticket, IfGone::StartAnew);
            predecessor = Some(nominee);
        }
        let client = builder.start().expect("the options are good");
        let election = client.election(ELECTION);
        let nomination = match predecessor {
            Some(nominee) => election.take_over(nominee),
            None => election.nominate(),
        };
        let nomination = nomination.expect("the path is good");
        let nominee = watch::Sender::new(nomination.id());
        let resign = Arc::new(Notify::new());
        let life = Life { number: self.number, client: client.clone(), laws: self.laws.clone() };
        let mut tasks = JoinSet::new();
        tasks.spawn(life.clone().stand(nomination, nominee.clone(), Arc::clone(&resign)));
        tasks.spawn(life.clone().follow());
        tasks.spawn(life.clone().follow_by_reading());
        tasks.spawn(life.clone().work(self.rng.fork()));
        drop(life);
        let order = loop {
            match orders.recv().await {
                Some(Order::Resign) => resign.notify_one(),
                order => break order,
            }
        };
        match order {
            Some(Order::HandOver) => match client.detach() {
                Ok(ticket) => {
                    tasks.shutdown().await;
                    self.laws.count(|tally| tally.handed_over += 1);
                    return Some(Inheritance { ticket, nominee: *nominee.borrow() });
                }
                Err(_) => tasks.shutdown().await,
            },
            Some(Order::Crash) => {
                self.way.cut_off_this_life();
                drop(client);
                tasks.shutdown().await;
            }
            Some(Order::Drop | Order::Resign) => {
                drop(client);
                tasks.shutdown().await;
            }
            None | Some(Order::Close) => {
                // Without a server to confirm it, that is an error; the session is over for good.
                let _ = self.in_time("close", client.close()).await;
                let ended = async { while tasks.join_next().await.is_some() {} };
                self.in_time("the tasks of a closed client", ended).await;
            }
        }
        None
    }

    async fn in_time<T>(&self, what: &str, work: impl Future<Output = T>) -> Option<T> {
        in_time(&self.laws, self.number, what, work).await
    }
}

/// What never ends is told, and given up.
async fn in_time<T>(
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
struct Life {
    number: usize,
    client: Client,
    laws: Laws,
}

impl Life {
    /// Stands for election, and writes the ledger for as long as it leads.
    async fn stand(
        self,
        mut nomination: Nomination,
        nominee: watch::Sender<NomineeId>,
        resign: Arc<Notify>,
    ) {
        let mut is_polite = true;
        loop {
            let leadership = tokio::select! {
                biased;
                () = resign.notified() => None,
                elected = nomination.elected() => match elected {
                    Ok(leadership) => Some(Arc::new(leadership)),
                    Err(EndReason::ClientClosed(_)) => return,
                    Err(reason) => {
                        return self.laws.broken(format!("{}: {reason}", self.number));
                    }
                },
            };
            if let Some(leadership) = &leadership {
                self.laws.elected(self.number, nomination.id(), leadership);
                tokio::select! {
                    biased;
                    _ = leadership.lost() => {
                        self.is_over(leadership);
                        continue;
                    }
                    () = self.keep_ledger(leadership) => continue,
                    () = resign.notified() => {}
                }
            }
            if is_polite {
                // That may take until the session is over, or somebody ends the client first.
                let _ = nomination.resign().await;
            } else {
                drop(nomination);
            }
            is_polite = !is_polite;
            if let Some(leadership) = &leadership {
                self.is_over(leadership);
            }
            match self.client.election(ELECTION).nominate() {
                Ok(again) => {
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
    async fn keep_ledger(&self, leadership: &Leadership) {
        let token = leadership.token().get().to_string();
        loop {
            let write = leadership.transaction().set_data(LEDGER, token.clone(), Version::ANY);
            match in_time(&self.laws, self.number, "a guarded write", write.commit()).await {
                Some(Ok(_)) => self.laws.count(|tally| tally.guarded_writes += 1),
                Some(Err(election_tokio::TransactionError::NotLeader)) | None => {
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

    /// Follows the notice by a watch that stays.
    async fn follow(self) {
        loop {
            let Ok(mut watch) = self.client.watch(NOTICE, WatchMode::Persistent).await else {
                match self.connected().await {
                    Some(()) => continue,
                    None => return,
                }
            };
            loop {
                match self.client.get_data(NOTICE).await {
                    Ok((data, _)) => {
                        self.laws.view(self.number, "by a watch that stays", number_in(&data));
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
    async fn follow_by_reading(self) {
        loop {
            match self.client.get_data_and_watch(NOTICE).await {
                Ok((data, _, watch)) => {
                    self.laws.view(self.number, "by watches that fire once", number_in(&data));
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

    /// Waits for a connection; `None` once the client is closed.
    async fn connected(&self) -> Option<()> {
        sleep(Duration::from_millis(1)).await;
        let mut connection = self.client.connection();
        let state = connection.until(|state| {
            matches!(state, ConnectionState::Connected { .. } | ConnectionState::Closed { .. })
        });
        match state.await {
            Some(ConnectionState::Connected { .. }) => Some(()),
            _ => None,
        }
    }

    /// Operations of all kinds, some of which are dropped before they end.
    async fn work(self, mut rng: fastrand::Rng) {
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
            0 | 1 => client.create_with_parents(&child, b"", mode, &[Acl::OPEN]).await.map(drop),
            2 => client.delete(&child, Version::ANY).await,
            3 => client.set_data(&child, b"data", Version::ANY).await.map(drop),
            4 => client.exists_and_watch(&child).await.map(drop),
            5 => client.children_and_watch(own).await.map(drop),
            6 => client.multi_read().get_data(&child).children(own).send().await.map(drop),
            7 => client.sync("/").await,
            8 => client.ephemerals("/").await.map(drop),
            9 => {
                let watch = client.watch(own, WatchMode::PersistentRecursive).await?;
                client.exists(&child).await?;
                watch.remove().await
            }
            _ => client.delete_tree(own).await.map(drop),
        }
    }
}

fn passes(error: &Error) -> bool {
    // The watch stands, or tells of its end; after a gap it says so, and the notice is read again.
    matches!(error.kind(), ErrorKind::ConnectionLoss | ErrorKind::NotConnected)
}
