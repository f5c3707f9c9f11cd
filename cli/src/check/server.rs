//! Checks one server: whether it can be reached and grants a session, and its version.

use core::time::Duration;
use std::io;

use election_tokio::source::ServerAddress;
use election_tokio::{Client, ClientBuilder, ConnectError, ConnectionState};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::durability;
use super::four_letter::{FourLetterAnswer, Member, srvr};
use super::report::{Finding, no_answer, spoken};
use crate::failure::Failure;

/// How to reach a server.
pub(super) struct Way {
    pub(super) server: ServerAddress,
    pub(super) builder: ClientBuilder,
    /// The session timeout to ask for.
    pub(super) asked: Duration,
    pub(super) is_secure: bool,
    pub(super) admin_port: Option<u16>,
    pub(super) bound: Duration,
}

/// The result for a server.
pub(super) struct Examined {
    pub(super) name: String,
    pub(super) findings: Vec<Finding>,
    /// A client with a session, if the server granted one.
    pub(super) client: Option<Client>,
    /// The server's own report.
    pub(super) member: Option<Member>,
}

pub(super) async fn examine(way: Way) -> Examined {
    let name = way.server.to_string();
    let mut examined = Examined { name, findings: Vec::new(), client: None, member: None };
    let (resolved, is_known) = resolve(&way).await;
    examined.add(resolved);
    if !is_known {
        return examined;
    }
    let (connected, is_there) = connect(&way).await;
    examined.add(connected);
    if !is_there {
        return examined;
    }
    let (version, member) = version(&way).await;
    examined.member = member;
    let disk = match way.admin_port {
        Some(port) => Some(durability::of_disk(&way.server.host, port, way.bound).await),
        None => None,
    };
    let (granted, client) = session(way, examined.member.as_ref()).await;
    examined.client = client;
    examined.add(granted);
    examined.add(version);
    let release = examined.member.as_ref();
    for finding in
        release.and_then(|told| durability::of_release(&told.version)).into_iter().chain(disk)
    {
        examined.add(finding);
    }
    if let Some(family) = examined.client.as_ref().and_then(family) {
        examined.add(family);
    }
    examined
}

impl Examined {
    fn add(&mut self, finding: Finding) {
        self.findings.push(finding.of(&self.name));
    }
}

async fn resolve(way: &Way) -> (Finding, bool) {
    let ServerAddress { host, port, .. } = &way.server;
    let found = match timeout(way.bound, lookup_host((host.as_str(), *port))).await {
        Ok(Ok(addresses)) => addresses.map(|address| address.ip().to_string()).collect(),
        Ok(Err(error)) => {
            let unknown = Finding::failed("resolve", error);
            return (unknown.advise(format!("check the name {host} in --servers, and DNS")), false);
        }
        Err(_) => {
            let late = Finding::failed("resolve", no_answer(way.bound));
            return (late.advise("check that this machine's DNS servers answer"), false);
        }
    };
    let mut found: Vec<String> = found;
    found.dedup();
    if found.is_empty() {
        let none = Finding::failed("resolve", "the name has no address");
        return (none.advise(format!("check the name {host} in --servers, and DNS")), false);
    }
    (Finding::ok("resolve", found.join(", ")), true)
}

async fn connect(way: &Way) -> (Finding, bool) {
    let ServerAddress { host, port, .. } = &way.server;
    let start = Instant::now();
    let advice = match timeout(way.bound, TcpStream::connect((host.as_str(), *port))).await {
        Ok(Ok(_)) => {
            return (Finding::ok("connect", format!("in {}", spoken(start.elapsed()))), true);
        }
        Ok(Err(error)) => {
            let advice = if error.kind() == io::ErrorKind::ConnectionRefused {
                "nothing listens there: check that ZooKeeper runs, and its clientPort (2181 unless configured \
                 otherwise), or its secureClientPort for TLS"
            } else {
                "check the address, and the network between"
            };
            return (Finding::failed("connect", error).advise(advice), false);
        }
        Err(_) => "the machine is down, or a firewall drops what comes: check both",
    };
    (Finding::failed("connect", no_answer(way.bound)).advise(advice), false)
}

