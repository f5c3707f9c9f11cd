//! Redis: a script, which no other command comes between.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::{SOON, eventually};

use super::{Leaders, Started, done, is_missing, program, refused, run, shown};

struct Redis {
    folder: TempDir,
    _server: Started,
}

impl Redis {
    fn start() -> Result<Self, TestFailure> {
        let folder = TempDir::new()?;
        let mut server = program("redis-server");
        server.args(["--port", "0", "--save", "", "--dir"]).arg(folder.path());
        server.arg("--unixsocket").arg(folder.path().join("socket"));
        let server = server
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| is_missing("redis-server", &error))?;
        let redis = Self { folder, _server: Started(server) };
        eventually(SOON, "Redis answers", || {
            run(redis.cli().arg("PING"), "").is_ok_and(|it| it.stdout == b"PONG\n")
        })?;
        Ok(redis)
    }

    fn cli(&self) -> Command {
        let mut cli = program("redis-cli");
        cli.arg("-s").arg(self.folder.path().join("socket"));
        cli
    }

    /// Returns the command that writes by this token.
    fn write(&self, token: &str, entry: &str) -> Result<Command, TestFailure> {
        let script = fs::read_to_string(shown("redis.lua"))?;
        let mut write = self.cli();
        write.args(["EVAL", &script, "2", "ledger-fence", "ledger", token, entry]);
        Ok(write)
    }

    fn entry(&self) -> Result<String, TestFailure> {
        done(self.cli().args(["GET", "ledger"]), "")
    }
}

#[test]
fn redis_refuses_what_an_old_leader_writes() -> TestResult {
    let (leaders, store) = (Leaders::elect("fence-redis")?, Redis::start()?);
    let [old, new] = [leaders.old, leaders.new].map(|token| token.to_string());
    assert_eq!(done(&mut store.write(&old, "old")?, "")?, "OK");
    assert_eq!(done(&mut store.write(&new, "new")?, "")?, "OK");
    refused(&mut store.write(&old, "old")?, "", "FENCED")?;
    assert_eq!(store.entry()?, "new");
    assert_eq!(done(&mut store.write(&new, "newer")?, "")?, "OK", "its own token passes again");
    assert_eq!(store.entry()?, "newer");
    done(store.cli().args(["SET", "ledger", "old"]), "")?;
    assert_eq!(store.entry()?, "old", "without the fence it is accepted");
    Ok(())
}

/// Numbers of Lua do not tell these apart.
#[test]
fn redis_compares_tokens_beyond_the_numbers_of_its_scripts() -> TestResult {
    let store = Redis::start()?;
    assert_eq!(done(&mut store.write("9007199254740993", "new")?, "")?, "OK");
    refused(&mut store.write("9007199254740992", "old")?, "", "FENCED")?;
    refused(&mut store.write("999", "old")?, "", "FENCED")?;
    assert_eq!(done(&mut store.write("10000000000000000", "newer")?, "")?, "OK");
    assert_eq!(store.entry()?, "newer");
    Ok(())
}
