//! `zkelect list`: shows leader or holders, contenders that wait, and the items of a queue.

mod contest;
mod gathering;
mod items;
mod kind;
mod lookup;
mod queue;
mod row;
mod table;
mod vacancy;

use election_tokio::election::ElectionError;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{connection, console};
use contest::{Listed, show};
pub(crate) use kind::{kind_at, recognised};
use lookup::Lookup;
use vacancy::Vacancy;

/// Prints the contenders in their order.
pub(crate) async fn list(args: ListArgs) -> Result<Exit, Failure> {
    let (path, timeout) = (args.path(), *args.timeout);
    connection::check_path(path)
        .map_err(|error| ElectionError::InvalidPath { path: path.to_owned(), error })?;
    let builder = args.servers.client()?;
    let client = connection::connect(builder, &args.servers.servers, timeout).await?;
    let lookup = Lookup { client: &client, path, timeout };
    if let Listed::Nothing(kind) = show(&lookup, args.reading(), args.json).await? {
        let vacancy = Vacancy::of(&lookup, args.reading(), kind).await?;
        console::remark(vacancy.sentence(path, args.reading()));
    }
    // The session holds nothing, so it may time out.
    let _ = tokio::time::timeout(timeout, client.close()).await;
    Ok(Exit::Success)
}
