//! What people read on standard error, and results on standard output.

use core::fmt::Display;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;

const NAME: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// A result, on standard output at once. A reader that has gone, such as `head`, wants no more.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::System { what: "standard output cannot be written", error })
        }
        _ => Ok(()),
    }
}

/// One line about what goes on. Nobody is left to be told if that cannot be written.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{NAME}zkelect:{NAME:#} {text}");
}

/// One line about what should not be.
pub(crate) fn warn(text: impl Display) {
    let _ =
        writeln!(anstream::stderr(), "{NAME}zkelect:{NAME:#} {WARNING}warning:{WARNING:#} {text}");
}

/// Why this ends, and what to do.
pub(crate) fn failure(failure: &Failure) {
    let mut stderr = anstream::stderr();
    let _ = writeln!(stderr, "{NAME}zkelect:{NAME:#} {ERROR}error:{ERROR:#} {failure}");
    if let Some(advice) = failure.advice() {
        let _ = writeln!(stderr, "{NAME}zkelect:{NAME:#} {advice}");
    }
}

/// Shows the library's tracing events on standard error, as far as asked for.
pub(crate) fn trace(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let asked = Targets::new().with_default(level);
    let targets = match std::env::var("RUST_LOG") {
        Ok(filter) if verbose == 0 => filter.parse().unwrap_or_else(|error| {
            warn(format_args!("RUST_LOG is not heeded: {error}"));
            asked
        }),
        _ => asked,
    };
    tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().with_ansi(false).with_writer(io::stderr))
        .with(targets)
        .init();
}
