//! Messages for users on standard error, and results on standard output.

use core::fmt::{Display, Write as _};
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use election_tokio::error::Escaped;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;
use crate::outlet::Outlet;

const NAME: Style = Style::new().bold();
const TIME: Style = Style::new().dimmed();
const INFO: Style = AnsiColor::Green.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Prints a result on standard output at once. A reader that has gone, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::System { what: "standard output cannot be written", error })
        }
        _ => Ok(()),
    }
}

/// Returns whether results may be in colour: not if `NO_COLOR` is set, nor if standard output is no
/// terminal.
pub(crate) fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Prints a result as one line of JSON on standard output at once.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&json_line(value))
}

pub(crate) fn json_line(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    format!("{}\n", for_terminal(&json))
}

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Prints no lines about progress from here on.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Prints what a command has found or asked, where that is no result: a sentence without time and
/// level, as the error that ends a command is.
pub(crate) fn remark(text: impl Display) {
    if IS_QUIET.load(Ordering::Relaxed) {
        return;
    }
    line(format_args!("{NAME}zkelect:{NAME:#} {}", Escaped(text)));
}

/// Logs progress.
pub(crate) fn note(text: impl Display) {
    if IS_QUIET.load(Ordering::Relaxed) {
        return;
    }
    line(logged("INFO", INFO, text));
}

/// Logs a problem.
pub(crate) fn warn(text: impl Display) {
    line(logged("WARN", WARNING, text));
}

/// Returns a line of the form of the library's tracing events: the time in UTC, the level, the source.
fn logged(level: &str, style: Style, text: impl Display) -> String {
    let mut time = String::new();
    // Writing to a `String` cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let text = Escaped(text);
    format!("{TIME}{time}{TIME:#} {style}{level:>5}{style:#} {NAME}zkelect:{NAME:#} {text}")
}

/// Prints why zkelect ends, and advice.
pub(crate) fn failure(failure: &Failure) {
    line(format_args!("{NAME}zkelect:{NAME:#} {ERROR}error:{ERROR:#} {}", Escaped(failure)));
    if let Some(advice) = failure.advice() {
        line(format_args!("{NAME}zkelect:{NAME:#} {}", Escaped(advice)));
    }
}

/// Escapes, as `\uXXXX`, the characters of a JSON text that a terminal would act upon or hide. The values
/// stay the same.
pub(crate) fn for_terminal(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        let is_plain =
            if c.is_ascii() { c != '\u{7f}' } else { !Escaped(c).to_string().starts_with('\\') };
        if is_plain {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

/// Waits until all messages are written, a second at most.
pub(crate) fn settle() {
    if let Some(outlet) = stderr() {
        outlet.settle();
    }
}

/// Prints a line without waiting for standard error: a reader that has stopped reading must not
/// keep COMMAND from being stopped.
fn line(text: impl Display) {
    let line = format!("{text}\n").into_bytes();
    match stderr() {
        Some(outlet) => outlet.line(line),
        None => drop(anstream::stderr().write_all(&line)),
    }
}

/// Returns `None` if no thread can be started.
fn stderr() -> Option<&'static Outlet> {
    static STDERR: OnceLock<Option<Outlet>> = OnceLock::new();
    let outlet = STDERR.get_or_init(|| {
        let missed = |count, _: Option<&io::Error>| {
            let text = logged("WARN", WARNING, format_args!(
                "{count} lines are missing: standard error was not read, or could not be written"
            ));
            Some(format!("{text}\n").into_bytes())
        };
        Outlet::new(Plain, missed).ok()
    });
    outlet.as_ref()
}

/// Standard error, without colours if it is no terminal.
struct Plain;

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        anstream::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        anstream::stderr().flush()
    }
}

/// One tracing event. It may contain what servers and other nominees have sent.
#[derive(Default)]
struct Trace(Vec<u8>);

impl Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.0);
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            line(Escaped(text));
        }
    }
}

/// Shows the library's tracing events on standard error, as far as asked for. It always shows what
/// blocks an election or a lock, since only a human removes that.
pub(crate) fn trace(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let blocked = ["election_tokio::election::blocked", "election_tokio::lock::blocked"];
    let blocked = blocked.map(|target| (target, level.max(LevelFilter::WARN)));
    let asked = Targets::from_iter(blocked).with_default(level);
    let targets = match std::env::var("RUST_LOG") {
        Ok(filter) if verbose == 0 => filter.parse().unwrap_or_else(|error| {
            warn(format_args!("RUST_LOG is not heeded: {error}"));
            asked
        }),
        _ => asked,
    };
    tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Trace::default))
        .with(targets)
        .init();
}
