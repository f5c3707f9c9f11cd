//! Options from a configuration file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Command;
use toml::{Table, Value};

use super::error::SettingsError;
use super::place::{misfit, options};
#[cfg(target_os = "linux")]
use crate::secrets;

/// A configuration file in which each key is an option of some subcommand.
pub(super) struct Configured {
    path: PathBuf,
    table: Table,
}

impl Configured {
    pub(super) fn read(command: &Command, path: PathBuf) -> Result<Self, SettingsError> {
        let text = match text_of(&path) {
            Ok(text) => text,
            Err(error) => return Err(SettingsError::Unreadable { path, error }),
        };
        let table = match text.parse::<Table>() {
            Ok(table) => table,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let before = text.get(..at).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let message = error.message().to_owned();
                return Err(SettingsError::NoToml { path, line, message });
            }
        };
        let configured = Self { path, table };
        configured.check(command, &configured.table, &mut Vec::new())?;
        Ok(configured)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the value for an option of a subcommand, from the nearest table.
    pub(super) fn value(&self, path: &[&str], long: &str) -> Option<&Value> {
        let mut tables = vec![&self.table];
        for name in path {
            match tables.last().and_then(|table| table.get(*name)) {
                Some(Value::Table(table)) => tables.push(table),
                _ => break,
            }
        }
        tables.into_iter().rev().find_map(|table| table.get(long))
    }

    /// Checks that each key is an option below `command`, or a subcommand.
    fn check<'a>(
        &self,
        command: &'a Command,
        table: &Table,
        path: &mut Vec<&'a str>,
    ) -> Result<(), SettingsError> {
        for (key, value) in table {
            let full = || path.iter().copied().chain([key.as_str()]).collect::<Vec<_>>().join(".");
            if let (Value::Table(table), Some(subcommand)) = (value, command.find_subcommand(key)) {
                path.push(subcommand.get_name());
                self.check(subcommand, table, path)?;
                path.pop();
                continue;
            }
            let fits = fits(command, path, key, value);
            let file = || self.path.clone();
            match fits {
                Fit::Yes => {}
                Fit::Unknown => {
                    let of = [&["zkelect"], path.as_slice()].concat().join(" ");
                    return Err(SettingsError::UnknownKey { path: file(), key: full(), of });
                }
                Fit::WrongType(expected) => {
                    return Err(SettingsError::WrongType { path: file(), key: full(), expected });
                }
            }
        }
        Ok(())
    }
}

enum Fit {
    Yes,
    Unknown,
    WrongType(&'static str),
}

/// Returns whether some subcommand at or below a command takes this value for an option of this
/// name.
fn fits(command: &Command, path: &[&str], key: &str, value: &Value) -> Fit {
    let mut fit = Fit::Unknown;
    for (arg, _) in options(path, command).filter(|(_, long)| *long == key) {
        match misfit(arg, value) {
            None => return Fit::Yes,
            Some(expected) => fit = Fit::WrongType(expected),
        }
    }
    for subcommand in command.get_subcommands() {
        let path = [path, &[subcommand.get_name()]].concat();
        match fits(subcommand, &path, key, value) {
            Fit::Yes => return Fit::Yes,
            Fit::WrongType(expected) => fit = Fit::WrongType(expected),
            Fit::Unknown => {}
        }
    }
    fit
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    #[cfg(target_os = "linux")]
    secrets::check_configuration_file(path, &file.metadata()?);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}
