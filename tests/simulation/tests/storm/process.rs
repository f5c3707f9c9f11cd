//! A process: a client, its nominations, and what a service does beside them.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_tokio::election::Nomination;
use election_tokio::lease::LeaseGrade;
use election_tokio::session::{IfGone, SessionTicket};
use election_tokio::{Client, ClientBuilder, NomineeId};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::laws::{self, Laws, Season};
use crate::life::{self, Life, Post};
use crate::network::Way;
use crate::others::Promise;
use crate::recipes::{Born, Queues};
use crate::scene::Cast;
use crate::setting::Setting;

/// More often than by default: the calm does not last for a minute. A candidate whose deletion was
/// throttled is deleted at the next look.
const LOOKS: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A nominee resigns, and stands again.
    Resign,
    /// The process closes its client.
    Close,
    /// It drops all that it has.
    Drop,
    /// It is gone, and the servers hear nothing of it.
    Crash,
    /// The next process goes on with its session and its nominations.
    HandOver,
}

pub(crate) struct Process {
    pub(crate) number: usize,
    pub(crate) cast: Cast,
    pub(crate) setting: Setting,
    pub(crate) laws: Laws,
    pub(crate) rng: fastrand::Rng,
    /// Of their own, so that locks change nothing else that is drawn.
    pub(crate) rng_of_locks: fastrand::Rng,
    pub(crate) rng_of_recipes: fastrand::Rng,
    pub(crate) rng_of_operating: fastrand::Rng,
    pub(crate) rng_of_ids: fastrand::Rng,
    pub(crate) rng_of_slots: fastrand::Rng,
    pub(crate) rng_of_health: fastrand::Rng,
    pub(crate) rng_of_trees: fastrand::Rng,
    pub(crate) way: Way,
}

/// The estate that a successor gets.
struct Inheritance {
    ticket: SessionTicket,
    nominees: Vec<NomineeId>,
}

