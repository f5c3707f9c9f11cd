//! Processes with the real client, its driver and its elections, in virtual time, on a server whose
//! connections, sessions and clients come to harm; everything from a seed.
//!
//! The simulation of `zk-tests` goes further in what it does to an ensemble, but drives the machines
//! below this crate. This runs the crate itself.
#![forbid(unsafe_code)]

#[cfg(test)]
mod laws;
#[cfg(test)]
mod network;
#[cfg(test)]
mod process;
#[cfg(test)]
mod server;

#[cfg(test)]
mod storm {
    use core::ops::Range;
    use core::time::Duration;
    use std::sync::Arc;

    use election_tokio::{Client, CreateMode, Version};
    use tokio::runtime::{Builder, Handle};
    use tokio::sync::{Notify, mpsc};
    use tokio::task::{JoinHandle, JoinSet};
    use tokio::time::{Instant, sleep, timeout};

    use crate::laws::{ELECTION, LEDGER, Laws, NOTICE, Tally, number_in};
    use crate::network::{Flow, Port, Way, Weather};
    use crate::process::{Order, Process, TIMEOUT};
    use crate::server::Server;

    const PROCESSES: usize = 4;
    /// How long it storms.
    const STORM: Duration = Duration::from_secs(40);
    /// How long it takes, once nothing happens any more, until one leads and everybody knows all:
    /// what is left of the sessions of the dead, a lease to prove, and a backoff.
    const CALM: Duration = Duration::from_secs(20);
    /// How often it is asked who leads.
    const STEP: Duration = Duration::from_millis(3);

    /// Some seeds, or those of `STORM_SEEDS`, such as `1000..2000`.
    #[test]
    fn no_law_is_broken() {
        let seeds = match std::env::var("STORM_SEEDS") {
            Ok(seeds) => parsed(&seeds).expect("STORM_SEEDS is a range, such as 1000..2000"),
            Err(_) => 0..30,
        };
        let mut total = Tally::default();
        for seed in seeds.clone() {
            let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
            let runtime = runtime.expect("a runtime");
            match runtime.block_on(Storm::pass(seed)) {
                Ok(tally) => total = total.with(tally),
                Err(broken) => {
                    panic!("seed {seed}: {broken}; again: STORM_SEEDS={seed}..{}", seed + 1)
                }
            }
        }
        println!("{seeds:?}: {total:?}");
        let count = seeds.end - seeds.start;
        assert!(total.is_a_storm(count), "{total:?}");
    }

    fn parsed(range: &str) -> Option<Range<u64>> {
        let (begin, end) = range.split_once("..")?;
        Some(begin.parse().ok()?..end.parse().ok()?)
    }

    impl Tally {
        fn with(self, other: Self) -> Self {
            Self {
                elected: self.elected + other.elected,
                guarded_writes: self.guarded_writes + other.guarded_writes,
                views: self.views + other.views,
                answers: self.answers + other.answers,
                failures: self.failures + other.failures,
                given_up: self.given_up + other.given_up,
                handed_over: self.handed_over + other.handed_over,
            }
        }

        /// A storm in which nothing happens proves nothing.
        fn is_a_storm(self, seeds: u64) -> bool {
            self.elected > 5 * seeds
                && self.guarded_writes > 50 * seeds
                && self.views > 50 * seeds
                && self.answers > 500 * seeds
                && self.failures > 50 * seeds
                && self.given_up > 50 * seeds
                && self.handed_over > seeds / 2
        }
    }

    /// Changes the notice now and then, and returns what it says in the end.
    async fn keep_notice(client: Client, mut rng: fastrand::Rng, closing_time: Arc<Notify>) -> i64 {
        let mut number = 0;
        let written = async {
            loop {
                sleep(Duration::from_millis(rng.u64(0..4000))).await;
                number += 1;
                let text = number.to_string();
                while client.set_data(NOTICE, text.as_bytes(), Version::ANY).await.is_err() {
                    sleep(STEP).await;
                }
            }
        };
        tokio::select! {
            () = written => {}
            () = closing_time.notified() => {}
        }
        loop {
            match client.get_data(NOTICE).await {
                Ok((data, _)) => return number_in(&data),
                // The connection may have been lost last.
                Err(_) => sleep(STEP).await,
            }
        }
    }

    struct Storm {
        rng: fastrand::Rng,
        laws: Laws,
        server: Server,
        ways: Vec<Way>,
        orders: Vec<mpsc::Sender<Order>>,
        processes: JoinSet<()>,
        /// Each ends a plague in time.
        healers: JoinSet<()>,
        /// The number in the notice.
        clerk: JoinHandle<i64>,
        closing_time: Arc<Notify>,
    }

    impl Storm {
        async fn pass(seed: u64) -> Result<Tally, String> {
            let mut storm = Self::begin(seed).await;
            let laws = storm.laws.clone();
            storm.rage().await;
            storm.clear_up().await;
            storm.end().await;
            laws.what_is_broken().map_or_else(|| Ok(laws.tally()), Err)
        }

