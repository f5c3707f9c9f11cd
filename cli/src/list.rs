//! `zkelect list`: shows leader or holders, contenders that wait, and the items of a queue.

mod contest;
mod gathering;
mod items;
mod kind;
mod lookup;
mod queue;
mod row;
mod table;

use election_tokio::election::ElectionError;

use crate::args::{ListArgs, Reading};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{connection, console};
use contest::show;
pub(crate) use kind::recognised;
use lookup::Lookup;

/// Prints the contenders in their order.
pub(crate) async fn list(args: ListArgs) -> Result<Exit, Failure> {
    let (path, timeout) = (args.path(), *args.timeout);
    connection::check_path(path)
        .map_err(|error| ElectionError::InvalidPath { path: path.to_owned(), error })?;
    let builder = args.servers.client()?;
    let client = connection::connect(builder, &args.servers.servers, timeout).await?;
    let lookup = Lookup { client: &client, path, timeout };
    let shown = show(&lookup, args.reading(), args.json).await?;
    if shown == 0 {
        match args.reading() {
            Reading::Election => console::note(format_args!("no candidate stands at {path}")),
            Reading::Recognised if lookup.stat("").await?.is_some() => console::note(format_args!(
                "no contender and no item is at {path}, which exists: a barrier there is set"
            )),
            Reading::As(_) | Reading::Recognised => {
                console::note(format_args!("no contender is at {path}"));
            }
        }
    }
    // The session holds nothing, so it may time out.
    let _ = tokio::time::timeout(timeout, client.close()).await;
    Ok(Exit::Success)
}
