//! `zkelect counter`.

use election_tokio::Client;
use election_tokio::counter::{CompareAndSet, Counter, CounterError};
use serde::Serialize;

use crate::args::{CounterAction, CounterArgs, CounterSetArgs, OneCounterArgs};
use crate::errand::{errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{connection, console};

pub(crate) async fn counter(args: CounterArgs) -> Result<Exit, Failure> {
    match args.action {
        CounterAction::Get(args) => {
            with(&args.counter, async |counter: &Counter| {
                let number = within(*args.counter.node.timeout, counter.get()).await?;
                print(&args.counter, number, args.json)
            })
            .await
        }
        CounterAction::Add(args) => {
            with(&args.counter, async |counter: &Counter| {
                let (bound, what) = (*args.counter.node.timeout, "it may be added");
                let sum = within_or_in_doubt(bound, what, counter.add(args.number)).await?;
                print(&args.counter, sum, args.json)
            })
            .await
        }
        CounterAction::Set(args) => {
            with(&args.counter, async |counter: &Counter| {
                let (bound, what) = (*args.counter.node.timeout, "the counter may be set");
                within_or_in_doubt(bound, what, set(counter, &args)).await
            })
            .await
        }
    }
}

/// A counter, for JSON.
#[derive(Serialize)]
struct Counted<'a> {
    path: &'a str,
    number: i64,
}

fn print(counter: &OneCounterArgs, number: i64, json: bool) -> Result<Exit, Failure> {
    if json {
        console::print_json(&Counted { path: &counter.node.path, number })?;
    } else {
        console::print(&format!("{number}\n"))?;
    }
    Ok(Exit::Success)
}

async fn set(counter: &Counter, args: &CounterSetArgs) -> Result<Exit, CounterError> {
    let mut expected = match args.expected {
        Some(expected) => expected,
        None => counter.get().await?,
    };
    loop {
        match (counter.compare_and_set(expected, args.number).await?, args.expected) {
            (CompareAndSet::Differs(actual), None) => expected = actual,
            (CompareAndSet::Differs(actual), Some(_)) => {
                let path = &args.counter.node.path;
                console::remark(format_args!("{path} is at {actual}, and was not set"));
                return Ok(Exit::Busy(1));
            }
            _ => return Ok(Exit::Success),
        }
    }
}

async fn with(
    args: &OneCounterArgs,
    work: impl AsyncFnOnce(&Counter) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let OneCounterArgs { node, format } = args;
    connection::check_path(&node.path)
        .map_err(|error| CounterError::InvalidPath { path: node.path.clone(), error })?;
    errand(&node.servers, node.into(), async |client: &Client| {
        work(&client.counter(&node.path).format(format.format())).await
    })
    .await
}
