//! kazoo, the client for Python, on both servers: `scenarios.py` says what it does there.

pub(crate) mod environment;
mod mixed_locks;

use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::raw::RawClient;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually};

use mixed_locks::{
    a_killed_holder_makes_way_for_the_other_library, both_libraries_take_a_lock_in_turn,
};

on_both_servers! {
    #[test]
    znodes_of_every_mode_are_created,
    data_is_read_and_written,
    watches_tell,
    locks_exclude,
    both_libraries_take_a_lock_in_turn,
    a_killed_holder_makes_way_for_the_other_library,
    candidates_lead_in_turn,
    transactions_are_applied_as_a_whole,
    access_lists_are_obeyed,
    recipes_keep_their_znodes_to_their_creator,
    a_session_outlives_its_connection,
    a_session_that_expired_is_followed_by_another;
}

/// A scenario at work. Dropped: it is killed.
struct Scenario {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Scenario {
    fn start(name: &str, servers: &str) -> Result<Self, TestFailure> {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/kazoo/scenarios.py");
        let mut child = Command::new(environment::python()?)
            .arg(script)
            .args([name, servers])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        Ok(Self { child, output: BufReader::new(output) })
    }

    /// Waits until the scenario asks for this.
    fn wait_for(&mut self, wanted: &str) -> TestResult {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim_end() != wanted {
            self.end()?;
        }
        assert_eq!(line.trim_end(), wanted);
        Ok(())
    }

    /// Waits until the scenario has ended well.
    fn end(&mut self) -> TestResult {
        let mut ended = None;
        let waited = eventually(3 * SOON, "the scenario ends", || {
            ended = self.child.try_wait().ok().flatten();
            ended.is_some()
        });
        self.child.kill()?;
        let mut said = String::new();
        self.output.read_to_string(&mut said)?;
        if let Some(errors) = &mut self.child.stderr {
            errors.read_to_string(&mut said)?;
        }
        assert!(ended.is_some_and(|status| status.success()), "{waited:?}:\n{said}");
        Ok(())
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        // It may have ended already; it must not live on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays a scenario in a znode of its own.
fn play(server: ServerKind, name: &str) -> TestResult {
    let server = server.shared()?;
    let servers = format!("{}{}", server.connect_string(), server.fresh_chroot(name)?);
    Scenario::start(name, &servers)?.end()
}

fn znodes_of_every_mode_are_created(server: ServerKind) -> TestResult {
    play(server, "modes")
}

fn data_is_read_and_written(server: ServerKind) -> TestResult {
    play(server, "data")
}

fn watches_tell(server: ServerKind) -> TestResult {
    play(server, "watches")
}

fn locks_exclude(server: ServerKind) -> TestResult {
    play(server, "locks")
}

fn candidates_lead_in_turn(server: ServerKind) -> TestResult {
    play(server, "election")
}

fn transactions_are_applied_as_a_whole(server: ServerKind) -> TestResult {
    play(server, "transactions")
}

fn access_lists_are_obeyed(server: ServerKind) -> TestResult {
    play(server, "access")
}

fn recipes_keep_their_znodes_to_their_creator(server: ServerKind) -> TestResult {
    play(server, "own_access")
}

fn a_session_outlives_its_connection(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let proxy = Proxy::to(server.addr())?;
    let servers = format!("{}{}", proxy.connect_string(), server.fresh_chroot("reconnect")?);
    let mut scenario = Scenario::start("reconnect", &servers)?;
    scenario.wait_for("cut")?;
    proxy.cut();
    scenario.end()
}

fn a_session_that_expired_is_followed_by_another(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let proxy = Proxy::to(server.addr())?;
    let chroot = server.fresh_chroot("expire")?;
    let mut observer = RawClient::connect(server.addr(), Duration::from_secs(30))?;
    let servers = format!("{}{chroot}", proxy.connect_string());
    let mut scenario = Scenario::start("expire", &servers)?;
    scenario.wait_for("expire")?;
    proxy.refuse();
    proxy.cut();
    let mine = format!("{chroot}/ephemeral");
    eventually(SOON, "the session expires", || observer.exists(&mine).is_ok_and(|exists| !exists))?;
    proxy.accept()?;
    scenario.end()
}