const WITHOUT_QUORUM: &str = "it runs, and grants no session, which a quorum has to commit: it is cut off from its \
     ensemble, or overloaded: look at its log, and its way to the other members";

/// Asks for a session. The reason of a failure includes problems with TLS.
async fn session(way: Way, member: Option<&Member>) -> (Finding, Option<Client>) {
    let client = match way.builder.connect_timeout(way.bound).connect().await {
        Ok(client) => client,
        Err(error) => {
            let failure = Failure::from(error);
            let finding = Finding::failed("session", &failure);
            let advice = match (&failure, member) {
                // A wrong port, or a firewall, would have kept it from telling its version, too.
                (Failure::Connect(ConnectError::NoServer { .. }), Some(_)) => {
                    Some(WITHOUT_QUORUM.to_owned())
                }
                _ => failure.advice(),
            };
            return (advice.into_iter().fold(finding, Finding::advise), None);
        }
    };
    let granted = match client.connection_state() {
        ConnectionState::Connected { read_only: true, .. } => {
            Finding::warning("session", "granted to read only: it is cut off from its ensemble")
                .advise("nothing can be elected by it; look at its log, and its way to the others")
        }
        ConnectionState::Connected { timeout, .. } if timeout != way.asked => Finding::warning(
            "session",
            format!(
                "granted with a timeout of {}, in place of {}",
                humantime::format_duration(timeout),
                humantime::format_duration(way.asked)
            ),
        )
        .advise("ask for one that it allows, by --session-timeout, or change its minSessionTimeout or maxSessionTimeout"),
        ConnectionState::Connected { timeout, .. } => {
            let timeout = humantime::format_duration(timeout);
            let secured = if way.is_secure { ", by TLS" } else { "" };
            Finding::ok("session", format!("granted with a timeout of {timeout}{secured}"))
        }
        _ => Finding::warning("session", "granted, and lost again at once")
            .advise("run it again; if this lasts, look at the server's log"),
    };
    (granted, Some(client))
}

/// Warns of a server that is not Apache ZooKeeper.
fn family(client: &Client) -> Option<Finding> {
    let family = client.server_family().filter(|family| !family.keeps_leases())?;
    let says = format!(
        "{family}: it gives every session a password of zero bytes, and no lease holds there"
    );
    Some(Finding::warning("family", says).advise(
        "no nominee is told that it leads there: use Apache ZooKeeper, or --lease-grade advisory where the \
         token guards every write",
    ))
}

/// Asks for the server's version, which it may not be allowed to tell.
async fn version(way: &Way) -> (Finding, Option<Member>) {
    if way.is_secure {
        let skipped = "not asked: four-letter words are for ports without TLS";
        return (Finding::skipped("version", skipped), None);
    }
    match timeout(way.bound, srvr(&way.server)).await {
        Ok(Ok(FourLetterAnswer::Member(member))) => {
            let says = format!("{}, {}", member.version, member.mode);
            (Finding::ok("version", says), Some(member))
        }
        Ok(Ok(FourLetterAnswer::NotServing)) => (
            Finding::warning("version", "it runs, and serves no requests: it has no quorum")
                .advise("start more members of the ensemble, or look at their logs"),
            None,
        ),
        Ok(Ok(FourLetterAnswer::Forbidden)) => (
            Finding::skipped(
                "version",
                "not told: the server's 4lw.commands.whitelist does not have srvr",
            ),
            None,
        ),
        Ok(Err(error)) => (Finding::skipped("version", format!("not told: {error}")), None),
        Err(_) => (Finding::skipped("version", no_answer(way.bound)), None),
    }
}
