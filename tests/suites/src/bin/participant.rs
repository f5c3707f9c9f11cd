//! Uses barriers, queues, counters, groups and caches as a process of its own, as it is told on standard input.
//!
//! `participant SERVERS SESSION_TIMEOUT_MS`. It prints `ready` once it has a session. Each line of
//! standard input is an order, `ID RECIPE VERB PATH [ARGUMENT...]`, and is carried out beside those
//! before it. The program prints `ID item DATA` for each item on the way; and in the end `ID ok
//! [DATA]`, or `ID fails REASON`. The end of standard input ends the session and the process.
//!
//! | recipe | verbs and arguments |
//! |---|---|
//! | `barrier` | `set`, `lift`, `wait` |
//! | `double_barrier` | `enter COUNT`, `leave` |
//! | `queue`, `qn`, `kazoo` | `put DATA [PRIORITY]`, `fill COUNT PREFIX`, `take`, `drain`, `claim`, `done` |
//! | `counter`, `curator_counter` | `count COUNT`, `get` |
//! | `group`, `party`, `shallow_party` | `join NAME DATA`, `set DATA`, `leave`, `members`, `watch` |
//! | `cache` | `begin`, `tree` |
//!
//! `fill` puts many, `drain` takes until there is nothing, and `count` adds 1 so often; each item is printed
//! once it is known to be put, taken or counted. An item that may have been taken by this one or by another
//! is printed with a `?` before it. `members` tells all members in alphabetical order, `NAME=DATA` of a group,
//! the data of a party, and the names of a shallow one; `watch` gives an item for each view, without end. `tree` tells the
//! paths of a cache that was begun.
//!
//! Those of other libraries, which are in `tests/suites/tests/programs/interop/peers`, take the same orders.

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use election_tokio::Client;
use election_tokio::barrier::Entered;
use election_tokio::cache::CachedTree;
use election_tokio::counter::{Counter, CounterError, CounterFormat};
use election_tokio::group::{GroupFormat, GroupView, MemberData, Membership};
use election_tokio::queue::{Claimed, Queue, QueueFormat, TakeError};
use tokio::sync::mpsc;

type Failure = Box<dyn core::error::Error + Send + Sync>;

/// The participant's state from one order to the next, by path.
#[derive(Clone, Default)]
struct Kept {
    entered: Arc<Mutex<HashMap<String, Entered>>>,
    claimed: Arc<Mutex<HashMap<String, Claimed>>>,
    joined: Arc<Mutex<HashMap<String, Arc<Membership>>>>,
    cached: Arc<Mutex<HashMap<String, Arc<CachedTree>>>>,
}

/// An order.
#[derive(Clone)]
struct Order {
    id: String,
    recipe: String,
    verb: String,
    path: String,
    arguments: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match participate().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("fails {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn participate() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, timeout] = &arguments[..] else {
        return Err("participant SERVERS SESSION_TIMEOUT_MS".into());
    };
    let client = Client::builder(servers)
        .session_timeout(Duration::from_millis(timeout.parse()?))
        .connect_timeout(Duration::from_secs(30))
        .connect()
        .await?;
    let kept = Kept::default();
    let mut orders = orders();
    say("ready");
    while let Some(order) = orders.recv().await {
        let (client, kept) = (client.clone(), kept.clone());
        tokio::spawn(async move {
            let id = order.id.clone();
            match order.carry_out(&client, &kept).await {
                Ok(value) => say(format!("{id} ok {value}").trim_end()),
                Err(error) => say(&format!("{id} fails {error}")),
            }
        });
    }
    drop(kept);
    client.close().await?;
    Ok(())
}

