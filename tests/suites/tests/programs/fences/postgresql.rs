//! Postgres: a guard row, in the transaction of the write.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use tempfile::TempDir;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::{SOON, eventually};

use super::{Leaders, Started, done, program, refused, run, shown};

/// A server of the test's own, whose socket and data are in a folder of its own.
struct PostgreSql {
    folder: TempDir,
    _server: Started,
}

impl PostgreSql {
    fn start() -> Result<Self, TestFailure> {
        let folder = TempDir::new()?;
        let programs = programs();
        let data = folder.path().join("data");
        if geteuid().is_root() {
            // PostgreSQL refuses to be run by root.
            done(program("chown").arg("postgres").arg(folder.path()), "")?;
        }
        let mut initdb = as_postgres(&programs.join("initdb"));
        done(initdb.args(["-U", "tester", "-A", "trust", "-N", "-D"]).arg(&data), "")?;
        let mut server = as_postgres(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(folder.path()).args(["-h", "", "-F"]);
        let server = Started(server.stderr(Stdio::null()).spawn()?);
        let postgresql = Self { folder, _server: server };
        eventually(SOON, "PostgreSQL answers", || {
            run(postgresql.psql().args(["-c", "SELECT 1"]), "").is_ok_and(|it| it.status.success())
        })?;
        Ok(postgresql)
    }

    fn psql(&self) -> Command {
        let mut psql = program("psql");
        psql.arg("-h").arg(self.folder.path());
        psql.args(["-U", "tester", "-d", "postgres", "-qtA", "-v", "ON_ERROR_STOP=1"]);
        psql
    }

    /// Returns the command that writes by this token.
    fn write(&self, token: election_tokio::Token, entry: &str) -> Command {
        let mut write = self.psql();
        write.args(["-v", &format!("token={token}"), "-v", &format!("entry={entry}"), "-f"]);
        write.arg(shown("postgresql-write.sql"));
        write
    }

    fn entry(&self) -> Result<String, TestFailure> {
        done(self.psql().args(["-c", "SELECT entry FROM ledger"]), "")
    }
}

/// Returns the folder of the newest release that is installed.
fn programs() -> PathBuf {
    let releases = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = releases.map(|release| release.path().join("bin")).max();
    newest.expect("PostgreSQL is missing: scripts/ensure-stores installs it")
}

fn as_postgres(path: &Path) -> Command {
    if !geteuid().is_root() {
        return program(path);
    }
    let mut command = program("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"]);
    command.arg(path).current_dir("/");
    command
}

#[test]
fn postgresql_refuses_what_an_old_leader_writes() -> TestResult {
    let (leaders, store) = (Leaders::elect("fence-postgresql")?, PostgreSql::start()?);
    done(store.psql().arg("-f").arg(shown("postgresql.sql")), "")?;
    done(&mut store.write(leaders.old, "old"), "")?;
    done(&mut store.write(leaders.new, "new"), "")?;
    refused(&mut store.write(leaders.old, "old"), "", "fenced off")?;
    assert_eq!(store.entry()?, "new");
    done(&mut store.write(leaders.new, "newer"), "")?;
    assert_eq!(store.entry()?, "newer", "its own token passes again");

    let plain = "UPDATE ledger SET entry = 'old'";
    done(store.psql().args(["-c", plain]), "")?;
    assert_eq!(store.entry()?, "old", "without the fence it is accepted");
    Ok(())
}

/// The row's lock puts the transactions of two holders in order, whichever came first.
#[test]
fn a_transaction_of_an_old_leader_that_is_under_way_ends_before_that_of_the_new_one() -> TestResult
{
    let (leaders, store) = (Leaders::elect("fence-postgresql-order")?, PostgreSql::start()?);
    done(store.psql().arg("-f").arg(shown("postgresql.sql")), "")?;
    let mut old = store.psql().stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut statements = old.stdin.take().expect("it is piped");
    let mut old = Started(old);
    let pass = format!("BEGIN; SELECT pass_fence('ledger', {});", leaders.old);
    writeln!(statements, "{pass} INSERT INTO ledger VALUES (1, 'old');")?;
    let locks = |granted: &str| {
        let locks = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'transactionid' AND";
        let asked = format!("{locks} {granted} AND pid <> pg_backend_pid()");
        done(store.psql().args(["-c", &asked]), "").is_ok_and(|is_so| is_so == "t")
    };
    eventually(SOON, "the old one has the row", || locks("granted"))?;
    let mut new = Started(store.write(leaders.new, "new").spawn()?);
    eventually(SOON, "the new one waits for it", || locks("NOT granted"))?;
    writeln!(statements, "COMMIT;")?;
    drop(statements);
    assert!(old.0.wait()?.success() && new.0.wait()?.success());
    assert_eq!(store.entry()?, "new");
    Ok(())
}
