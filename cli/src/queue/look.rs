//! Checks the path of a queue, and the znodes there.

use election_tokio::Client;
use election_tokio::queue::TakeError;

use crate::args::QueueFormatName;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{connection, console};

pub(super) fn is_empty(path: &str) -> Exit {
    console::remark(format_args!("{path} has no item that is not claimed"));
    Exit::Busy(1)
}

/// Refuses the path before anything is sent.
pub(super) fn check(path: &str) -> Result<(), TakeError> {
    connection::check_path(path)
        .map_err(|error| TakeError::InvalidPath { path: path.to_owned(), error })
}

/// Fails if there are items of another format: then a queue only looks empty.
pub(super) async fn check_format(
    client: &Client,
    path: &str,
    asked: QueueFormatName,
) -> Result<(), Failure> {
    let names = match client.get_children(path).await {
        Ok(names) => names,
        Err(error) if error.is_no_node() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match QueueFormatName::recognised(&names.iter().collect::<Vec<_>>()) {
        Some(found) if found != asked => {
            Err(Failure::OtherItems { path: path.to_owned(), asked, found })
        }
        _ => Ok(()),
    }
}
