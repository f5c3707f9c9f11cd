//! `zkelect members watch`.

use std::time::SystemTime;

use election_tokio::group::{Continuity, GroupView};
use serde::Serialize;

use super::path::check;
use super::row::Row;
use crate::args::MembersWatchArgs;
use crate::console;
use crate::errand::{Done, Errand, Reach};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stream::{Reader, print};

/// Prints a line for each change, until a signal comes.
pub(super) async fn watch(args: &MembersWatchArgs) -> Result<Exit, Failure> {
    check(&args.path)?;
    let reach = Reach::Patient { bound: None };
    let mut errand = match Errand::begin(&args.servers, reach).await? {
        Done::Output(errand) => errand,
        Done::Told(_) => return Ok(Exit::Success),
    };
    let client = errand.client().clone();
    let mut watch = client.group(&args.path).format(args.format.format.format()).watch();
    let told = async {
        let mut when = When::AtFirst;
        while let Some(view) = watch.next().await {
            let lines = lines(&view?, when, args.json);
            when = When::Later;
            if print(lines).await? == Reader::Gone {
                break;
            }
        }
        Ok(Exit::Success)
    };
    let outcome = match errand.or_told(told).await {
        Done::Output(outcome) => outcome,
        Done::Told(_) => Ok(Exit::Success),
    };
    errand.end().await;
    outcome
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    AtFirst,
    Later,
}

/// A change, for JSON.
#[derive(Serialize)]
struct Line<'a> {
    at: &'a str,
    event: &'static str,
    #[serde(flatten)]
    row: Option<Row>,
}

fn lines(view: &GroupView, when: When, json: bool) -> String {
    let at = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let mut text = String::new();
    for (event, row) in changes(view, when) {
        if json {
            let line = Line { at: &at, event, row };
            let json = serde_json::to_string(&line).unwrap_or_default();
            text.push_str(&console::for_terminal(&json));
        } else {
            let row = row.as_ref().map_or_else(String::new, Row::text);
            text.push_str(format!("{event} {row}").trim_end());
        }
        text.push('\n');
    }
    text
}

/// Returns the changes. A member that has gone and come again leaves first.
fn changes(view: &GroupView, when: When) -> Vec<(&'static str, Option<Row>)> {
    let row = |name: &str| view.members.get(name).map(|member| Row::new(name, member));
    let mut changes = Vec::new();
    if view.continuity == Continuity::Broken {
        changes.push(("gap", None));
    }
    changes.extend(view.left.iter().map(|name| ("left", Some(Row::gone(name)))));
    let joined = if when == When::AtFirst { "present" } else { "joined" };
    changes.extend(view.joined.iter().map(|name| (joined, row(name))));
    changes.extend(view.changed.iter().map(|name| ("changed", row(name))));
    if when == When::AtFirst {
        changes.push(("watching", None));
    }
    changes
}
