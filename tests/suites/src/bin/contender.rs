//! Contends for an election or a lock as a process of its own, and says on standard output when it
//! holds it, one [`Report`] a line.
//!
//! `contender SERVERS PATH NAME SESSION_TIMEOUT_MS RECIPE FORMAT`, where the recipe is `election`,
//! `lock`, `locks` (that of PATH and that of PATH-other) or `read_write_lock`, and the format is called as the function of `Format` that makes it; or
//! `semaphore` and the number of permits. On standard input, `ask exclusive` and `ask shared` make it
//! join the queue, `release` lets go, `downgrade` makes a writer a reader, and `revoke` asks the holders
//! to let go. The end of standard input ends the session and the process.
//!
//! Those of other libraries, which are in `tests/suites/tests/programs/interop/peers`, take the same orders and report the
//! same.

use core::future::Future;
use core::num::NonZeroU32;
use core::pin::pin;
use core::time::Duration;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::thread;

use election_core::format::Access;
use election_tokio::Client;
use election_tokio::format::Format;
use election_tokio::lock::Lock;
use tokio::sync::mpsc;
use zk_test_kit::history::now;
use zk_tests::contender::Report;

type Failure = Box<dyn core::error::Error>;

enum Order {
    Ask(Access),
    Release,
    Revoke,
    Downgrade,
}

enum Recipe {
    Election(Format),
    Lock(Format),
    Locks(Format),
    ReadWriteLock(Format),
    Semaphore(NonZeroU32),
}

/// The thing to contend for, and its contender.
struct Place {
    client: Client,
    recipe: Recipe,
    path: String,
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match contend().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its reports are read no more once it is to end; its log is kept.
            eprintln!("{error}");
            say(&Report::Fails(now(), error.to_string()));
            ExitCode::FAILURE
        }
    }
}

async fn contend() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let place = Place::begin(&arguments).await?;
    let mut orders = orders();
    say(&Report::Ready(now()));
    while let Some(order) = orders.recv().await {
        match (order, &place.recipe) {
            (Order::Ask(_), Recipe::Election(format)) => place.lead(*format, &mut orders).await?,
            (Order::Ask(access), Recipe::Lock(format)) => {
                place.lock(access).format(*format).hold(&mut orders).await?;
            }
            (Order::Ask(_), Recipe::Locks(format)) => {
                place.take_both(*format, &mut orders).await?;
            }
            (Order::Ask(access), Recipe::ReadWriteLock(format)) => {
                place.read_write_lock(access).format(*format).hold(&mut orders).await?;
            }
            (Order::Ask(_), Recipe::Semaphore(permits)) => {
                place.take_permit(*permits, &mut orders).await?;
            }
            (Order::Release | Order::Revoke | Order::Downgrade, _) => {
                return Err("it was not told to ask".into());
            }
        }
    }
    place.client.close().await?;
    Ok(())
}

impl Place {
    async fn begin(arguments: &[String]) -> Result<Self, Failure> {
        let [servers, path, name, timeout, recipe, format] = arguments else {
            let usage = "contender SERVERS PATH NAME SESSION_TIMEOUT_MS RECIPE FORMAT";
            return Err(usage.into());
        };
        let recipe = match (recipe.as_str(), format.as_str()) {
            ("election", format) => Recipe::Election(read_format(format)?),
            ("lock", format) => Recipe::Lock(read_format(format)?),
            ("locks", format) => Recipe::Locks(read_format(format)?),
            ("read_write_lock", format) => Recipe::ReadWriteLock(read_format(format)?),
            ("semaphore", permits) => Recipe::Semaphore(permits.parse()?),
            (recipe, format) => return Err(format!("no {recipe} in format {format}").into()),
        };
        let client = Client::builder(servers)
            .session_timeout(Duration::from_millis(timeout.parse()?))
            .connect_timeout(Duration::from_secs(30))
            .connect()
            .await?;
        Ok(Self { client, recipe, path: path.clone(), name: name.clone() })
    }

    fn lock(&self, _: Access) -> Lock {
        self.client.lock(&self.path).data(self.name.clone())
    }

    fn read_write_lock(&self, access: Access) -> Lock {
        let lock = match access {
            Access::Exclusive => self.client.write_lock(&self.path),
            Access::Shared => self.client.read_lock(&self.path),
        };
        lock.data(self.name.clone())
    }

