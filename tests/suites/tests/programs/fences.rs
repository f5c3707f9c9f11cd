//! Fences of other stores: the files of `docs/fences`, run by the stores' own programs, with the tokens of two leaders.

mod objects;
mod postgresql;
mod redis;
mod service;

use core::time::Duration;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use election_tokio::Token;
use tempfile::TempDir;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;
use zk_tests::nominee::{NomineeProcess, Report};

/// Short, for its end is waited for.
const SESSION: Duration = Duration::from_secs(4);

/// The tokens of two leaders of one election, of which the first one is stopped and has lost its lead.
struct Leaders {
    old: Token,
    new: Token,
    /// They stand still and lead on until the test has ended.
    _processes: [NomineeProcess; 2],
}

impl Leaders {
    fn elect(label: &str) -> Result<Self, TestFailure> {
        let server = ServerKind::Apache.shared()?;
        let servers = format!("{}{}", server.connect_string(), server.fresh_chroot(label)?);
        let program = env!("CARGO_BIN_EXE_nominee");
        let leads = |nominee: &NomineeProcess| {
            nominee.wait_for(SOON, "it leads", |report| match report {
                Report::Elected { token, .. } => Some(*token),
                _ => None,
            })
        };
        let first = NomineeProcess::start(program, &servers, "first", SESSION)?;
        let old = leads(&first)?;
        first.pause()?;
        let second = NomineeProcess::start(program, &servers, "second", SESSION)?;
        let new = leads(&second)?;
        assert!(old < new, "{old} and {new}");
        Ok(Self { old, new, _processes: [first, second] })
    }
}

/// A server or a script that the test has started. Dropped: it is killed.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shown(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fences").join(name)
}

/// Returns a command; `scripts/ensure-stores` installs its program.
fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}

fn is_missing(program: &str, error: &io::Error) -> io::Error {
    let advice = "scripts/ensure-stores installs what these tests need";
    io::Error::other(format!("{program} cannot be run ({error}): {advice}"))
}

/// Runs a command with this on its standard input.
fn run(command: &mut Command, input: &str) -> Result<Output, TestFailure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| is_missing(&name, &error))?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    written?;
    Ok(output)
}

/// Runs a command that is to succeed, and returns its output.
fn done(command: &mut Command, input: &str) -> Result<String, TestFailure> {
    let output = run(command, input)?;
    assert!(output.status.success(), "{command:?}: {output:?}");
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Runs a command that is to be refused, for this reason.
fn refused(command: &mut Command, input: &str, reason: &str) -> TestResult {
    let output = run(command, input)?;
    let told = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat();
    assert!(told.contains(reason), "{command:?}: {output:?}");
    Ok(())
}

/// Starts a Python script that prints its port first.
fn serve(script: &Path) -> Result<(Started, String), TestFailure> {
    let mut command = program("python3");
    let mut child = command.arg(script).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().expect("it is piped");
    let started = Started(child);
    let mut port = String::new();
    BufReader::new(output).read_line(&mut port)?;
    Ok((started, format!("http://127.0.0.1:{}", port.trim_end())))
}

#[test]
fn sqlite_refuses_what_an_old_leader_writes() -> TestResult {
    let (leaders, folder) = (Leaders::elect("fence-sqlite")?, TempDir::new()?);
    let sqlite = || {
        let mut sqlite = program("sqlite3");
        sqlite.arg("-bail").arg(folder.path().join("ledger.db"));
        sqlite
    };
    let (schema, write) =
        (fs::read_to_string(shown("sqlite.sql"))?, fs::read_to_string(shown("sqlite-write.sql"))?);
    let written = |token: Token, entry: &str| {
        format!(
            ".parameter init\n.parameter set @token {token}\n.parameter set @entry \"'{entry}'\"\n{write}"
        )
    };
    let entry = || done(sqlite().arg("SELECT entry FROM ledger"), "");
    done(&mut sqlite(), &schema)?;
    done(&mut sqlite(), &written(leaders.old, "old"))?;
    done(&mut sqlite(), &written(leaders.new, "new"))?;
    refused(&mut sqlite(), &written(leaders.old, "old"), "fenced off")?;
    assert_eq!(entry()?, "new");
    done(&mut sqlite(), &written(leaders.new, "newer"))?;
    assert_eq!(entry()?, "newer", "its own token passes again");
    let plain = "INSERT OR REPLACE INTO ledger VALUES (1, 'old');";
    done(&mut sqlite(), plain)?;
    assert_eq!(entry()?, "old", "without the fence it is accepted");
    Ok(())
}

#[test]
fn what_an_old_leader_writes_to_a_file_is_not_read() -> TestResult {
    let (leaders, folder) = (Leaders::elect("fence-file")?, TempDir::new()?);
    let write = |token: Token, content: &str| {
        let mut write = program(shown("file-write.sh"));
        done(write.arg(folder.path()).arg(token.to_string()), content).map(drop)
    };
    let read = || done(program(shown("file-read.sh")).arg(folder.path()), "");
    write(leaders.old, "old")?;
    write(leaders.new, "new")?;
    write(leaders.old, "old")?;
    assert_eq!(read()?, "new");
    write(leaders.new, "newer")?;
    assert_eq!(read()?, "newer");
    let plain = folder.path().join("plain");
    for content in ["new", "old"] {
        let next = folder.path().join("next");
        fs::write(&next, content)?;
        fs::rename(&next, &plain)?;
    }
    assert_eq!(fs::read_to_string(plain)?, "old", "without the number it is read");
    Ok(())
}

/// Nothing fences a write that comes before the store has heard of the new token. The tests of the other stores begin with
/// one, too: both leaders have been elected by then.
#[test]
fn a_write_before_the_new_token_is_accepted() -> TestResult {
    let (leaders, folder) = (Leaders::elect("fence-early")?, TempDir::new()?);
    let script = shown("file-write.sh");
    let old = leaders.old.to_string();
    done(program(&script).arg(folder.path()).arg(old), "old, after the election of the new one")?;
    let read = done(program(shown("file-read.sh")).arg(folder.path()), "")?;
    assert_eq!(read, "old, after the election of the new one");
    Ok(())
}

/// The page has each file, as it is or by a link, and no program that is none of them.
#[test]
fn the_page_shows_what_these_tests_run() -> TestResult {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs::read_to_string(docs.join("fences.md"))?;
    let mut blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    for file in fs::read_dir(docs.join("fences"))? {
        let path = file?.path();
        let text = fs::read_to_string(&path)?;
        let name = path.file_name().unwrap_or_default().display();
        let before = blocks.len();
        blocks.retain(|block| !block.trim_end().ends_with(text.trim_end()));
        let is_there = blocks.len() < before || page.contains(&format!("](fences/{name})"));
        assert!(is_there, "docs/fences.md does not show {name}");
    }
    assert!(blocks.is_empty(), "docs/fences.md shows what is no file of docs/fences: {blocks:?}");
    Ok(())
}
