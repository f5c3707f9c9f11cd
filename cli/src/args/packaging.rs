//! The command lines of `zkelect completions` and `zkelect man`.

use std::path::PathBuf;

use clap::Args;

use super::exit_codes::EXIT_CODES;

const COMPLETIONS_HELP: &str = "\
Examples:
  zkelect completions bash > ~/.local/share/bash-completion/completions/zkelect
  zkelect completions zsh > ~/.zfunc/_zkelect
  zkelect completions fish > ~/.config/fish/completions/zkelect.fish";

/// Prints a script with which a shell completes the arguments of `zkelect`.
#[derive(Debug, Args)]
#[command(
    after_help = COMPLETIONS_HELP,
    after_long_help = format!("{COMPLETIONS_HELP}\n\n{EXIT_CODES}")
)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

const MAN_HELP: &str = "\
Examples:
  zkelect man --out /usr/local/share/man/man1
  zkelect man --out man && man man/zkelect-run.1";

/// Writes the manual pages, one for each subcommand, to be packaged with zkelect.
#[derive(Debug, Args)]
#[command(after_help = MAN_HELP, after_long_help = format!("{MAN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct ManArgs {
    /// The folder for them, which is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
