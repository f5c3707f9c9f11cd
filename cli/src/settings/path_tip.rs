//! What to write for the path of an election, or of another node, that is refused where it stands.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::place::CalledSubcommand;

/// The option of the subcommands for elections; the others take the path by itself.
const ELECTION: &str = "election";

/// Adds to an error of the parser where the path belongs, if the path is what was refused.
pub(super) fn add(command: &Command, arguments: &[OsString], error: &mut clap::Error) {
    let Some(place) = CalledSubcommand::find(command, arguments) else { return };
    let own = arguments.get(place.index..).unwrap_or_default();
    let own: Vec<&str> =
        own.iter().map_while(|it| it.to_str()).take_while(|it| *it != "--").collect();
    let Some(tip) = tip(&place, &own, error) else { return };
    error.remove(ContextKind::SuggestedArg);
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    error.insert(ContextKind::Suggested, tip);
}

fn tip(place: &CalledSubcommand<'_>, own: &[&str], error: &clap::Error) -> Option<String> {
    let takes_election = place.leaf.get_arguments().any(|arg| arg.get_long() == Some(ELECTION));
    let takes_path = place.leaf.get_positionals().any(is_path);
    let has_election = own.iter().any(|it| it.split('=').next() == Some("--election"));
    let subcommand = place.path.join(" ");
    if takes_election && !takes_path && !has_election {
        matches!(
            error.kind(),
            ErrorKind::UnknownArgument
                | ErrorKind::MissingRequiredArgument
                | ErrorKind::ValueValidation
        )
        .then_some(())?;
        let path = path_by_itself(place.leaf, own)?;
        Some(format!("`zkelect {subcommand}` takes the election's path as `--election {path}`"))
    } else if takes_path && !takes_election && has_election {
        let refused = error.get(ContextKind::InvalidArg)?.to_string();
        refused.starts_with("--election").then(|| {
            format!(
                "`zkelect {subcommand}` takes the path by itself, without `--election`: {}",
                value_of_election(own).unwrap_or("PATH")
            )
        })
    } else {
        None
    }
}

fn is_path(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.as_str() == "PATH"))
}

/// Returns the first argument that looks like a path and is not the value of an option.
fn path_by_itself<'a>(leaf: &Command, own: &[&'a str]) -> Option<&'a str> {
    let takes_next = |before: &str| {
        leaf.get_arguments().any(|arg| {
            arg.get_action().takes_values()
                && (arg.get_long().is_some_and(|it| before.strip_prefix("--") == Some(it))
                    || arg.get_short().is_some_and(|it| before == format!("-{it}")))
        })
    };
    (0..own.len()).find_map(|index| {
        let path = own.get(index).filter(|it| it.starts_with('/'))?;
        let before = index.checked_sub(1).and_then(|before| own.get(before));
        (!before.is_some_and(|before| takes_next(before))).then_some(*path)
    })
}

fn value_of_election<'a>(own: &[&'a str]) -> Option<&'a str> {
    let index = own.iter().position(|it| it.split('=').next() == Some("--election"))?;
    match own.get(index)?.split_once('=') {
        Some((_, value)) => Some(value),
        None => own.get(index + 1).copied(),
    }
}
