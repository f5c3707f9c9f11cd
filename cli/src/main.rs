//! `zkelect`: leader election and locks on Apache ZooKeeper, for users and for shell scripts.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// `run` stops COMMAND with means that only Linux has.
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "it is for `run`, `lock` and `semaphore`")
)]

mod args;
mod barrier;
mod cache;
mod candidate;
mod cells;
mod check;
mod connection;
mod console;
#[cfg(target_os = "linux")]
mod contact;
#[cfg(target_os = "linux")]
mod contender;
mod counter;
mod data;
mod demo;
#[cfg(target_os = "linux")]
mod diagnosis;
mod ending;
mod errand;
#[cfg(target_os = "linux")]
mod event;
mod evict;
#[cfg(target_os = "linux")]
mod exec;
mod exit;
mod failure;
#[cfg(target_os = "linux")]
mod future;
#[cfg(target_os = "linux")]
mod guard;
mod hand_over;
#[cfg(target_os = "linux")]
mod holding;
mod identity;
mod list;
#[cfg(target_os = "linux")]
mod lock;
mod members;
mod outlet;
mod packaging;
mod queue;
mod revoke;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod secrets;
#[cfg(target_os = "linux")]
mod semaphore;
mod server;
mod settings;
#[cfg_attr(not(target_os = "linux"), path = "signals/portable.rs")]
mod signals;
mod slots;
mod step_down;
mod stream;
#[cfg(target_os = "linux")]
mod supervision;
mod verify;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

#[cfg(target_os = "linux")]
use crate::args::Internal;
use crate::args::{Cli, Subcommand};
use crate::exit::Exit;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    let outcome = match Internal::from_env() {
        Some(Internal::Guard(args)) => on_runtime(guard::guard(args)),
        Some(Internal::Exec(args)) => Err(exec::exec(args)),
        None => command_line().and_then(subcommand),
    };
    #[cfg(not(target_os = "linux"))]
    let outcome = command_line().and_then(subcommand);
    let exit = outcome.unwrap_or_else(|failure| {
        console::failure(&failure);
        failure.exit()
    });
    console::settle();
    exit.into()
}

/// Reads the command line, and the environment and the configuration file for what it leaves out.
/// Ends this process if they cannot be used.
fn command_line() -> Result<Cli, failure::Failure> {
    let mut command = settings::documented(Cli::command());
    let arguments = std::env::args_os().collect();
    let settled = settings::settled(&command, arguments, |name| std::env::var_os(name))?;
    let parsed = command.try_get_matches_from_mut(&settled.arguments);
    parsed.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|mut error| {
        let blamed = settled.blamed(&error);
        settled.advise(&command, &mut error);
        let error = error.format(&mut command);
        if let Some(blamed) = blamed {
            console::remark(blamed);
            console::settle();
        }
        error.exit()
    })
}

fn subcommand(cli: Cli) -> Result<Exit, failure::Failure> {
    #[cfg(target_os = "linux")]
    secrets::keep_out_of_core_dumps();
    console::trace(cli.verbose);
    match cli.subcommand {
        #[cfg(target_os = "linux")]
        Subcommand::Run(args) => on_runtime(run::run(args)),
        #[cfg(target_os = "linux")]
        Subcommand::Lock(args) => on_runtime(lock::lock(args)),
        #[cfg(target_os = "linux")]
        Subcommand::Semaphore(args) => on_runtime(semaphore::semaphore(args)),
        Subcommand::Barrier(args) => on_runtime(barrier::barrier(args)),
        Subcommand::Queue(args) => on_runtime(queue::queue(args)),
        Subcommand::Counter(args) => on_runtime(counter::counter(args)),
        Subcommand::Members(args) => on_runtime(members::members(args)),
        Subcommand::Slots(args) => on_runtime(slots::slots(args)),
        Subcommand::List(args) => on_runtime(list::list(args)),
        Subcommand::Cache(args) => on_runtime(cache::cache(args)),
        Subcommand::Watch(args) => on_runtime(watch::watch(args)),
        Subcommand::Verify(args) => on_runtime(verify::verify(args)),
        Subcommand::StepDown(args) => on_runtime(step_down::step_down(args)),
        Subcommand::HandOver(args) => on_runtime(hand_over::hand_over(args)),
        Subcommand::Evict(args) => on_runtime(evict::evict(args)),
        Subcommand::Revoke(args) => on_runtime(revoke::revoke(args)),
        Subcommand::End(args) => on_runtime(ending::end(args)),
        Subcommand::Reopen(args) => on_runtime(ending::reopen(args)),
        Subcommand::Delete(args) => on_runtime(ending::delete(args)),
        Subcommand::Check(args) => on_runtime(check::check(args)),
        Subcommand::Demo(args) => on_runtime(demo::demo(args)),
        Subcommand::Server(args) => on_runtime(server::server(args)),
        Subcommand::Completions(args) => packaging::completions(&args),
        Subcommand::Man(args) => packaging::man(&args),
    }
}

/// Runs on the main thread: what it starts is tied to the thread that started it.
fn on_runtime(
    work: impl Future<Output = Result<Exit, failure::Failure>>,
) -> Result<Exit, failure::Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failure::Failure::system("the runtime cannot be made"))?;
    let outcome = runtime.block_on(work);
    // Do not wait for a name that is still being looked up.
    runtime.shutdown_background();
    outcome
}