        async fn begin(seed: u64) -> Self {
            let mut rng = fastrand::Rng::with_seed(seed);
            let laws = Laws::default();
            let server = Server::start(&laws);
            let clerk = Way::to(&server, rng.fork()).connector();
            let clerk = Client::builder("in-memory").connector(clerk).connect().await;
            let clerk = clerk.expect("nothing is broken yet");
            for path in [LEDGER, NOTICE] {
                let created = clerk.create(path, b"0", CreateMode::Persistent).await;
                created.expect("nothing is broken yet");
            }
            let closing_time = Arc::new(Notify::new());
            let clerk = keep_notice(clerk, rng.fork(), Arc::clone(&closing_time));
            let mut storm = Self {
                rng,
                laws,
                server,
                ways: Vec::new(),
                orders: Vec::new(),
                processes: JoinSet::new(),
                healers: JoinSet::new(),
                clerk: tokio::spawn(clerk),
                closing_time,
            };
            for number in 0..PROCESSES {
                storm.add_process(number);
            }
            storm
        }

        fn add_process(&mut self, number: usize) {
            let (sender, orders) = mpsc::channel(1);
            let way = Way::to(&self.server, self.rng.fork());
            let (laws, rng) = (self.laws.clone(), self.rng.fork());
            let process = Process { number, laws, rng, way: way.clone() };
            self.processes.spawn(process.run(orders));
            self.ways.push(way);
            self.orders.push(sender);
        }

        /// One plague after the other, some at a time.
        async fn rage(&mut self) {
            let end = Instant::now() + STORM;
            let mut next = Instant::now();
            while Instant::now() < end && self.laws.what_is_broken().is_none() {
                if next <= Instant::now() {
                    self.plague();
                    next = Instant::now() + self.millis(5..1500);
                }
                sleep(STEP).await;
                self.laws.one_leader_at_most();
            }
        }

        fn plague(&mut self) {
            let victim = self.rng.usize(0..PROCESSES);
            let way = self.ways[victim].clone();
            match self.rng.u8(0..16) {
                0 | 1 => way.cut(),
                2 => self.for_a_while(way, |weather| weather.port = Port::Closed),
                3 => self.for_a_while(way, |weather| weather.to_server = Flow::Held),
                4 => self.for_a_while(way, |weather| weather.to_client = Flow::Held),
                5 => self.for_a_while(way, |weather| weather.latency = TIMEOUT / 10),
                6 => {
                    for way in self.ways.clone() {
                        self.for_a_while(way, |weather| {
                            weather.to_server = Flow::Held;
                            weather.to_client = Flow::Held;
                        });
                    }
                }
                7 | 8 => self.server.drop_connections(),
                order => {
                    let order = match order {
                        9 | 10 => Order::HandOver,
                        11 | 12 => Order::Crash,
                        13 => Order::Close,
                        14 => Order::Drop,
                        _ => Order::Resign,
                    };
                    // One that has not come round to the last order yet is spared this one.
                    let _ = self.orders[victim].try_send(order);
                }
            }
        }

        /// What is held back is delivered in the end, or lost with its connection.
        fn for_a_while(&mut self, way: Way, change: impl FnOnce(&mut Weather)) {
            way.change(change);
            let (time, is_lost) = (self.millis(50..4000), self.rng.bool());
            self.healers.spawn(async move {
                sleep(time).await;
                if is_lost {
                    way.cut();
                }
                way.change(Weather::clear_up);
            });
        }

        fn millis(&mut self, range: Range<u64>) -> Duration {
            Duration::from_millis(self.rng.u64(range))
        }

        /// Once nothing happens any more, one leads and goes on leading, and everybody knows what
        /// was written.
        async fn clear_up(&mut self) {
            self.closing_time.notify_one();
            self.healers.shutdown().await;
            for way in &self.ways {
                way.change(Weather::clear_up);
            }
            sleep(CALM).await;
            let leaders = self.laws.leaders();
            if leaders.len() != 1 {
                self.laws.broken(format!("in the calm these lead: {leaders:?}"));
            }
            sleep(TIMEOUT * 3).await;
            let later = self.laws.leaders();
            if later != leaders {
                self.laws.broken(format!("in the calm {later:?} lead after {leaders:?}"));
            }
            let candidates = self.server.children(ELECTION);
            if candidates.len() != PROCESSES {
                self.laws.broken(format!("in the calm there are {candidates:?}"));
            }
            match (&mut self.clerk).await {
                // Each process follows it in two ways.
                Ok(number) => self.laws.all_have_seen(number, 2 * PROCESSES),
                Err(error) => self.laws.broken(error.to_string()),
            }
        }

        /// Nothing is left behind: no candidate, no session, no task.
        async fn end(&mut self) {
            for orders in self.orders.drain(..) {
                if self.rng.bool() {
                    let _ = orders.try_send(Order::Drop);
                }
            }
            let ended = async { while self.processes.join_next().await.is_some() {} };
            if timeout(CALM, ended).await.is_err() {
                self.laws.broken("a process never ends".to_owned());
            }
            sleep(CALM).await;
            let candidates = self.server.children(ELECTION);
            if !candidates.is_empty() {
                self.laws.broken(format!("these are left behind: {candidates:?}"));
            }
            let sessions = self.server.sessions();
            if !sessions.is_empty() {
                self.laws.broken(format!("sessions are left behind: {sessions:?}"));
            }
            // One is the server's clock.
            let tasks = Handle::current().metrics().num_alive_tasks();
            if tasks != 1 {
                self.laws.broken(format!("{} tasks are left behind", tasks - 1));
            }
        }
    }
}
