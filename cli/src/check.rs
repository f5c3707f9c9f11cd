//! `zkelect check`: finds problems of the connection to the servers, and of the permissions there.

mod candidates;
mod durability;
mod ensemble;
mod four_letter;
mod node;
mod path;
mod report;
mod server;
mod write;

use core::time::Duration;

use election_tokio::source::ConnectString;
use election_tokio::{Client, ConnectError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::args::CheckArgs;
use crate::connection;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Signals;
use report::{Finding, Report, Verdict};
use server::{Examined, Way};

/// Reports what each step has found.
pub(crate) async fn check(args: CheckArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.election {
        connection::check_election(path, &args.servers.servers)?;
    }
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    tokio::select! {
        outcome = all(&args) => outcome,
        signal = signals.next() => Ok(Exit::Signal(signal.as_raw())),
    }
}

async fn all(args: &CheckArgs) -> Result<Exit, Failure> {
    let bound = *args.timeout;
    let mut report = Report::new(args.json);
    let examined = examined(args).await?;
    let mut clients: Vec<(String, Client)> = Vec::new();
    let mut servers = Vec::new();
    for Examined { name, findings, client, member } in examined {
        for finding in findings {
            report.add(finding)?;
        }
        servers.push((name.clone(), member));
        clients.extend(client.map(|client| (name, client)));
    }
    if let Some((_, client)) = clients.first() {
        let chroot = args.servers.servers.chroot();
        let mut is_usable = true;
        if !chroot.is_empty() {
            let finding = chroot_of(client, chroot, bound).await;
            is_usable = finding.verdict == Verdict::Ok;
            report.add(finding)?;
        }
        if is_usable {
            for (name, client) in &clients {
                report.add(write::through(client, name, args).await)?;
            }
        }
        for finding in ensemble::findings(client, &servers, bound).await {
            report.add(finding)?;
        }
        if let (Some(path), true) = (&args.election, is_usable) {
            let election = (path.as_str(), args.format.0);
            for finding in node::findings(client, election, bound).await {
                report.add(finding)?;
            }
        }
    }
    for (_, client) in clients {
        // These sessions hold nothing, so they may time out.
        let _ = timeout(bound, client.close()).await;
    }
    let worst = report.end()?;
    Ok(if worst == Verdict::Failed { Exit::Busy(1) } else { Exit::Success })
}

/// Checks all servers at once. One that does not answer takes up to the timeout.
async fn examined(args: &CheckArgs) -> Result<Vec<Examined>, Failure> {
    let connect_string: ConnectString =
        args.servers.servers.connect_string().parse().map_err(ConnectError::ConnectString)?;
    let mut tasks = JoinSet::new();
    for (place, server) in connect_string.servers().enumerate() {
        let one = format!("{server}{}", args.servers.servers.chroot());
        let way = Way {
            server: server.clone(),
            builder: args.servers.client_of(&one)?.session_timeout(args.session_timeout.0),
            asked: args.session_timeout.0,
            is_secure: args.servers.tls.is_asked_for(),
            admin_port: args.admin_port,
            bound: *args.timeout,
        };
        tasks.spawn(async move { (place, server::examine(way).await) });
    }
    let mut examined = tasks.join_all().await;
    examined.sort_by_key(|(place, _)| *place);
    Ok(examined.into_iter().map(|(_, examined)| examined).collect())
}

async fn chroot_of(client: &Client, chroot: &str, bound: Duration) -> Finding {
    match timeout(bound, connection::is_there(client, "/")).await {
        Ok(Ok(true)) => Finding::ok("chroot", format!("{chroot} exists")),
        Ok(Ok(false)) => Finding::failed("chroot", format!("{chroot} does not exist")).advise(
            format!(
                "create it (`create {chroot}` in ZooKeeper's zkCli.sh), or leave the chroot out of --servers"
            ),
        ),
        Ok(Err(error)) => Finding::failed("chroot", error.to_string()),
        Err(_) => Finding::failed("chroot", report::no_answer(bound)),
    }
}