    async fn lead(
        &self,
        format: Format,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Result<(), Failure> {
        let election = self.client.election(&self.path).data(self.name.clone());
        let mut nomination = election.format(format).nominate()?;
        let leadership = tokio::select! {
            elected = nomination.elected() => elected?,
            _ = orders.recv() => return Ok(()),
        };
        tell(leadership.is_valid(), leadership.lost(), orders).await;
        nomination.withdraw().await?;
        Ok(())
    }

    /// Takes two locks at once.
    async fn take_both(
        &self,
        format: Format,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Result<(), Failure> {
        let locks = self.client.locks([format!("{}-other", self.path), self.path.clone()]);
        let locks = locks.format(format).data(self.name.clone());
        let guard = tokio::select! {
            guard = locks.lock() => guard?,
            _ = orders.recv() => return Ok(()),
        };
        tell(guard.is_valid(), guard.lost(), orders).await;
        guard.release().await?;
        Ok(())
    }

    async fn take_permit(
        &self,
        permits: NonZeroU32,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Result<(), Failure> {
        let semaphore = self.client.semaphore(&self.path, permits).data(self.name.clone());
        let permit = tokio::select! {
            permit = semaphore.acquire() => permit?,
            _ = orders.recv() => return Ok(()),
        };
        tell(permit.is_valid(), permit.lost(), orders).await;
        permit.release().await?;
        Ok(())
    }
}

trait Hold {
    async fn hold(self, orders: &mut mpsc::UnboundedReceiver<Order>) -> Result<(), Failure>;
}

impl Hold for Lock {
    async fn hold(self, orders: &mut mpsc::UnboundedReceiver<Order>) -> Result<(), Failure> {
        let mut acquired = pin!(self.lock());
        let mut guard = loop {
            tokio::select! {
                guard = &mut acquired => break guard?,
                order = orders.recv() => match order {
                    Some(Order::Revoke) => drop(self.request_revoke_of_holders().await?),
                    _ => return Ok(()),
                },
            }
        };
        if guard.is_valid() {
            say(&Report::Holds(now()));
        }
        let mut was_asked = false;
        loop {
            tokio::select! {
                reason = guard.lost() => {
                    say(&Report::Loses(now(), reason.to_string()));
                    break;
                }
                Ok(()) = guard.revoke_requested(), if !was_asked => {
                    was_asked = true;
                    say(&Report::Asked(now()));
                }
                order = orders.recv() => {
                    if let Some(Order::Downgrade) = order {
                        say(&Report::Downgrades(now()));
                        guard = guard.downgrade().await?;
                    } else {
                        say(&Report::Releases(now()));
                        break;
                    }
                }
            }
        }
        guard.release().await?;
        Ok(())
    }
}

/// Says that it holds, until it is told to let go.
async fn tell<L: ToString>(
    is_valid: bool,
    lost: impl Future<Output = L>,
    orders: &mut mpsc::UnboundedReceiver<Order>,
) {
    if is_valid {
        say(&Report::Holds(now()));
    }
    tokio::select! {
        reason = lost => say(&Report::Loses(now(), reason.to_string())),
        _ = orders.recv() => say(&Report::Releases(now())),
    }
}

fn read_format(name: &str) -> Result<Format, Failure> {
    Ok(match name {
        "curator_latch" => Format::curator_latch(),
        "curator_lock" => Format::curator_lock(),
        "curator_read_write" => Format::curator_read_write(),
        "kazoo" => Format::kazoo(),
        "go_zookeeper" => Format::go_zookeeper(),
        "leader_election_support" => Format::leader_election_support(),
        "zookeeper_write_lock" => Format::zookeeper_write_lock(),
        _ => return Err(format!("no format {name}").into()),
    })
}

fn orders() -> mpsc::UnboundedReceiver<Order> {
    let (sender, receiver) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let order = match line.as_deref() {
                Ok("ask exclusive") => Order::Ask(Access::Exclusive),
                Ok("ask shared") => Order::Ask(Access::Shared),
                Ok("release") => Order::Release,
                Ok("revoke") => Order::Revoke,
                Ok("downgrade") => Order::Downgrade,
                Ok(_) | Err(_) => return,
            };
            if sender.send(order).is_err() {
                return;
            }
        }
    });
    receiver
}

fn say(report: &Report) {
    if writeln!(io::stdout().lock(), "{report}").is_err() {
        // No process listens any more.
        std::process::exit(1);
    }
}
