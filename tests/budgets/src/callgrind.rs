//! Counting by callgrind.

use std::process::Command;

use crate::Outcome;
use crate::figure::Figure;

/// Returns how many instructions it takes to do it once.
pub(crate) fn instructions(figure: Figure) -> Outcome<u64> {
    let (few, many) = figure.counts();
    let more = count(figure, many)?.saturating_sub(count(figure, few)?);
    Ok(more / u64::from(many - few))
}

fn count(figure: Figure, count: u32) -> Outcome<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    if let Some(function) = figure.counted() {
        command.arg(format!("--toggle-collect={function}"));
    }
    command.arg(std::env::current_exe()?).args(["run", figure.name(), &count.to_string()]);
    // The hashing of maps has its keys from there; nothing else of the environment is to matter.
    let output = command.output().map_err(|error| format!("valgrind cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    match collected {
        Some((_, instructions)) if output.status.success() => Ok(instructions.trim().parse()?),
        _ => Err(format!("{} under valgrind: {said}", figure.name()).into()),
    }
}
