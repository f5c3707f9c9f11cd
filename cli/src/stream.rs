//! Results that are printed while they come.

use std::io::{self, Write as _};

use crate::failure::Failure;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    There,
    Gone,
}

/// Prints on another thread. A reader that has stopped reading delays neither signals nor the
/// session, and gets the changes in between once it reads again.
pub(crate) async fn print(text: String) -> Result<Reader, Failure> {
    let written = tokio::task::spawn_blocking(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    match written.await {
        Ok(Ok(())) => Ok(Reader::There),
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Ok(Err(error)) => Err(Failure::system("standard output cannot be written")(error)),
        Err(_) => Err(Failure::Internal("the thread that writes to standard output failed")),
    }
}
