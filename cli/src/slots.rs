//! `zkelect slots`: shares slots out among members, lists them, and drains a member.

#[cfg(target_os = "linux")]
mod run;

use election_tokio::slots::{SlotHolding, Slots};
use election_tokio::{Client, Token};
use serde::Serialize;

use crate::args::{SlotsAction, SlotsArgs, SlotsListArgs, SlotsMemberArgs};
use crate::errand::{errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{cells, console};

pub(crate) async fn slots(args: SlotsArgs) -> Result<Exit, Failure> {
    match args.action {
        #[cfg(target_os = "linux")]
        SlotsAction::Run(args) => run::run(&args).await,
        SlotsAction::List(args) => list(&args).await,
        SlotsAction::Drain(args) => {
            change(&args, "the member may be drained", async |slots, member| {
                slots.drain(member).await
            })
            .await
        }
        SlotsAction::Admit(args) => {
            change(&args, "the member may be admitted", async |slots, member| {
                slots.admit(member).await
            })
            .await
        }
    }
}

/// A line of the table.
#[derive(Serialize)]
struct Row {
    slot: String,
    planned: Option<String>,
    holder: Option<String>,
    token: Option<i64>,
    session: Option<String>,
    waiting: usize,
}

impl From<SlotHolding> for Row {
    fn from(holding: SlotHolding) -> Self {
        Self {
            slot: holding.slot.to_string(),
            planned: holding.planned.map(|member| member.to_string()),
            holder: holding.holder,
            token: holding.token.map(Token::get),
            session: holding.session.map(|session| session.to_string()),
            waiting: holding.waiting,
        }
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let or_none = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), cells::cut);
        vec![
            cells::cut(&self.slot),
            or_none(self.planned.as_deref()),
            or_none(self.holder.as_deref()),
            self.token.map_or_else(|| "-".to_owned(), |token| token.to_string()),
            self.waiting.to_string(),
        ]
    }
}

/// Prints the slots, in the order of their names or numbers.
async fn list(args: &SlotsListArgs) -> Result<Exit, Failure> {
    let SlotsListArgs { node, json } = args;
    errand(&node.servers, node.into(), async |client: &Client| {
        let table = within(*node.timeout, client.slots(&node.path, 0).table()).await?;
        if table.plan.is_none() {
            console::remark(format_args!("{} has no plan", node.path));
        }
        let rows: Vec<Row> = table.slots.into_iter().map(Row::from).collect();
        let text = if *json {
            let json = serde_json::to_string_pretty(&rows).unwrap_or_default();
            format!("{}\n", console::for_terminal(&json))
        } else {
            let header = ["SLOT", "PLANNED", "HOLDER", "TOKEN", "WAITING"];
            let header = header.map(str::to_owned).to_vec();
            cells::aligned(&header, &rows.iter().map(Row::cells).collect::<Vec<_>>())
        };
        console::print(&text).map(|()| Exit::Success)
    })
    .await
}

async fn change(
    args: &SlotsMemberArgs,
    what: &'static str,
    work: impl AsyncFn(&Slots, &str) -> Result<(), election_tokio::slots::SlotsError>,
) -> Result<Exit, Failure> {
    let SlotsMemberArgs { node, member } = args;
    errand(&node.servers, node.into(), async |client: &Client| {
        let slots = client.slots(&node.path, 0);
        within_or_in_doubt(*node.timeout, what, work(&slots, member)).await?;
        Ok(Exit::Success)
    })
    .await
}
