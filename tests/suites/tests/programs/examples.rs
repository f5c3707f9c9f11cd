//! The examples of election-session and election-tokio, as processes.

use core::time::Duration;
use std::process::Stdio;

use election_tokio::Client;
use tokio::process::Command;
use tokio::time::timeout;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

/// An example ends by itself, long before this.
const LONG: Duration = Duration::from_secs(120);

const BLOCKING: &str = env!("CARGO_BIN_EXE_candidate-blocking");
const SMOL: &str = env!("CARGO_BIN_EXE_candidate-smol");
const CONFIG_WATCHER: &str = env!("CARGO_BIN_EXE_config-watcher");
const SERVICE_REGISTRY: &str = env!("CARGO_BIN_EXE_service-registry");
const LOCK: &str = env!("CARGO_BIN_EXE_lock");
const QUEUE: &str = env!("CARGO_BIN_EXE_queue");
const TWO_PHASE_COMMIT: &str = env!("CARGO_BIN_EXE_two-phase-commit");
const GUARDED_TRANSACTION: &str = env!("CARGO_BIN_EXE_guarded-transaction");

on_both_servers! {
    #[tokio::test]
    candidates_on_other_runtimes_lead_in_turn,
    a_service_follows_its_configuration,
    a_registry_lists_who_lives,
    a_deposed_leader_writes_nothing,
    a_lock_is_taken_in_turn,
    jobs_are_done_in_turn,
    sites_commit_together,
    answers_that_are_lost_do_not_disturb_them;
}

/// Returns the output of an example, with these arguments.
async fn said(example: &str, arguments: &[&str]) -> Result<String, TestFailure> {
    let mut command = Command::new(example);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(LONG, command.output()).await??;
    let said = String::from_utf8(output.stdout)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}{errors}", output.status);
    Ok(said)
}

/// Runs an example on a server, below a path of its own that is left as it was; returns its output.
async fn said_on(example: &str, server: ServerKind) -> Result<String, TestFailure> {
    let server = server.shared()?;
    let chroot = server.fresh_chroot("examples")?;
    said(example, &[&format!("{}{chroot}", server.connect_string())]).await
}

/// Asserts that these lines are there, in this order; others may be in between.
fn in_order(said: &str, lines: &[&str]) {
    let mut rest = said.lines();
    for line in lines {
        assert!(rest.any(|said| said.starts_with(line)), "{line:?} is not next in:\n{said}");
    }
}

async fn candidates_on_other_runtimes_lead_in_turn(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    for (first, second) in [(BLOCKING, SMOL), (SMOL, BLOCKING)] {
        let chroot = server.fresh_chroot("examples")?;
        let servers = format!("{}{chroot}", server.connect_string());
        // The seconds count from the start of each.
        let arguments = ["6", "12"].map(|seconds| [&*servers, "/jobs/leader", seconds]);
        let observer = Client::builder(&servers).connect_timeout(SOON).connect().await?;
        let stands = async || {
            let candidates = observer.get_children("/jobs/leader").await;
            candidates.is_ok_and(|candidates| candidates.iter().next().is_some())
        };
        let (first, second) = tokio::join!(said(first, &arguments[0]), async {
            eventually_async(SOON, "the first one stands", stands).await?;
            said(second, &arguments[1]).await
        });
        in_order(
            &first?,
            &["leads", "acts", "leads no more: resigned", "Ended(Resigned(Deleted))"],
        );
        in_order(
            &second?,
            &["Following", "leads", "acts", "leads no more: resigned", "Ended(Resigned(Deleted))"],
        );
    }
    Ok(())
}

async fn a_service_follows_its_configuration(server: ServerKind) -> TestResult {
    let said = said_on(CONFIG_WATCHER, server).await?;
    in_order(&said, &["the limit is 10", "the limit is 20", "there is no limit"]);
    Ok(())
}

async fn a_registry_lists_who_lives(server: ServerKind) -> TestResult {
    let said = said_on(SERVICE_REGISTRY, server).await?;
    let lists = [
        "instances: [10.0.0.1:80]",
        "instances: [10.0.0.1:80, 10.0.0.2:80]",
        "the first instance has left",
        "instances: [10.0.0.2:80]",
        "instances: []",
    ];
    in_order(&said, &lists);
    Ok(())
}

