//! Failures: a measure reports one, and the row goes on without that client.

use core::error::Error;
use std::io;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) fn failed<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(io::Error::other(reason.into()).into())
}
