//! `zkelect members list`.

use election_tokio::Client;

use super::path::check;
use super::row::Row;
use crate::args::MembersListArgs;
use crate::errand::{errand, within};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{cells, console};

/// Prints one complete view, by name.
pub(super) async fn list(args: &MembersListArgs) -> Result<Exit, Failure> {
    let MembersListArgs { node, format, json } = args;
    check(&node.path)?;
    errand(&node.servers, node.into(), async |client: &Client| {
        let group = client.group(&node.path).format(format.format.format());
        let view = within(*node.timeout, group.members()).await?;
        let rows: Vec<Row> =
            view.members.iter().map(|(name, member)| Row::new(name, member)).collect();
        if rows.is_empty() {
            console::remark(format_args!("{} has no members", node.path));
        }
        let text = if *json {
            let json = serde_json::to_string_pretty(&rows).unwrap_or_default();
            format!("{}\n", console::for_terminal(&json))
        } else {
            let header = ["NAME", "SESSION", "TOKEN", "DATA"].map(str::to_owned).to_vec();
            cells::aligned(&header, &rows.iter().map(Row::cells).collect::<Vec<_>>())
        };
        console::print(&text).map(|()| Exit::Success)
    })
    .await
}
