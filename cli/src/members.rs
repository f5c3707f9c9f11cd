//! `zkelect members`: joins a group, lists its members and watches them.

mod join;
mod list;
mod path;
mod row;
mod watch;

use crate::args::{MembersAction, MembersArgs};
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) async fn members(args: MembersArgs) -> Result<Exit, Failure> {
    match args.action {
        MembersAction::Join(args) => join::join(&args).await,
        MembersAction::List(args) => list::list(&args).await,
        MembersAction::Watch(args) => watch::watch(&args).await,
    }
}
