//! `zkelect server`: a ZooKeeper server in memory.

use core::hash::BuildHasher as _;
use std::hash::RandomState;

use zk_embedded::{Config, Server};

use crate::args::{ServerArgs, TickTime};
use crate::console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Signals;

/// Serves until a signal ends it. That is the only way in which a server ends, so it is a success.
pub(crate) async fn server(args: ServerArgs) -> Result<Exit, Failure> {
    // First, so that who reads that it listens can end it.
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    let address = args.listen.0;
    let config = config(args.tick_time);
    let server = Server::bind_with(address, config.clone())
        .await
        .map_err(|error| Failure::Listen { address, error })?;
    console::print(&format!("listening on {}\n", server.addr()))?;
    introduce(&server, &config);
    signals.next().await;
    console::note("told to end: closes all connections, and what it held is gone");
    server.shutdown().await;
    Ok(Exit::Success)
}

/// Session ids begin at random: a client of an earlier server gets no session of this one.
fn config(tick_time: TickTime) -> Config {
    let mut config = Config::with_tick_time(tick_time.0);
    config.seed = RandomState::new().hash_one(std::process::id());
    config
}

fn introduce(server: &Server, config: &Config) {
    console::note(
        "a ZooKeeper server in memory, for development and tests: it keeps nothing on disk",
    );
    console::note(format_args!(
        "session timeouts are from {} to {}; Ctrl-C or SIGTERM ends it",
        humantime::format_duration(*config.session_timeouts.start()),
        humantime::format_duration(*config.session_timeouts.end())
    ));
    if !server.addr().ip().is_loopback() {
        console::warn(
            "other machines may reach it, and everybody who does can read and write: \
             --listen 127.0.0.1:2181 is for this machine alone",
        );
    }
}
