//! A client in a process of its own, which does what it is told: one order a line on the standard
//! input, one answer a line on the standard output. The workers of kazoo and Curator know the same.
//!
//! ```text
//! connect SERVERS TIMEOUT_MS    one session, which the orders below use
//! reconnect                     the same again, on another session
//! tasks COUNT                   getData by 256 tasks: nanoseconds
//! futures COUNT                 getData by 256 futures in one task: nanoseconds
//! large COUNT                   getData of 64 KiB by eight tasks: nanoseconds
//! list COUNT                    getChildren of 100,000 names, one after another: nanoseconds
//! one COUNT                     getData one after another: the median in nanoseconds
//! probe COUNT                   the same beside 64 busy tasks: nanoseconds, of the median, of 999 in 1,000
//! stand NODE COUNT SESSIONS     candidates on `one` session, or each on its `own`
//! turn                          the leader resigns: nanoseconds until the next one leads
//! idle COUNT                    so many more sessions
//! ask MILLISECONDS              getData every 5 ms: the longest gap in nanoseconds, and errors
//! ```
//!
//! An answer is `ok` and numbers, or `failed` and the reason. The end of the input ends the process.

mod caller;
mod contender;
mod load;
mod ours;
mod queue;
mod raw;
mod tokio_zookeeper;
mod wire;
mod zookeeper_async;
mod zookeeper_client;

use core::time::Duration;
use std::io::{self, Write as _};

use contender::Contender;
use queue::{Queue, Sessions};
use tokio::runtime::Builder;

use crate::outcome::{Outcome, failed};

/// The threads of a worker's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    /// As `#[tokio::main]` has, on a machine with two cores.
    Two,
}

/// Serves orders with the client of this name.
pub(crate) fn run(name: &str, threads: Threads) -> Outcome<()> {
    let mut runtime = match threads {
        Threads::One => Builder::new_current_thread(),
        Threads::Two => Builder::new_multi_thread(),
    };
    if threads == Threads::Two {
        runtime.worker_threads(2);
    }
    let runtime = runtime.enable_all().build()?;
    match name {
        "raw" => raw::serve(raw::Successor::ByEvent),
        "raw-list" => raw::serve(raw::Successor::ListsAgain),
        "ours" => runtime.block_on(serve::<ours::Ours>()),
        "ours-settled" => runtime.block_on(serve::<ours::OursSettled>()),
        "zookeeper-client" => runtime.block_on(serve::<zookeeper_client::ZookeeperClient>()),
        "tokio-zookeeper" => runtime.block_on(serve::<tokio_zookeeper::TokioZookeeper>()),
        "zookeeper-async" => runtime.block_on(serve::<zookeeper_async::ZookeeperAsync>()),
        _ => failed(format!("no worker of this name: {name}")),
    }
}

/// Says what came of an order.
fn answer(outcome: Outcome<Vec<u64>>) -> io::Result<()> {
    let line = match outcome {
        Ok(numbers) => {
            numbers.iter().fold("ok".to_owned(), |line, number| format!("{line} {number}"))
        }
        Err(error) => format!("failed {}", error.to_string().replace('\n', " ")),
    };
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

async fn serve<C: Contender>() -> Outcome<()> {
    // Its own thread reads, since the client goes on meanwhile.
    let (sender, mut orders) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let mut worker = Worker::<C> { place: None, client: None, queue: None, idle: Vec::new() };
    while let Some(order) = orders.recv().await {
        let words: Vec<&str> = order.split_whitespace().collect();
        answer(worker.obey(&words).await)?;
    }
    Ok(())
}

struct Worker<C> {
    place: Option<(String, Duration)>,
    client: Option<C>,
    queue: Option<Queue>,
    idle: Vec<C>,
}

impl<C: Contender> Worker<C> {
    async fn obey(&mut self, words: &[&str]) -> Outcome<Vec<u64>> {
        match words {
            ["connect", servers, timeout] => {
                let timeout = Duration::from_millis(timeout.parse()?);
                self.place = Some(((*servers).to_owned(), timeout));
                self.client = Some(self.another().await?);
                Ok(Vec::new())
            }
            ["reconnect"] => {
                if let Some(client) = self.client.take() {
                    client.close().await?;
                }
                self.client = Some(self.another().await?);
                Ok(Vec::new())
            }
            ["tasks", count] => load::tasks(self.client()?, count.parse()?).await,
            ["futures", count] => load::futures(self.client()?, count.parse()?).await,
            ["large", count] => load::large(self.client()?, count.parse()?).await,
            ["list", count] => load::list(self.client()?, count.parse()?).await,
            ["one", count] => load::one_at_a_time(self.client()?, count.parse()?).await,
            ["probe", count] => load::probe(self.client()?, count.parse()?).await,
            ["stand", node, count, "one"] => {
                let client = self.client()?.clone();
                let clients = vec![client; count.parse()?];
                self.queue = Some(Queue::stand(node, Sessions::One, clients).await?);
                Ok(Vec::new())
            }
            ["stand", node, count, "own"] => {
                let clients = self.several(count.parse()?).await?;
                self.queue = Some(Queue::stand(node, Sessions::Own, clients).await?);
                Ok(Vec::new())
            }
            ["turn"] => match &mut self.queue {
                Some(queue) => Ok(vec![nanos(queue.turn().await?)]),
                None => failed("no candidates"),
            },
            ["idle", count] => {
                self.idle = self.several(count.parse()?).await?;
                Ok(Vec::new())
            }
            ["ask", millis] => {
                caller::ask(self.client()?, Duration::from_millis(millis.parse()?)).await
            }
            _ => failed(format!("no such order: {words:?}")),
        }
    }

    fn client(&self) -> Outcome<&C> {
        self.client.as_ref().ok_or_else(|| "not connected".into())
    }

    async fn another(&self) -> Outcome<C> {
        match &self.place {
            Some((servers, timeout)) => C::connect(servers, *timeout).await,
            None => failed("not connected"),
        }
    }

    async fn several(&self, count: usize) -> Outcome<Vec<C>> {
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(self.another().await?);
        }
        Ok(clients)
    }
}
