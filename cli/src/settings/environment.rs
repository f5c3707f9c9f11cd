//! Options from environment variables.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use toml::Value;

use super::error::SettingsError;
use super::place::{arguments_of, misfit, options, takes_none};

/// Returns the variable of an option.
pub(super) fn in_environment(long: &str) -> String {
    format!("ZKELECT_{}", long.replace('-', "_").to_uppercase())
}

/// Returns the arguments for a variable; none if it is empty.
pub(super) fn of_environment(
    arg: &Arg,
    long: &str,
    value: Option<OsString>,
) -> Result<Option<Vec<OsString>>, SettingsError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let truth = value.to_str().and_then(truth);
    let is_flag = !arg.get_action().takes_values();
    let value = match (truth, arg.get_action()) {
        (_, ArgAction::Count) => {
            let count = value.to_str().and_then(|count| count.parse().ok()).map(Value::Integer);
            let count = count.filter(|count| misfit(arg, count).is_none());
            count.ok_or_else(|| SettingsError::NoCount { variable: in_environment(long) })?
        }
        (Some(truth), _) if is_flag || takes_none(arg) => Value::Boolean(truth),
        (None, _) if is_flag => {
            return Err(SettingsError::NoBoolean { variable: in_environment(long) });
        }
        _ => {
            let mut argument = OsString::from(format!("--{long}="));
            argument.push(value);
            return Ok(Some(vec![argument]));
        }
    };
    Ok(Some(arguments_of(arg, long, &value)))
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Adds its variable to the help of each option.
pub(super) fn documented(command: Command, path: &[String]) -> Command {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let longs: Vec<String> = options(&names, &command).map(|(_, long)| long.to_owned()).collect();
    let command = command.mut_args(|arg| match arg.get_long().map(str::to_owned) {
        Some(long) if longs.contains(&long) => with_variable(arg, &long),
        Some(long) if long == "config" => with_variable(arg, &long),
        _ => arg,
    });
    command.mut_subcommands(|subcommand| {
        let path = [path, &[subcommand.get_name().to_owned()]].concat();
        documented(subcommand, &path)
    })
}

fn with_variable(arg: Arg, long: &str) -> Arg {
    let with = |text: &StyledStr| format!("{text} [env: {}]", in_environment(long));
    let help = arg.get_help().map(with);
    let long_help = arg.get_long_help().map(with);
    match (help, long_help) {
        (Some(help), Some(long_help)) => arg.help(help).long_help(long_help),
        (Some(help), None) => arg.help(help),
        (None, Some(long_help)) => arg.long_help(long_help),
        (None, None) => arg,
    }
}
