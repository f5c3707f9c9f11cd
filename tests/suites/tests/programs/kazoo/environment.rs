//! A Python with kazoo in it: a virtual environment in the target folder, kept between runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};
use std::sync::OnceLock;

/// No Python with kazoo was found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvironmentError {
    /// No interpreter.
    #[error(
        "no `python3`, which kazoo needs: install it \
         (Debian, Ubuntu: `apt-get install python3 python3-venv`): {0}"
    )]
    NoPython(io::Error),
    /// The interpreter makes no virtual environment.
    #[error(
        "`python3 -m venv` fails: install what it needs \
         (Debian, Ubuntu: `apt-get install python3-venv`); it says:\n{0}"
    )]
    NoEnvironment(String),
    /// kazoo cannot be had.
    #[error(
        "`pip install` of {kazoo} fails: the Python package index has to be in reach once, or another \
         source named by PIP_INDEX_URL or PIP_FIND_LINKS; it says:\n{0}",
        kazoo = requirement()
    )]
    NoKazoo(String),
    /// The folder cannot be written.
    #[error("the folder of the virtual environment: {0}")]
    Folder(#[from] io::Error),
}

/// With its digest, so that no other package of that name runs.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Returns the interpreter; the first caller makes it.
pub(crate) fn python() -> Result<&'static Path, &'static EnvironmentError> {
    static PYTHON: OnceLock<Result<PathBuf, EnvironmentError>> = OnceLock::new();
    PYTHON.get_or_init(make).as_deref()
}

fn make() -> Result<PathBuf, EnvironmentError> {
    let folders = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folders.join(requirement());
    let python = folder.join("bin/python");
    // A link to the interpreter that it was made from: gone with that.
    if python.exists() {
        return Ok(python);
    }
    // The rename makes it whole or not at all, even if another process makes one at the same time.
    let draft = folders.join(format!("{}.{}", requirement(), process::id()));
    let filled = fill(&draft).map(|()| {
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&draft, &folder)
    });
    let _ = fs::remove_dir_all(&draft);
    match filled? {
        Err(error) if !python.exists() => Err(error.into()),
        Ok(()) | Err(_) => Ok(python),
    }
}

fn fill(folder: &Path) -> Result<(), EnvironmentError> {
    let mut venv = Command::new("python3");
    let made = venv.args(["-m", "venv", "--clear"]).arg(folder).output();
    let made = made.map_err(EnvironmentError::NoPython)?;
    if !made.status.success() {
        return Err(EnvironmentError::NoEnvironment(text(&made)));
    }
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let installed = Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement"])
        .arg(requirements)
        .output()?;
    if !installed.status.success() {
        return Err(EnvironmentError::NoKazoo(text(&installed)));
    }
    Ok(())
}

/// Returns `kazoo==` and the version.
fn requirement() -> &'static str {
    REQUIREMENTS.split_whitespace().next().unwrap_or_default()
}

/// Returns the output of a program.
fn text(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr];
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).concat()
}
