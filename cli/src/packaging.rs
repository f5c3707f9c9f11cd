//! `zkelect completions` and `zkelect man`: prints files for a package.

use std::fs;

use clap::{Command, CommandFactory as _};

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{console, settings};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "zkelect", &mut script);
    console::print(&String::from_utf8_lossy(&script)).map(|()| Exit::Success)
}

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let written =
        fs::create_dir_all(&args.out).and_then(|()| clap_mangen::generate_to(command(), &args.out));
    written.map_err(Failure::system("the manual pages cannot be written"))?;
    Ok(Exit::Success)
}

fn command() -> Command {
    settings::documented(Cli::command())
}