impl Order {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ').map(str::to_owned);
        let (id, recipe) = (words.next()?, words.next()?);
        let (verb, path) = (words.next()?, words.next()?);
        Some(Self { id, recipe, verb, path, arguments: words.collect() })
    }

    fn argument(&self, place: usize) -> Result<&str, Failure> {
        Ok(self.arguments.get(place).ok_or("an argument is missing")?)
    }

    fn item(&self, data: &str) {
        say(&format!("{} item {data}", self.id));
    }

    async fn carry_out(&self, client: &Client, kept: &Kept) -> Result<String, Failure> {
        match self.recipe.as_str() {
            "barrier" => self.pass(client).await,
            "double_barrier" => self.gather(client, kept).await,
            "queue" => self.queue(client, QueueFormat::guide(), kept).await,
            "qn" => self.queue(client, QueueFormat::distributed_queue(), kept).await,
            "kazoo" => self.queue(client, QueueFormat::kazoo(), kept).await,
            "counter" => self.count(&client.counter(&self.path)).await,
            "curator_counter" => {
                self.count(&client.counter(&self.path).format(CounterFormat::BigEndian)).await
            }
            "group" => self.group(client, GroupFormat::Plain, kept).await,
            "party" => self.group(client, GroupFormat::Party, kept).await,
            "shallow_party" => self.group(client, GroupFormat::ShallowParty, kept).await,
            "cache" => self.cache(client, kept).await,
            _ => Err(self.unknown()),
        }
    }

    async fn cache(&self, client: &Client, kept: &Kept) -> Result<String, Failure> {
        let all = || kept.cached.lock().unwrap_or_else(PoisonError::into_inner);
        match self.verb.as_str() {
            "begin" => {
                let cache = Arc::new(client.cache(&self.path).keep()?);
                all().insert(self.path.clone(), cache);
                Ok(String::new())
            }
            "tree" => {
                let cache = all().get(&self.path).cloned().ok_or("it was not begun")?;
                cache.current().await?;
                let tree = cache.snapshot();
                let paths: Vec<_> = tree.iter().map(|(path, _)| path).collect();
                Ok(paths.join(" "))
            }
            _ => Err(self.unknown()),
        }
    }

    fn unknown(&self) -> Failure {
        format!("no {} {}", self.recipe, self.verb).into()
    }

    async fn pass(&self, client: &Client) -> Result<String, Failure> {
        let barrier = client.barrier(&self.path);
        match self.verb.as_str() {
            "set" => barrier.set().await?,
            "lift" => barrier.lift().await?,
            "wait" => barrier.wait().await?,
            _ => return Err(self.unknown()),
        }
        Ok(String::new())
    }

    async fn gather(&self, client: &Client, kept: &Kept) -> Result<String, Failure> {
        let entered = || kept.entered.lock().unwrap_or_else(PoisonError::into_inner);
        match self.verb.as_str() {
            "enter" => {
                let barrier = client.double_barrier(&self.path, self.argument(0)?.parse()?);
                let inside = barrier.enter().await?;
                entered().insert(self.path.clone(), inside);
            }
            "leave" => {
                let inside = entered().remove(&self.path).ok_or("it has not entered")?;
                inside.leave().await?;
            }
            _ => return Err(self.unknown()),
        }
        Ok(String::new())
    }

    async fn queue(
        &self,
        client: &Client,
        format: QueueFormat,
        kept: &Kept,
    ) -> Result<String, Failure> {
        let queue = client.queue(&self.path).format(format);
        let claimed = || kept.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        match self.verb.as_str() {
            "put" => {
                let (data, priority) = (self.argument(0)?.to_owned(), self.argument(1));
                match priority {
                    Ok(priority) => {
                        let queue = client.priority_queue(&self.path).format(format);
                        queue.put(priority.parse()?, data).await?;
                    }
                    Err(_) => drop(queue.put(data).await?),
                }
            }
            "fill" => {
                let (count, prefix): (u32, _) = (self.argument(0)?.parse()?, self.argument(1)?);
                for item in 0..count {
                    let data = format!("{prefix}-{item}");
                    queue.put(data.clone()).await?;
                    self.item(&data);
                }
            }
            "take" => return text(&queue.take().await?.data),
            "drain" => self.drain(&queue).await?,
            "claim" => {
                let inside = queue.claim().await?;
                let data = text(&inside.item().data)?;
                claimed().insert(self.path.clone(), inside);
                return Ok(data);
            }
            "done" => {
                let inside = claimed().remove(&self.path).ok_or("it has claimed nothing")?;
                inside.done().await?;
            }
            _ => return Err(self.unknown()),
        }
        Ok(String::new())
    }

    async fn drain(&self, queue: &Queue) -> Result<(), Failure> {
        loop {
            match queue.try_take().await {
                Ok(Some(item)) => self.item(&text(&item.data)?),
                Ok(None) => return Ok(()),
                Err(TakeError::Unknown(item)) => self.item(&format!("?{}", text(&item.data)?)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn group(
        &self,
        client: &Client,
        format: GroupFormat,
        kept: &Kept,
    ) -> Result<String, Failure> {
        let group = client.group(&self.path).format(format);
        let joined = || kept.joined.lock().unwrap_or_else(PoisonError::into_inner);
        match self.verb.as_str() {
            "join" => {
                let data = self.argument(1)?.to_owned();
                let member = group.join_as(self.argument(0)?, data).await?;
                joined().insert(self.path.clone(), Arc::new(member));
            }
            "set" => {
                let member = joined().get(&self.path).cloned().ok_or("it has not joined")?;
                member.set_data(self.argument(0)?.to_owned()).await?;
            }
            "leave" => {
                let member = joined().remove(&self.path).ok_or("it has not joined")?;
                let member = Arc::try_unwrap(member).map_err(|_| "its data is being set")?;
                member.leave().await?;
            }
            "members" => return members(format, &group.members().await?),
            "watch" => {
                let mut watch = group.watch();
                while let Some(view) = watch.next().await {
                    self.item(&members(format, &view?)?);
                }
            }
            _ => return Err(self.unknown()),
        }
        Ok(String::new())
    }

    async fn count(&self, counter: &Counter) -> Result<String, Failure> {
        match self.verb.as_str() {
            "count" => {
                let count: u32 = self.argument(0)?.parse()?;
                for _ in 0..count {
                    match counter.add(1).await {
                        Ok(number) => self.item(&number.to_string()),
                        Err(CounterError::Unknown { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(String::new())
            }
            "get" => Ok(counter.get().await?.to_string()),
            _ => Err(self.unknown()),
        }
    }
}

/// Returns all members, in an order that does not depend on the names of their znodes.
fn members(format: GroupFormat, view: &GroupView) -> Result<String, Failure> {
    let mut members = Vec::new();
    for (znode, member) in &*view.members {
        let data = match &member.data {
            MemberData::Is(data) => text(data)?,
            MemberData::Unreadable | MemberData::Changing => "?".to_owned(),
        };
        let name = format.name_of(znode);
        members.push(match format {
            GroupFormat::Plain => format!("{name}={data}"),
            GroupFormat::Party => data,
            GroupFormat::ShallowParty => name.to_owned(),
        });
    }
    members.sort();
    Ok(members.join(" "))
}

fn text(data: &[u8]) -> Result<String, Failure> {
    Ok(core::str::from_utf8(data)?.to_owned())
}

fn orders() -> mpsc::UnboundedReceiver<Order> {
    let (sender, receiver) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Some(order) = Order::read(&line) else {
                return;
            };
            if sender.send(order).is_err() {
                return;
            }
        }
    });
    receiver
}

fn say(line: &str) {
    if writeln!(io::stdout().lock(), "{line}").is_err() {
        // No process listens any more.
        std::process::exit(1);
    }
}
