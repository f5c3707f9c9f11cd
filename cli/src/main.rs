//! `zkelect`: leader election on Apache ZooKeeper, for people and for shell scripts.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("zkelect keeps its command in check by means that only Linux has");

mod args;
mod connection;
mod console;
mod demo;
mod event;
mod exec;
mod exit;
mod failure;
mod guard;
mod identity;
mod list;
mod outlet;
mod run;
mod server;
mod signals;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Subcommand};
use crate::exit::Exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    console::trace(cli.verbose);
    let outcome = match cli.subcommand {
        Subcommand::Run(args) => on_runtime(run::run(args)),
        Subcommand::List(args) => on_runtime(list::list(args)),
        Subcommand::Demo(args) => on_runtime(demo::demo(args)),
        Subcommand::Server(args) => on_runtime(server::server(args)),
        Subcommand::Guard(args) => on_runtime(guard::guard(args)),
        Subcommand::Exec(args) => Err(exec::exec(args)),
    };
    let exit = outcome.unwrap_or_else(|failure| {
        console::failure(&failure);
        failure.exit()
    });
    console::settle();
    exit.into()
}

/// On the main thread alone: what it starts is tied to the thread that started it.
fn on_runtime(
    work: impl Future<Output = Result<Exit, failure::Failure>>,
) -> Result<Exit, failure::Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failure::Failure::system("the runtime cannot be made"))?;
    let outcome = runtime.block_on(work);
    // A name that is still being looked up is not worth waiting for.
    runtime.shutdown_background();
    outcome
}