impl Process {
    /// Lives and lives again, until there are no more orders.
    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let (mut inheritance, mut line) = (None, 0);
        while !orders.is_closed() || !orders.is_empty() {
            line += u64::from(inheritance.is_none());
            inheritance = self.live(line, inheritance, &mut orders).await;
            sleep(Duration::from_millis(self.rng.u64(0..300))).await;
            if self.cast == Cast::Slots && self.laws.season_of_slots() == Season::Storm {
                // Long enough, now and then, for its slots to be spread.
                let longest = 1_u64 << self.rng_of_slots.u8(0..=13);
                sleep(Duration::from_millis(self.rng_of_slots.u64(0..=longest))).await;
            }
        }
    }

    fn builder(&mut self) -> ClientBuilder {
        let builder = Client::builder(&self.way.addresses()).connector(self.way.connector());
        let timeout = self.setting.timeout(&mut self.rng);
        let builder = builder.session_timeout(timeout).look_interval(LOOKS);
        let builder = builder.seed(self.rng.u64(..)).id_seed(self.rng_of_ids.u64(..));
        match self.setting.promise() {
            Promise::Advice => builder.lease_grade(LeaseGrade::Advisory),
            Promise::Lease | Promise::Nothing => builder,
        }
    }

    async fn live(
        &mut self,
        line: u64,
        inheritance: Option<Inheritance>,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Option<Inheritance> {
        let mut builder = self.builder();
        let (mut predecessors, mut born) = (Vec::new(), Born::Anew);
        if let Some(Inheritance { ticket, nominees }) = inheritance {
            builder = builder.resume(ticket, IfGone::StartAnew);
            if let Some(timeout) = self.setting.new_timeout(&mut self.rng) {
                builder = builder.session_timeout(timeout);
            }
            (predecessors, born) = (nominees, Born::Heir);
        }
        let client = builder.start().expect("the options are good");
        self.laws.tell(|| format!("process {} begins a life in line {line}", self.number));
        let (number, laws) = (self.number, self.laws.clone());
        let alive = Life { number, line, client: client.clone(), laws };
        let mut tasks = JoinSet::new();
        let mut posts = Vec::new();
        for election in 0..self.setting.elections {
            let nomination = nominate(&client, election, predecessors.get(election).copied());
            let nominee = watch::Sender::new(nomination.id());
            let (number, id) = (self.number, nomination.id());
            self.laws.tell(|| format!("process {number} stands in {election}: {id:?}"));
            let post = Post { election, nominee, resign: Arc::new(Notify::new()) };
            tasks.spawn(alive.clone().stand(nomination, post.clone()));
            posts.push(post);
        }
        if born == Born::Heir {
            tasks.spawn(alive.clone().tidy(posts.clone()));
        }
        let queues = Queues::of(&client);
        self.laws.is_born(self.number);
        self.laws.is_connected_by(self.number, &client);
        self.begin_work(&alive, &queues, born, &mut tasks);
        let order = loop {
            match orders.recv().await {
                Some(Order::Resign) => {
                    if let Some(post) = self.rng.choice(&posts) {
                        post.resign.notify_one();
                    }
                }
                Some(Order::HandOver) if !self.setting.hands_over() => break Some(Order::Close),
                order => break order,
            }
        };
        self.laws.tell(|| format!("process {}: {order:?}", self.number));
        if let Some(rollback) = client.rollback() {
            self.laws
                .broken(format!("{} says of servers that lose nothing: {rollback}", self.number));
        }
        let ticket = self.end_life(order, client, (alive, queues), tasks).await?;
        self.laws.count(|tally| tally.handed_over += 1);
        let nominees = posts.iter().map(|post| *post.nominee.borrow()).collect();
        Some(Inheritance { ticket, nominees })
    }

    /// Begins what the process does beside its elections.
    fn begin_work(&mut self, alive: &Life, queues: &Queues, born: Born, tasks: &mut JoinSet<()>) {
        if self.cast == Cast::Checked {
            return self.begin_to_lead_while_well(alive, born, tasks);
        }
        if matches!(self.cast, Cast::Trees | Cast::AllAndTrees) {
            self.begin_to_keep_a_tree(alive, tasks);
        }
        if self.cast == Cast::Trees {
            return;
        }
        let (member, rng) = (alive.clone(), self.rng_of_slots.fork());
        let terms = self.setting.slots[self.number].clone();
        tasks.spawn(async move {
            if born == Born::Heir {
                member.let_go_of_slots().await;
            }
            member.share_slots(terms, rng).await;
        });
        if self.cast == Cast::Slots {
            return;
        }
        let rngs = [self.rng_of_slots.fork(), self.rng_of_slots.fork()];
        let contender = alive.clone();
        tasks.spawn(async move {
            if born == Born::Heir {
                contender.let_go_of_several().await;
            }
            let [first, second] = rngs;
            tokio::join!(contender.clone().take_several(first), contender.run_the_job(second));
        });
        tasks.spawn(alive.clone().follow());
        tasks.spawn(alive.clone().follow_by_reading("by watches that fire once"));
        tasks.spawn(alive.clone().work(self.rng.fork()));
        let (contender, rng) = (alive.clone(), self.rng_of_locks.fork());
        tasks.spawn(async move {
            if born == Born::Heir {
                contender.let_go_of_locks().await;
            }
            contender.contend(rng).await;
        });
        let (candidate, rng) = (alive.clone(), self.rng_of_operating.fork());
        tasks.spawn(async move {
            if born == Born::Heir {
                candidate.let_go_of_the_operated().await;
            }
            candidate.stand_in_the_operated(rng).await;
        });
        let (contender, rng) = (alive.clone(), self.rng_of_operating.fork());
        tasks.spawn(async move {
            if born == Born::Heir {
                contender.let_go_of_permits().await;
            }
            contender.take_permits(rng).await;
        });
        let rngs = [self.rng_of_recipes.fork(), self.rng_of_recipes.fork()];
        tasks.spawn(alive.clone().use_all_recipes(queues.clone(), rngs, born));
    }

    fn begin_to_keep_a_tree(&mut self, alive: &Life, tasks: &mut JoinSet<()>) {
        tasks.spawn(alive.clone().keep_trees(self.rng_of_trees.fork()));
        tasks.spawn(alive.clone().write_to_the_tree(self.rng_of_trees.fork()));
    }

    fn begin_to_lead_while_well(&mut self, alive: &Life, born: Born, tasks: &mut JoinSet<()>) {
        let (member, rng) = (alive.clone(), self.rng_of_health.fork());
        let terms = self.setting.checked[self.number].clone();
        tasks.spawn(async move {
            if born == Born::Heir {
                member.let_go_of_checked().await;
            }
            member.lead_while_well(terms, rng).await;
        });
    }

    /// Ends a life, and returns the ticket with which a successor goes on, if there is one.
    async fn end_life(
        &self,
        order: Option<Order>,
        client: Client,
        (life, queues): (Life, Queues),
        mut tasks: JoinSet<()>,
    ) -> Option<SessionTicket> {
        match order {
            Some(Order::HandOver) => {
                // Before the nominations are dropped, which would delete the candidates.
                let ticket = client.detach();
                if ticket.is_ok() {
                    self.laws.is_killed(self.number);
                }
                tasks.shutdown().await;
                match ticket {
                    Ok(_) => life.take_what_was_kept(&queues).await,
                    // The client had no session: it goes on until it is dropped.
                    Err(_) => self.laws.takes_are_forgotten(self.number),
                }
                return ticket.ok();
            }
            Some(Order::Crash) => {
                self.way.cut_off_this_life();
                self.laws.is_killed(self.number);
                drop((client, life, queues));
                self.laws.takes_are_forgotten(self.number);
                tasks.shutdown().await;
            }
            Some(Order::Drop | Order::Resign) => {
                drop((client, life, queues));
                self.laws.takes_are_forgotten(self.number);
                tasks.shutdown().await;
            }
            None | Some(Order::Close) => {
                // Without a server to confirm it, that is an error; the session is over for good.
                let _ = self.in_time("close", client.close()).await;
                let ended = async { while tasks.join_next().await.is_some() {} };
                self.in_time("the tasks of a closed client", ended).await;
                life.take_what_was_kept(&queues).await;
            }
        }
        None
    }

    async fn in_time<T>(&self, what: &str, work: impl Future<Output = T>) -> Option<T> {
        life::in_time(&self.laws, self.number, what, work).await
    }
}

/// Stands, in the place of the predecessor if there is one.
fn nominate(client: &Client, election: usize, predecessor: Option<NomineeId>) -> Nomination {
    let election = client.election(&laws::election(election));
    let nomination = match predecessor {
        Some(nominee) => election.take_over(nominee),
        None => election.nominate(),
    };
    nomination.expect("the path is good")
}
