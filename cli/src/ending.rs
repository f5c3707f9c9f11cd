//! `zkelect end`, `reopen` and `delete`: ends an election for all, or opens it again.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::{Election, EndError, Reopening};
use serde::Serialize;

use crate::args::{DeleteArgs, ElectionArgs, EndArgs, ReopenArgs};
use crate::console;
use crate::errand::{errand, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::Failure;

/// The outcome, for JSON.
#[derive(Serialize)]
struct EndingOutcome {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<u64>,
}

/// Ends the election, and reports how many candidates stood.
pub(crate) async fn end(args: EndArgs) -> Result<Exit, Failure> {
    let bound = *args.election.timeout;
    let done = done(&args.election, bound, "the election may be ended", async |election| {
        election.end().await
    });
    removed("ended", &done.await?, &args.election, args.json)
}

/// Ends the election and deletes its znodes, and reports how many candidates stood.
pub(crate) async fn delete(args: DeleteArgs) -> Result<Exit, Failure> {
    let (quiet, bound) = (*args.quiet, *args.election.timeout);
    let bound = bound.saturating_add(quiet);
    let done = done(&args.election, bound, "it may be deleted, or ended", async |election| {
        election.delete(quiet).await
    });
    removed("deleted", &done.await?, &args.election, args.json)
}

/// Lets candidates stand again.
pub(crate) async fn reopen(args: ReopenArgs) -> Result<Exit, Failure> {
    let bound = *args.election.timeout;
    let done = done(&args.election, bound, "the election may be reopened", async |election| {
        election.reopen().await
    });
    let path = &args.election.one.election;
    let (outcome, text) = match done.await? {
        Done::Output(Reopening::Reopened) => ("reopened", format!("reopened {path}\n")),
        Done::Output(Reopening::WasOpen) => {
            console::remark(format_args!("{path} was not ended"));
            ("was_open", String::new())
        }
        Done::EndingOutcome(exit) => return Ok(exit),
    };
    say(&EndingOutcome { outcome, candidates: None }, &text, args.json)
}

enum Done<T> {
    Output(T),
    /// A signal came first.
    EndingOutcome(Exit),
}

async fn done<T>(
    args: &ElectionArgs,
    bound: Duration,
    in_doubt: &'static str,
    work: impl AsyncFnOnce(&Election) -> Result<T, EndError>,
) -> Result<Done<T>, Failure> {
    args.one.check()?;
    let mut output = None;
    let exit = errand(&args.one.servers, args.into(), async |client: &Client| {
        let election = args.one.of(client);
        output = Some(within_or_in_doubt(bound, in_doubt, work(&election)).await?);
        Ok(Exit::Success)
    })
    .await?;
    Ok(output.map_or(Done::EndingOutcome(exit), Done::Output))
}

fn removed(
    outcome: &'static str,
    done: &Done<u64>,
    args: &ElectionArgs,
    json: bool,
) -> Result<Exit, Failure> {
    let count = match *done {
        Done::Output(count) => count,
        Done::EndingOutcome(exit) => return Ok(exit),
    };
    let plural = if count == 1 { "" } else { "s" };
    let text = format!("{outcome} {}: {count} candidate{plural} stood\n", args.one.election);
    say(&EndingOutcome { outcome, candidates: Some(count) }, &text, json)
}

fn say(told: &EndingOutcome, text: &str, json: bool) -> Result<Exit, Failure> {
    if json {
        console::print_json(told)?;
    } else {
        console::print(text)?;
    }
    Ok(Exit::Success)
}
