//! Connecting to ZooKeeper.

use core::time::Duration;

use election_tokio::election::ElectionError;
use election_tokio::error::PathError;
use election_tokio::session::SessionEnd;
use election_tokio::{
    Client, ClientBuilder, ConnectError, ConnectionState, Error, ErrorKind, NoMoreUpdates,
    SessionId, Updates, ZnodePath,
};

use crate::args::Servers;
use crate::console;
use crate::failure::Failure;

/// Checks, without a server, that an election or a lock can have this path.
pub(crate) fn check_path(path: &str) -> Result<(), PathError> {
    path.parse::<ZnodePath>().map(drop)
}

/// Checks, without a server, that an election of a client of these servers can have this path.
pub(crate) fn check_election(path: &str, servers: &Servers) -> Result<(), ElectionError> {
    let is_chroot = path == "/" && !servers.chroot().is_empty();
    let checked = if is_chroot { Err(PathError::Chroot) } else { check_path(path) };
    checked.map_err(|error| ElectionError::InvalidPath { path: path.to_owned(), error })
}

/// Connects within `timeout`, to a chroot that exists.
pub(crate) async fn connect(
    builder: ClientBuilder,
    servers: &Servers,
    timeout: Duration,
) -> Result<Client, Failure> {
    let client = builder.connect_timeout(timeout).connect().await?;
    match tokio::time::timeout(timeout, check_chroot(&client, servers)).await {
        Ok(checked) => checked.map(|()| client),
        Err(_) => Err(Failure::NoAnswer(timeout)),
    }
}

/// Waits for a connection, however long it takes, and checks that the chroot exists: no znode can
/// be created below a missing one.
///
/// Cancel safe.
pub(crate) async fn check_chroot(client: &Client, servers: &Servers) -> Result<(), Failure> {
    let mut connection = client.connection_updates();
    loop {
        if let ConnectionState::Closed { end } = wait_for_connection(&mut connection).await? {
            return Err(ConnectError::Ended(end).into());
        }
        if servers.chroot().is_empty() {
            return Ok(());
        }
        match is_there(client, "/").await {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(Failure::NoChroot(servers.chroot().to_owned())),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionLoss | ErrorKind::NotConnected => {}
                _ => return Err(error.into()),
            },
        }
        // So that the loss of the connection is shown before the failure, or with it.
        tokio::task::yield_now().await;
    }
}

/// Returns whether a znode exists. Since ZooKeeper 3.8.4 and 3.9.2 a server forbids to look at a znode
/// that may not be read; where there is none, nothing is forbidden.
pub(crate) async fn is_there(client: &Client, path: &str) -> Result<bool, Error> {
    match client.exists(path).await {
        Ok(found) => Ok(found.is_some()),
        Err(error) if error.is_no_auth() => Ok(true),
        Err(error) => Err(error),
    }
}

async fn wait_for_connection(
    connection: &mut Updates<ConnectionState>,
) -> Result<ConnectionState, Failure> {
    connection
        .wait_for(|state| {
            matches!(state, ConnectionState::Connected { .. } | ConnectionState::Closed { .. })
        })
        .await
        .map_err(|NoMoreUpdates| ConnectError::Ended(SessionEnd::Abandoned).into())
}

/// Reports changes of the connection, and losses of the ensemble, on standard error, until the client ends.
pub(crate) fn report(client: &Client, asked: Duration) -> impl Future<Output = ()> + use<> {
    let (mut connection, mut rollback) = (client.connection_updates(), client.rollback_updates());
    async move {
        let mut reporter = Reporter::new(asked);
        let mut state = Some(connection.latest_and_update());
        while let Some(now) = state {
            match reporter.describe(&now) {
                Some(Said::Note(text)) => console::note(text),
                Some(Said::Warning(text)) => console::warn(text),
                None => {}
            }
            state = loop {
                tokio::select! {
                    state = connection.next() => break state,
                    Some(Some(rollback)) = rollback.next() => console::warn(format_args!(
                        "{rollback}. Tokens go back, so that systems which keep the greatest token refuse \
                         each new leader: see \"When the ensemble has lost its data\" in docs/operating.md"
                    )),
                }
            };
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Said {
    Note(String),
    Warning(String),
}

/// Reports news at once, and repeats what does not change ever more rarely.
struct Reporter {
    asked: Duration,
    last_reason: String,
}

impl Reporter {
    fn new(asked: Duration) -> Self {
        Self { asked, last_reason: String::new() }
    }

    fn describe(&mut self, state: &ConnectionState) -> Option<Said> {
        match state {
            ConnectionState::Connecting { failures, last_failure: Some(failure) }
            | ConnectionState::Suspended { failures, last_failure: Some(failure) } => {
                let reason = failure.to_string();
                let is_new = reason != self.last_reason;
                self.last_reason = reason;
                (is_new || failures.is_power_of_two()).then(|| {
                    Said::Warning(format!(
                        "no ZooKeeper server in reach (attempt {failures}): {failure}. Trying on; \
                         if this lasts, check --servers and that ZooKeeper serves clients there"
                    ))
                })
            }
            ConnectionState::Connected { session, timeout, read_only } => {
                self.last_reason.clear();
                Some(self.connected(*session, *timeout, *read_only))
            }
            ConnectionState::Expired { expiry } => {
                Some(Said::Warning(format!("the session expired: {expiry}")))
            }
            _ => None,
        }
    }

    fn connected(&self, session: SessionId, timeout: Duration, read_only: bool) -> Said {
        let timeout_text = humantime::format_duration(timeout);
        if read_only {
            Said::Warning(format!(
                "connected with session {session}, but the server is cut off from its ensemble: \
                 no nominee is elected there"
            ))
        } else if timeout == self.asked {
            Said::Note(format!("connected with session {session}, timeout {timeout_text}"))
        } else {
            Said::Warning(format!(
                "connected with session {session}; the server changed the session timeout from \
                 {} to {timeout_text}",
                humantime::format_duration(self.asked)
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use election_tokio::{ConnectFailure, error::SharedError, source::ServerAddress};

    use super::*;

    const ASKED: Duration = Duration::from_secs(10);

    fn connecting(failures: u32, reason: &str) -> ConnectionState {
        ConnectionState::Connecting {
            failures,
            last_failure: Some(Arc::new(ConnectFailure::Server {
                server: ServerAddress { host: "zk".into(), port: 2181 },
                reason: SharedError::new(reason),
                outdated: None,
            })),
        }
    }

    #[test]
    fn the_same_failure_is_told_ever_more_rarely_and_another_one_at_once() {
        let mut reporter = Reporter::new(ASKED);
        let told: Vec<u32> = (1..=20)
            .filter(|&attempt| reporter.describe(&connecting(attempt, "refused")).is_some())
            .collect();
        assert_eq!(told, [1, 2, 4, 8, 16]);
        assert!(reporter.describe(&connecting(21, "unknown host")).is_some());
    }

    #[test]
    fn a_timeout_that_the_server_changed_is_told() {
        let mut reporter = Reporter::new(ASKED);
        let mut connected = |timeout| {
            reporter.describe(&ConnectionState::Connected {
                session: SessionId::new(1),
                timeout,
                read_only: false,
            })
        };
        assert!(matches!(connected(ASKED), Some(Said::Note(_))));
        let Some(Said::Warning(text)) = connected(Duration::from_secs(4)) else {
            panic!("no warning");
        };
        assert!(text.contains("from 10s to 4s"), "{text}");
    }
}
