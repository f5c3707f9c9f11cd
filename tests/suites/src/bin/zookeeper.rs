//! Runs Apache ZooKeeper on free loopback ports until standard input ends, then removes all of it.
//!
//! `zookeeper` runs one server, `zookeeper ensemble` three. The first line printed is the connect
//! string, the following ones are `PROCESS FOLDER` of each server.

use core::iter;
use std::env;
use std::io::{self, Read as _};
use std::process::ExitCode;

use zk_test_kit::zookeeper::{Member, Options, Server, shared};

fn main() -> ExitCode {
    let outcome = match env::args().nth(1).as_deref() {
        None => one(),
        Some("ensemble") => three(),
        Some(other) => {
            eprintln!("unknown argument `{other}`; give none, or `ensemble`");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Keeps the server in a `static`, which Rust never drops: the cleaning up must not rest on that.
fn one() -> Result<(), String> {
    let server = shared().map_err(ToString::to_string)?;
    announce(&server.connect_string(), iter::once(server));
    until_input_ends();
    Ok(())
}

fn three() -> Result<(), String> {
    let ensemble = Options::new().start_ensemble().map_err(|error| error.to_string())?;
    let servers = Member::ALL.into_iter().map(|member| ensemble.member(member));
    announce(&ensemble.connect_string(), servers);
    until_input_ends();
    Ok(())
}

fn announce<'a>(connect_string: &str, servers: impl Iterator<Item = &'a Server>) {
    println!("{connect_string}");
    for server in servers {
        println!("{} {}", server.process_id().unwrap_or_default(), server.folder().display());
    }
}

fn until_input_ends() {
    let mut ignored = Vec::new();
    if let Err(error) = io::stdin().read_to_end(&mut ignored) {
        eprintln!("standard input cannot be read, so this ends here: {error}");
    }
}
