//! `zkelect queue`: puts items, takes them, and shows them.

#[cfg(target_os = "linux")]
mod claim;
mod look;
mod put;
mod take;

use election_tokio::Client;
use serde::Serialize;

use crate::args::{QueueAction, QueueArgs, QueueLenArgs, QueuePeekArgs};
use crate::console;
use crate::errand::{errand, within};
use crate::exit::Exit;
use crate::failure::Failure;
use look::{check, check_format, is_empty};

pub(crate) async fn queue(args: QueueArgs) -> Result<Exit, Failure> {
    match args.action {
        QueueAction::Put(args) => put::put(args).await,
        QueueAction::Take(args) => take::take(&args).await,
        #[cfg(target_os = "linux")]
        QueueAction::Claim(args) => claim::claim(&args).await,
        QueueAction::Peek(args) => peek(&args).await,
        QueueAction::Len(args) => len(&args).await,
    }
}

async fn peek(args: &QueuePeekArgs) -> Result<Exit, Failure> {
    let QueuePeekArgs { node, items, json } = args;
    check(&node.path)?;
    errand(&node.servers, node.into(), async |client: &Client| {
        let queue = client.queue(&node.path).format(items.format.format());
        if let Some(item) = within(*node.timeout, queue.peek()).await? {
            let printed = take::print(&item, *json);
            return printed
                .map(|()| Exit::Success)
                .map_err(Failure::system("standard output cannot be written"));
        }
        within(*node.timeout, check_format(client, &node.path, items.format)).await?;
        Ok(is_empty(&node.path))
    })
    .await
}

/// The number of items, for JSON.
#[derive(Serialize)]
struct Length<'a> {
    path: &'a str,
    length: usize,
}

async fn len(args: &QueueLenArgs) -> Result<Exit, Failure> {
    let QueueLenArgs { node, items, json } = args;
    check(&node.path)?;
    errand(&node.servers, node.into(), async |client: &Client| {
        let queue = client.queue(&node.path).format(items.format.format());
        let len = within(*node.timeout, queue.len()).await?;
        if len == 0 {
            within(*node.timeout, check_format(client, &node.path, items.format)).await?;
        }
        if *json {
            console::print_json(&Length { path: &node.path, length: len })?;
        } else {
            console::print(&format!("{len}\n"))?;
        }
        Ok(Exit::Success)
    })
    .await
}
