//! `zkelect queue take`.

use core::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use election_tokio::ConnectionState;
use election_tokio::error::Escaped;
use election_tokio::queue::{Queue, QueueItem, TakeError};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::look::{check, check_format, is_empty};
use crate::args::{ForItem, QueueTakeArgs};
use crate::console;
use crate::data::Data;
use crate::errand::{Done, Errand, Reach};
use crate::exit::Exit;
use crate::failure::Failure;

/// Takes an item and prints it.
pub(super) async fn take(args: &QueueTakeArgs) -> Result<Exit, Failure> {
    let QueueTakeArgs { node, for_item, items, json } = args;
    check(&node.path)?;
    let for_item = for_item.for_item();
    let (reach, bound) = match for_item {
        ForItem::GiveUp => (Reach::from(node), Some(*node.timeout)),
        ForItem::Wait { bound } => (Reach::Patient { bound }, bound),
    };
    let until = bound.and_then(|bound| Instant::now().checked_add(bound));
    let mut errand = match Errand::begin(&node.servers, reach).await? {
        Done::Output(errand) => errand,
        Done::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
    };
    let client = errand.client().clone();
    let queue = client.queue(&node.path).format(items.format.format());
    let taken = async {
        if let Some(item) = queue.try_take().await? {
            return Ok(Some(item));
        }
        check_format(&client, &node.path, items.format).await?;
        match for_item {
            ForItem::GiveUp => Ok(None),
            ForItem::Wait { .. } => Ok::<_, Failure>(Some(queue.take().await?)),
        }
    };
    let taken = async {
        tokio::select! {
            biased;
            taken = taken => Some(taken),
            () = passed(until) => None,
        }
    };
    let (taken, in_vain) = match errand.or_told(taken).await {
        Done::Output(Some(taken)) => (taken, Ok(None)),
        Done::Output(None) => {
            let is_connected =
                matches!(client.connection_state(), ConnectionState::Connected { .. });
            let in_vain = match for_item {
                ForItem::Wait { .. } if is_connected => Ok(None),
                _ => Err(Failure::NoAnswer(bound.unwrap_or_default())),
            };
            (on_its_way(&mut errand, &queue).await, in_vain)
        }
        Done::Told(signal) => {
            (on_its_way(&mut errand, &queue).await, Ok(Some(Exit::Signal(signal.as_raw()))))
        }
    };
    let outcome = match taken {
        Ok(Some(item)) => print_taken(&item, *json).map(|()| Exit::Success),
        Ok(None) => in_vain.map(|exit| exit.unwrap_or_else(|| is_empty(&node.path))),
        Err(Failure::Take(TakeError::Unknown(item))) => {
            print_taken(&item, *json)?;
            Err(Failure::Take(TakeError::Unknown(item)))
        }
        Err(failure) => Err(failure),
    };
    errand.end().await;
    outcome
}

async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => core::future::pending().await,
    }
}

/// Returns the item of a take that was dropped while a deletion was on its way, if there is one:
/// the reply comes before the session is closed, and the handle of the queue has the item then.
/// Another signal ends the wait.
async fn on_its_way(errand: &mut Errand, queue: &Queue) -> Result<Option<QueueItem>, Failure> {
    let closing = errand.client().clone();
    let closed = async {
        // This machine takes nothing more.
        let _ = closing.close().await;
        queue.try_take().await
    };
    match errand.or_told(closed).await {
        Done::Output(Err(TakeError::Unknown(item))) => Err(TakeError::Unknown(item).into()),
        Done::Output(Ok(item)) => Ok(item),
        // The client has ended.
        Done::Output(Err(_)) | Done::Told(_) => Ok(None),
    }
}

/// Prints an item. It is lost if this fails.
fn print_taken(item: &QueueItem, json: bool) -> Result<(), Failure> {
    print(item, json).map_err(|error| Failure::Unprinted { item: item.name, error })
}

/// An item, for JSON.
#[derive(Serialize)]
struct Line {
    name: String,
    priority: u16,
    #[serde(flatten)]
    data: Data,
}

/// Prints an item as it was put, or as JSON; on a terminal, with what that would act upon shown as
/// `\u{…}`. This also fails if the reader of the output has gone.
pub(super) fn print(item: &QueueItem, json: bool) -> io::Result<()> {
    let text;
    let bytes = if json {
        let QueueItem { name, data, .. } = item;
        let line =
            Line { name: name.to_string(), priority: name.priority(), data: Data::from(&data[..]) };
        let json = serde_json::to_string(&line).unwrap_or_default();
        text = format!("{}\n", console::for_terminal(&json));
        text.as_bytes()
    } else if io::stdout().is_terminal() {
        text = for_eyes(&item.data);
        text.as_bytes()
    } else {
        &item.data
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// Shows data that another client wrote: lines and tabs stay, other bytes that a terminal would act
/// upon or hide, or that are not UTF-8, become visible.
fn for_eyes(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len());
    for chunk in data.utf8_chunks() {
        for c in chunk.valid().chars() {
            // Writing to a `String` cannot fail.
            let _ = match c {
                '\n' | '\t' => text.write_char(c),
                c => write!(text, "{}", Escaped(c)),
            };
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_what_it_would_act_upon() {
        let data = b"a\tb\n\x1b]0;t\x07\xffz\xe2\x80\xae\r\n";
        assert_eq!(for_eyes(data), "a\tb\n\\u{1b}]0;t\\u{7}\\xffz\\u{202e}\\r\n");
    }
}