const DEPOSED: [&str; 6] = [
    "the first nominee leads",
    "the ledger: written by the first",
    "the second nominee leads",
    "the late write: nothing was applied: what guards the transaction is not held any more",
    "the server: nothing was applied: operation 0",
    "the ledger: written by the second",
];

async fn a_deposed_leader_writes_nothing(server: ServerKind) -> TestResult {
    in_order(&said_on(GUARDED_TRANSACTION, server).await?, &DEPOSED);
    Ok(())
}

const TURNS: [&str; 7] = [
    "the first client holds the lock with token",
    "the second client tries, and has it: false",
    "the second client holds the lock with token",
    "the late write: nothing was applied: what guards the transaction is not held any more",
    "two readers hold it: true",
    "a writer tries, and has it: false",
    "the ledger: written by the second",
];

async fn a_lock_is_taken_in_turn(server: ServerKind) -> TestResult {
    in_order(&said_on(LOCK, server).await?, &TURNS);
    Ok(())
}

const JOBS: [&str; 7] = [
    "jobs: 3",
    "the first client takes: wash",
    "the second client claims: dry",
    "the next one is: fold",
    "the first client claims: dry",
    "first: now",
    "done: 3",
];

async fn jobs_are_done_in_turn(server: ServerKind) -> TestResult {
    in_order(&said_on(QUEUE, server).await?, &JOBS);
    Ok(())
}

const DECIDED: [&str; 6] = [
    "a is to do: 10 from a to b",
    "open since ",
    "decided: Commit",
    "b commits",
    "a refuses: Abort",
    "b is late: two-phase commit /examples/two-phase-commit/transfer, join: there is no transaction",
];

async fn sites_commit_together(server: ServerKind) -> TestResult {
    in_order(&said_on(TWO_PHASE_COMMIT, server).await?, &DECIDED);
    Ok(())
}

/// An example asks again for a watch or a value after a lost answer; an instance that may have been
/// registered looks first.
async fn answers_that_are_lost_do_not_disturb_them(server: ServerKind) -> TestResult {
    let limit = "the limit is 20";
    let both = "instances: [10.0.0.1:80, 10.0.0.2:80]";
    let cases = [
        (CONFIG_WATCHER, Opcode::GET_DATA, 0, limit),
        (CONFIG_WATCHER, Opcode::ADD_WATCH, 0, limit),
        // The first creation finds no parent; the fifth is that of the instance, after its parents.
        (SERVICE_REGISTRY, Opcode::CREATE2, 0, both),
        (SERVICE_REGISTRY, Opcode::CREATE2, 4, both),
        // The first list is that of the tree to delete.
        (SERVICE_REGISTRY, Opcode::GET_CHILDREN2, 1, both),
    ];
    let server = server.shared()?;
    for (example, opcode, skipped, said_all_the_same) in cases {
        let proxy = Proxy::to(server.addr())?;
        let planned = proxy.cut_when(Cut::instead_of_reply_to(opcode).skipping(skipped));
        let chroot = server.fresh_chroot("examples")?;
        let said = said(example, &[&format!("{}{chroot}", proxy.connect_string())]).await?;
        planned.happened(SOON).await?;
        in_order(&said, &[said_all_the_same]);
    }
    Ok(())
}

/// Without a server to go to, each has one of its own, which it also ill-treats.
#[tokio::test]
async fn each_runs_without_a_server() -> TestResult {
    let config = [
        "the limit is 20",
        "all connections are cut",
        "the limit is 30",
        "the session of the service is expired",
        "the limit is 40",
        "there is no limit",
    ];
    in_order(&said(CONFIG_WATCHER, &[]).await?, &config);
    let registry = [
        "instance second is registered",
        "the session of the second instance is expired",
        "instance second is registered",
        "instances: [10.0.0.1:80, 10.0.0.2:80]",
        "instances: []",
    ];
    in_order(&said(SERVICE_REGISTRY, &[]).await?, &registry);
    in_order(&said(GUARDED_TRANSACTION, &[]).await?, &DEPOSED);
    Ok(())
}
