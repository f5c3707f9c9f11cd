//! The places of options among the arguments, and the options that exist.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};
use toml::Value;

/// The subcommand that is called.
pub(super) struct CalledSubcommand<'a> {
    pub(super) leaf: &'a Command,
    /// Its name, after those of its parents.
    pub(super) path: Vec<&'a str>,
    /// The index of its first own argument.
    pub(super) index: usize,
}

impl<'a> CalledSubcommand<'a> {
    /// Finds the subcommand; `None` if the arguments call none.
    pub(super) fn find(command: &'a Command, arguments: &[OsString]) -> Option<Self> {
        let mut place = Self { leaf: command, path: Vec::new(), index: 1 };
        while place.leaf.has_subcommands() {
            let argument = arguments.get(place.index)?.to_str()?;
            place.index += 1;
            match argument {
                "--" => return None,
                "--config" => place.index += 1,
                _ if argument.starts_with('-') => {}
                _ => {
                    place.leaf = place.leaf.find_subcommand(argument)?;
                    place.path.push(place.leaf.get_name());
                }
            }
        }
        (place.path.first() != Some(&"help")).then_some(place)
    }
}

/// Returns the options of a subcommand that may come from elsewhere than the command line, with
/// their names.
pub(super) fn options<'a>(
    path: &[&str],
    leaf: &'a Command,
) -> impl Iterator<Item = (&'a Arg, &'a str)> {
    // The demo must run only on servers that the user named for it. And a token from `run` in
    // COMMAND's environment must not make `evict` or `hand-over` act on it.
    let is_on_its_own = matches!(path, ["demo"]);
    let leaves_token = matches!(path, ["evict" | "hand-over"]);
    leaf.get_arguments().filter_map(move |arg| {
        let long = arg.get_long()?;
        let is_apart = matches!(long, "help" | "version" | "config")
            || is_on_its_own
            || leaves_token && long == "token";
        (!is_apart).then_some((arg, long))
    })
}

/// How often a number may repeat a flag.
const MOST: i64 = 9;

/// Returns what kind of value an option takes, if this one does not fit.
pub(super) fn misfit(arg: &Arg, value: &Value) -> Option<&'static str> {
    let is_flag = !arg.get_action().takes_values();
    match (value, arg.get_action()) {
        (Value::Boolean(_), _) if is_flag || takes_none(arg) => None,
        (Value::Integer(0..=MOST), ArgAction::Count) => None,
        (_, ArgAction::Count) => Some("a small number"),
        _ if is_flag => Some("true or false"),
        (Value::Array(values), ArgAction::Append) if values.iter().all(is_plain) => None,
        _ if is_plain(value) => None,
        (_, ArgAction::Append) => Some("text, or a list of texts"),
        _ => Some("text or a number"),
    }
}

/// Returns whether an option may be given without a value.
pub(super) fn takes_none(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.min_values() == 0)
}

fn is_plain(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Integer(_) | Value::Float(_))
}

/// Returns the arguments for a value.
pub(super) fn arguments_of(arg: &Arg, long: &str, value: &Value) -> Vec<OsString> {
    match value {
        Value::Boolean(true) => vec![format!("--{long}").into()],
        Value::Integer(count) if matches!(arg.get_action(), ArgAction::Count) => {
            (0..*count.min(&MOST)).map(|_| format!("--{long}").into()).collect()
        }
        Value::Array(values) => {
            values.iter().flat_map(|value| arguments_of(arg, long, value)).collect()
        }
        Value::String(text) => vec![format!("--{long}={text}").into()],
        Value::Integer(number) => vec![format!("--{long}={number}").into()],
        Value::Float(number) => vec![format!("--{long}={number}").into()],
        Value::Boolean(false) | Value::Datetime(_) | Value::Table(_) => Vec::new(),
    }
}
