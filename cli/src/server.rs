//! `zkelect server`: a ZooKeeper server in memory.

use core::hash::BuildHasher as _;
use std::hash::RandomState;

use zk_embedded::{
    Config, Deviations, ExtendedTypes, Refusal, Refusals, Server, TooManyConnections,
};

use crate::args::ServerArgs;
use crate::console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Signals;

/// Serves until a signal ends it. A server ends in no other way, so it is a success.
pub(crate) async fn server(args: ServerArgs) -> Result<Exit, Failure> {
    // Signals first: a reader of the address may end the server at once.
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    let address = args.listen.0;
    let config = config(&args);
    let server = Server::bind_with(address, config.clone())
        .await
        .map_err(|error| Failure::Listen { address, error })?;
    console::print(&format!("listening on {}\n", server.addr()))?;
    introduce(&server, &config);
    tokio::select! {
        _ = signals.next() => {}
        () = tell_of(server.refusals()) => {}
    }
    console::note("a signal ends this server: it closes all connections, and keeps nothing");
    server.shutdown().await;
    Ok(Exit::Success)
}

/// Makes the configuration. Session ids begin at random, so a client of an earlier server finds no
/// session here.
fn config(args: &ServerArgs) -> Config {
    let options = &args.options;
    let mut config = Config::with_tick_time(args.tick_time.0).like(args.like.profile());
    config.seed = RandomState::new().hash_one(std::process::id());
    config.limits.max_client_connections = options.max_connections_per_address;
    config.limits.max_connections = options.max_connections;
    config.super_digest = options.super_digest.as_ref().map(|digest| digest.0.clone());
    if options.extended_types {
        config.extended_types = ExtendedTypes::Enabled;
    }
    config
}

/// Warns of connections that the server closes at its limit. Clients try again and again, so it
/// warns each time the number has doubled.
async fn tell_of(mut refusals: Refusals) {
    let mut due = 1;
    while let Some(Refusal { peer, reason, count, .. }) = refusals.next().await {
        if count < due {
            continue;
        }
        due = count.saturating_mul(2);
        let remedy = match reason {
            TooManyConnections::FromAddress { .. } => "; see --max-connections-per-address",
            TooManyConnections::InTotal { .. } => "; see --max-connections",
        };
        console::warn(format_args!(
            "closed a connection from {}, as {count} so far: {reason}{remedy}",
            peer.ip()
        ));
    }
    // The server reports no more, and goes on until a signal ends it.
    core::future::pending::<()>().await;
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
    if config.deviations != Deviations::default() {
        console::note(
            "it deviates from Apache ZooKeeper by what the other server's source tells, and was not \
             compared with that server",
        );
    }
    console::note(
        "fencing tokens begin anew with each start of this server: a system that remembers the \
         tokens of an earlier one refuses the new ones",
    );
    if !server.addr().ip().is_loopback() {
        console::warn(
            "other machines may reach it, and any client there can read and write: \
             --listen 127.0.0.1:2181 is for this machine alone",
        );
    }
}
