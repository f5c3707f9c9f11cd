//! Options from the environment and from a configuration file, for those that the command line
//! leaves out.
//!
//! They are inserted into the arguments, so they are parsed, checked and refused in the same way.

mod configured;
mod environment;
mod error;
mod path_tip;
mod place;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use configured::Configured;
use environment::{in_environment, of_environment};
pub(crate) use error::SettingsError;
use place::{CalledSubcommand, arguments_of, options};

/// The option that names the configuration file.
const CONFIG: &str = "config";

/// The complete arguments, and the source of each.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) arguments: Vec<OsString>,
    given: Vec<Given>,
}

/// An option that is not from the command line.
#[derive(Debug)]
struct Given {
    long: String,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Environment { variable: String },
    File { path: PathBuf },
}

/// Adds the name of its variable to the help of each option.
pub(crate) fn documented(command: Command) -> Command {
    environment::documented(command, &[])
}

/// Completes the arguments. The command line comes before the environment, and that before the
/// configuration file.
pub(crate) fn settled(
    command: &Command,
    arguments: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Settled, SettingsError> {
    let lenient = lenient(command.clone()).ignore_errors(true).try_get_matches_from(&arguments);
    let mut command = command.clone();
    command.build();
    let as_they_are = |arguments| Settled { arguments, given: Vec::new() };
    let (Ok(matches), Some(place)) = (lenient, CalledSubcommand::find(&command, &arguments)) else {
        // They ask for help, or will be refused.
        return Ok(as_they_are(arguments));
    };
    let Some(matches) = leaf(&matches, &place.path) else {
        return Ok(as_they_are(arguments));
    };
    let file = match matches.get_one::<OsString>(CONFIG) {
        Some(path) => Some(path.into()),
        None => variable(&in_environment(CONFIG)).filter(|path| !path.is_empty()).map(Into::into),
    };
    let configured = file.map(|path| Configured::read(&command, path)).transpose()?;
    let mut present: Vec<&clap::Arg> = place
        .leaf
        .get_arguments()
        .filter(|arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine))
        .collect();
    let mut inserted = Vec::new();
    let mut given = Vec::new();
    for from_file in [false, true] {
        for (arg, long) in options(&place.path, place.leaf) {
            let conflicts = |other: &&clap::Arg| {
                let of = |one, other: &clap::Arg| {
                    let all = place.leaf.get_arg_conflicts_with(one);
                    all.iter().any(|arg| arg.get_id() == other.get_id())
                };
                other.get_id() == arg.get_id() || of(arg, other) || of(other, arg)
            };
            if present.iter().any(conflicts) {
                continue;
            }
            let (arguments, source) = match (&configured, from_file) {
                (_, false) => {
                    let name = in_environment(long);
                    let arguments = of_environment(arg, long, variable(&name))?;
                    (arguments, Source::Environment { variable: name })
                }
                (Some(file), true) => {
                    let Some(value) = file.value(&place.path, long) else { continue };
                    let arguments = arguments_of(arg, long, value);
                    (Some(arguments), Source::File { path: file.path().to_owned() })
                }
                (None, true) => continue,
            };
            let Some(arguments) = arguments else { continue };
            present.push(arg);
            inserted.extend(arguments);
            given.push(Given { long: long.to_owned(), source });
        }
    }
    let mut arguments = arguments;
    arguments.splice(place.index..place.index, inserted);
    Ok(Settled { arguments, given })
}

/// Makes every option accept any value. Unusable values are refused once all arguments are
/// complete.
fn lenient(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        if arg.get_action().takes_values() {
            arg.value_parser(clap::builder::ValueParser::os_string())
        } else {
            arg
        }
    });
    command.mut_subcommands(lenient)
}

fn leaf<'a>(mut matches: &'a ArgMatches, path: &[&str]) -> Option<&'a ArgMatches> {
    for name in path {
        matches = matches.subcommand_matches(name)?;
    }
    Some(matches)
}

impl Settled {
    /// Adds to an error of the parser where the path of an election, or of another node, belongs.
    pub(crate) fn advise(&self, command: &Command, error: &mut clap::Error) {
        path_tip::add(command, &self.arguments, error);
    }

    /// Returns where a refused option was given, unless on the command line.
    pub(crate) fn blamed(&self, error: &clap::Error) -> Option<String> {
        let args = match error.get(ContextKind::InvalidArg)? {
            ContextValue::String(arg) => vec![arg.as_str()],
            ContextValue::Strings(args) => args.iter().map(String::as_str).collect(),
            _ => return None,
        };
        let named = |arg: &str| arg.split([' ', '=', '[']).next().unwrap_or_default().to_owned();
        let given = args.iter().find_map(|arg| {
            let name = named(arg);
            self.given.iter().find(|given| name == format!("--{}", given.long))
        })?;
        let long = &given.long;
        Some(match &given.source {
            Source::Environment { variable } => {
                format!("--{long} is from the environment: look at {variable}")
            }
            Source::File { path } => {
                format!("--{long} is from the configuration file {}", path.display())
            }
        })
    }
}

#[cfg(test)]
mod tests;
