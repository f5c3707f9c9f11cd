//! `zkelect barrier`: sets, lifts and waits for a barrier.

#[cfg(target_os = "linux")]
mod enter;
mod path;

use core::time::Duration;

use election_tokio::{Client, ConnectionState};
use tokio::time::{Instant, timeout_at};

use crate::args::{BarrierAction, BarrierArgs, BarrierWaitArgs, NodeArgs};
use crate::console;
use crate::errand::{Reach, errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::Failure;
use path::check;

/// How long a subcommand that does not wait looks for a server.
const ASK_BOUND: Duration = Duration::from_secs(10);

pub(crate) async fn barrier(args: BarrierArgs) -> Result<Exit, Failure> {
    match args.action {
        BarrierAction::Set(args) => set(&args.node).await,
        BarrierAction::Lift(args) => lift(&args.node).await,
        BarrierAction::Wait(args) => wait(&args).await,
        #[cfg(target_os = "linux")]
        BarrierAction::Enter(args) => enter::enter(&args).await,
    }
}

async fn set(node: &NodeArgs) -> Result<Exit, Failure> {
    check(&node.path)?;
    errand(&node.servers, node.into(), async |client: &Client| {
        let barrier = client.barrier(&node.path);
        within_or_in_doubt(*node.timeout, "the barrier may be set", barrier.set()).await?;
        Ok(Exit::Success)
    })
    .await
}

async fn lift(node: &NodeArgs) -> Result<Exit, Failure> {
    check(&node.path)?;
    errand(&node.servers, node.into(), async |client: &Client| {
        let barrier = client.barrier(&node.path);
        within_or_in_doubt(*node.timeout, "the barrier may be lifted", barrier.lift()).await?;
        Ok(Exit::Success)
    })
    .await
}

async fn wait(args: &BarrierWaitArgs) -> Result<Exit, Failure> {
    check(&args.path)?;
    let bound = args.wait.map(|bound| *bound);
    let until = bound.and_then(|bound| Instant::now().checked_add(bound));
    match bound.zip(until) {
        None => {
            errand(&args.servers, Reach::Patient { bound: None }, async |client: &Client| {
                client.barrier(&args.path).wait().await?;
                Ok(Exit::Success)
            })
            .await
        }
        Some((Duration::ZERO, _)) => {
            errand(&args.servers, Reach::Within(ASK_BOUND), async |client: &Client| {
                let is_set = within(ASK_BOUND, client.barrier(&args.path).is_set()).await?;
                Ok(if is_set { is_set_still(&args.path) } else { Exit::Success })
            })
            .await
        }
        Some((bound, until)) => {
            let reach = Reach::Patient { bound: Some(bound) };
            errand(&args.servers, reach, async |client: &Client| {
                match timeout_at(until, client.barrier(&args.path).wait()).await {
                    Ok(passed) => passed.map(|()| Exit::Success).map_err(Into::into),
                    // A server in reach would have said so.
                    Err(_) if is_connected(client) => Ok(is_set_still(&args.path)),
                    Err(_) => Err(Failure::NoAnswer(bound)),
                }
            })
            .await
        }
    }
}

fn is_connected(client: &Client) -> bool {
    matches!(client.connection_state(), ConnectionState::Connected { .. })
}

fn is_set_still(path: &str) -> Exit {
    console::remark(format_args!("the barrier {path} is set (`zkelect barrier lift` lifts it)"));
    Exit::Busy(1)
}
