//! `zkelect queue put`.

use std::ffi::OsString;
use std::io::{self, Read as _};

use election_tokio::error::Place;
use election_tokio::queue::PutError;
use election_tokio::{Bytes, Client};
use serde::Serialize;

use super::look::check;
use crate::args::{QueueFormatName, QueuePutArgs};
use crate::console;
use crate::errand::{errand, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::Failure;

/// The new item, for JSON.
#[derive(Serialize)]
struct Put<'a> {
    path: &'a str,
    name: String,
}

/// Puts an item and prints its name.
pub(super) async fn put(args: QueuePutArgs) -> Result<Exit, Failure> {
    let QueuePutArgs { node, data, priority, format, json } = args;
    check(&node.path)?;
    let format = format.unwrap_or(match priority {
        Some(_) => QueueFormatName::GuidePriority,
        None => QueueFormatName::Guide,
    });
    let priority = priority.unwrap_or(0);
    // This comes before anything is read or sent.
    let at = || Place::new("queue", &node.path, "put");
    let invalid = |error| PutError::Priority { at: at(), error };
    format.format().prefix(priority).map_err(invalid)?;
    let data = match data {
        Some(data) => Bytes::from(bytes_of(data)),
        None => from_standard_input()?,
    };
    errand(&node.servers, (&node).into(), async |client: &Client| {
        let queue = client.priority_queue(&node.path).format(format.format());
        let put = queue.put(priority, data);
        let name = within_or_in_doubt(*node.timeout, "the item may be in the queue", put).await?;
        if json {
            console::print_json(&Put { path: &node.path, name: name.to_string() })?;
        } else {
            console::print(&format!("{name}\n"))?;
        }
        Ok(Exit::Success)
    })
    .await
}

#[cfg(unix)]
fn bytes_of(argument: OsString) -> Vec<u8> {
    std::os::unix::ffi::OsStringExt::into_vec(argument)
}

#[cfg(not(unix))]
fn bytes_of(argument: OsString) -> Vec<u8> {
    argument.to_string_lossy().into_owned().into_bytes()
}

/// Reads the item. No session is open yet meanwhile, so a signal ends this subcommand like others.
fn from_standard_input() -> Result<Bytes, Failure> {
    let mut data = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut data);
    read.map_err(Failure::system("standard input cannot be read"))?;
    Ok(data.into())
}
